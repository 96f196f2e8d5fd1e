/** The model in the package. Bundlers recognise exactly this form of URL and include the file. */
export const bundledModel = (): URL => new URL('./wattn-default.gguf', import.meta.url);

/** The requested data type of the weights; by default the bundled model's is q8, whose vectors are as good as those of f32. */
export const dtypeOf = <Dtype>(model: unknown, dtype: Dtype | null | undefined): Dtype | 'q8' | 'f32' =>
  dtype ?? (model === undefined || model === null ? 'q8' : 'f32');
