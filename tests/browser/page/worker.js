import { pipeline } from '/dist/index.js';

self.onmessage = async ({ data: { model, texts } }) => {
  const embed = await pipeline('feature-extraction', model);
  const out = await embed(texts);
  await embed.dispose();
  self.postMessage({ data: Array.from(out.data), dims: out.dims });
};
