/** The model that ships in the package. Exactly this form of URL: bundlers know it, and bring the file along. */
export const bundledModel = (): URL => new URL('./wattn-default.gguf', import.meta.url);
