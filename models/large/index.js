/** The URL of the model. Bundlers recognise exactly this form of URL and include the file. */
export default new URL('./wattn-large.gguf', import.meta.url);
