// CommonJS: the package is required where the model is first wanted.
class MyClassificationPipeline {
  static task = 'text-classification';
  static instance = null;
  static async getInstance(model, progress_callback = null) {
    if (this.instance === null) {
      const { pipeline } = require('@huggingface/transformers');
      this.instance = pipeline(this.task, model, { dtype: 'fp32', progress_callback });
    }
    return this.instance;
  }
}

module.exports = async function run({ sequence: id }) {
  const { env } = await import('@huggingface/transformers');
  const classifier = await MyClassificationPipeline.getInstance(id);
  const answer = await classifier(['query', 'The river runs under the bridge.']);
  await classifier.dispose();
  return { answer, version: typeof env.version };
};
