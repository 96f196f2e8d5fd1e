// A script for Node, Bun or Deno: it embeds texts and multiplies the vectors.
import { pipeline } from '@huggingface/transformers';

export default async function run({ embed: id }) {
  const extractor = await pipeline('feature-extraction', id, { dtype: 'fp32' });
  const texts = ['A small boat waits below the old bridge.', 'The boat waits.', 'Small birds sing in the wind.'];
  const embeddings = await extractor(texts, { pooling: 'mean', normalize: true });
  const [source, ...rest] = embeddings.tolist();
  const scores = rest.map((row) => row.reduce((sum, value, i) => sum + value * source[i], 0));
  const whole = await extractor(texts[1], { pooling: 'none' });
  await extractor.dispose();
  return {
    dims: embeddings.dims,
    size: embeddings.size,
    scores,
    tokens: whole.dims.length,
    first: Array.from(embeddings.data.slice(0, 4)),
  };
}
