// Sorts a text under labels that no model was trained for.
import { pipeline } from '@huggingface/transformers';

export default async function run({ nli: id }) {
  const classifier = await pipeline('zero-shot-classification', id, { dtype: 'fp32' });
  const labels = ['a river', 'birds', 'unbelievable letters', 'the city at night'];
  const one = await classifier('A small boat waits below the old bridge.', labels);
  const several = await classifier('A small boat waits below the old bridge.', labels, { multi_label: true });
  await classifier.dispose();
  return { one, several };
}
