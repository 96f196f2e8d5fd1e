/** The model in the package. Bundlers recognise exactly this form of URL and include the file. */
export const bundledModel = (): URL => new URL('./wattn-default.gguf', import.meta.url);
