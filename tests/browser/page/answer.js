// What workers of all kinds answer to { model, texts }.
import { pipeline } from '/dist/index.js';

export async function answer({ data: { model, texts }, ports: [port] }) {
  try {
    const embed = await pipeline('feature-extraction', model);
    const out = await embed(texts);
    await embed.dispose();
    port.postMessage({ data: Array.from(out.data), dims: out.dims });
  } catch (error) {
    port.postMessage({ error: String(error) });
  }
}
