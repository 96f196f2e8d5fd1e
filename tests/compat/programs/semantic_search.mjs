// Finds the texts nearest to a question.
import { cos_sim, pipeline } from '@huggingface/transformers';

export default async function run({ embed: id }) {
  const extractor = await pipeline('feature-extraction', id, { dtype: 'fp32' });
  const options = { pooling: 'mean', normalize: true };
  const texts = ['A small boat waits below the old bridge.', 'Small birds sing in the wind.', 'The river runs under the bridge.'];
  const corpus = await extractor(texts, options);
  const query = await extractor('Where is the boat?', options);
  const scores = corpus.tolist().map((vector) => cos_sim(vector, query.tolist()[0]));
  const ranked = scores.map((score, i) => ({ text: texts[i], score })).sort((a, b) => b.score - a.score);
  await extractor.dispose();
  return { dims: [corpus.dims, query.dims], type: corpus.type, ranked };
}
