// In place of transformers.js, for the page Proof to measure: the same interface, wattn behind it, so that every vector is known. It answers only what is
// asked as transformers.js is to be asked, and has no q8 model.
import { pipeline as ours } from './wattn/index.js';

export const env = { version: '0.0.0-stub', backends: { onnx: { wasm: {} } } };

const kMostAtOnce = 16;

export async function pipeline(task, model, { dtype, device, progress_callback }) {
  const { wasmPaths, numThreads } = env.backends.onnx.wasm;
  if (!wasmPaths.endsWith('/rival/') || !(numThreads >= 1) || device !== 'wasm') throw new Error('asked in another way');
  if (dtype !== 'fp32') throw new Error(`no model in ${dtype}`);
  const embed = await ours(task, new URL(env.remotePathTemplate.replace('{model}', model), env.remoteHost).href);
  progress_callback({ status: 'progress', file: 'onnx/model.onnx', total: 123_456 });
  return async (texts, { pooling, normalize }) => {
    if (pooling !== 'mean' || !normalize || texts.length > kMostAtOnce) throw new Error('called in another way');
    const { data, dims } = await embed(texts);
    return { data, dims };
  };
}
