// Pools, normalises and shortens vectors by hand, and compares all with all.
import { AutoModel, AutoTokenizer, layer_norm, matmul, mean_pooling } from '@huggingface/transformers';

export default async function run({ embed: id }) {
  const tokenizer = await AutoTokenizer.from_pretrained(id);
  const model = await AutoModel.from_pretrained(id, { dtype: 'fp32' });
  const texts = ['A small boat waits below the old bridge.', 'Small birds sing in the wind.', 'The boat waits.'];
  const inputs = tokenizer(texts, { padding: true, truncation: true });
  const { last_hidden_state } = await model(inputs);
  const embeddings = mean_pooling(last_hidden_state, inputs.attention_mask).normalize(2, -1);
  const similarities = await matmul(embeddings, embeddings.transpose(1, 0));
  const short = layer_norm(embeddings, [embeddings.dims[1]]).slice(null, [0, 16]).normalize(2, -1);
  const nearest = similarities
    .tolist()
    .map((row, i) => row.map((score, j) => (i === j ? -1 : score)))
    .map((row) => row.indexOf(Math.max(...row)));
  await model.dispose();
  return {
    tokens: inputs.input_ids.dims,
    similarities: similarities.tolist(),
    nearest,
    mean: embeddings.mean(0).tolist(),
    lengths: short.norm(2, 1).tolist(),
  };
}
