// Embeddings on the processor and on a GPU: texts per second by batch size. In Node, with the package `webgpu` and a Vulkan driver (otherwise
// SwiftShader, which only shows that it runs).
//   node bench/web/gpu.mjs [MODEL] [--dtype f32|q8] [--batches 1,8,32,128,256] [--software]
import { parseArgs } from 'node:util';
import { useSoftwareGpu } from '../../tools/lib/software_gpu.mjs';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    dtype: { type: 'string', default: 'f32' },
    batches: { type: 'string', default: '1,8,32,128,256' },
    software: { type: 'boolean', default: false },
    seconds: { type: 'string', default: '2' },
  },
});
if (values.software) useSoftwareGpu();
const { create } = await import('webgpu');
const { env, pipeline } = await import('../../dist/node.js');
env.gpu = create([]);

const kWords = 'the river bends west of an old stone mill where birds sing all day and boats go home in the evening'.split(' ');
/** Texts of 4 to 60 words, the same at each run. */
const texts = (count) =>
  Array.from({ length: count }, (_, i) =>
    Array.from({ length: 4 + ((i * 37) % 57) }, (_, j) => kWords[(i + j * 7) % kWords.length]).join(' '),
  );

async function perSecond(embed, batch) {
  const some = texts(batch);
  await embed(some);
  const begin = performance.now();
  let count = 0;
  do {
    await embed(some);
    count += batch;
  } while (performance.now() - begin < 1000 * Number(values.seconds));
  return count / ((performance.now() - begin) / 1000);
}

const rows = [];
for (const device of ['wasm', 'webgpu']) {
  const begin = performance.now();
  const embed = await pipeline('feature-extraction', positionals[0] ?? null, { device, dtype: values.dtype });
  const loaded = performance.now() - begin;
  await embed.warmup();
  const { device_reason, gpu } = embed.info();
  if (device_reason) console.log(`webgpu: ${device_reason}`);
  if (gpu) console.log(`adapter: ${gpu.adapter}; ${gpu.bytes} bytes; distance ${gpu.distance} of ${gpu.bound}`);
  const speeds = {};
  for (const batch of values.batches.split(',').map(Number)) speeds[`batch ${batch}`] = (await perSecond(embed, batch)).toFixed(1);
  rows.push({ device: device_reason ? `${device} (processor)` : device, 'load ms': Math.round(loaded), ...speeds });
  await embed.dispose();
}
console.table(rows);
process.exit(0); // Dawn keeps a thread
