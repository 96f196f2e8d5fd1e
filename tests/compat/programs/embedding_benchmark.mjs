// Measures a model on batches of made-up tokens.
import { AutoModel, ones } from '@huggingface/transformers';

export default async function run({ embed: id }) {
  const model = await AutoModel.from_pretrained(id, { dtype: 'fp32', device: 'wasm' });
  const found = [];
  for (const batch_size of [1, 2, 4]) {
    const dims = [batch_size, 8];
    const inputs = { input_ids: ones(dims), attention_mask: ones(dims) };
    const start = performance.now();
    const { last_hidden_state } = await model(inputs);
    const time = performance.now() - start;
    found.push({
      dims: last_hidden_state.dims,
      type: inputs.input_ids.type,
      isMeasured: time >= 0,
      first: last_hidden_state.data[0],
    });
  }
  await model.dispose();
  return found;
}
