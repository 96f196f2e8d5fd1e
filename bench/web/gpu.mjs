// Embeddings or generated text on the processor and on a GPU: texts or tokens per second by batch size. In Node, with the package `webgpu` and a
// Vulkan driver (otherwise SwiftShader, which only shows that it runs).
//   node bench/web/gpu.mjs [MODEL] [--dtype f32|f16|q8|q4] [--batches 1,8,32,128,256] [--software]
//   node bench/web/gpu.mjs [MODEL] --generate [--dtype f32|f16|q8|q4] [--batches 1,4,8] [--prompt 64] [--tokens 32] [--software]
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { root } from '../../tools/lib/shell.mjs';
import { useSoftwareGpu } from '../../tools/lib/software_gpu.mjs';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    dtype: { type: 'string', default: 'f32' },
    batches: { type: 'string' },
    generate: { type: 'boolean', default: false },
    prompt: { type: 'string', default: '64' },
    tokens: { type: 'string', default: '32' },
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

/** How often work() runs in a second, after a first time that does not count. */
async function perSecond(work) {
  await work();
  const begin = performance.now();
  let count = 0;
  do {
    await work();
    ++count;
  } while (performance.now() - begin < 1000 * Number(values.seconds));
  return count / ((performance.now() - begin) / 1000);
}

/** Texts a second. */
const embedding = {
  load: (options) => pipeline('feature-extraction', positionals[0] ?? null, options),
  batches: '1,8,32,128,256',
  async measure(embed, batch) {
    const some = texts(batch);
    return { [`batch ${batch}`]: (batch * (await perSecond(() => embed(some)))).toFixed(1) };
  },
};

/**
 * Tokens a second: of prompts, whose first token is made, and then of all sequences together. No prompt is kept: each begins with another word.
 */
const generation = {
  load: (options) =>
    pipeline('text-generation', positionals[0] ?? join(root, 'models/story/wattn-story.gguf'), {
      ...options,
      prefix_cache_bytes: 0,
    }),
  batches: '1,4,8',
  async measure(write, batch) {
    const [length, tokens] = [Number(values.prompt), Number(values.tokens)];
    let run = 0;
    const prompts = () => {
      ++run;
      return Array.from({ length: batch }, (_, i) => {
        const word = (j) => kWords[(run * 5 + i * 3 + j * 7 + ((run * j) >> 3)) % kWords.length];
        return Array.from({ length }, (_, j) => word(j)).join(' ');
      });
    };
    const seconds = async (count) =>
      1 / (await perSecond(() => write(prompts(), { max_new_tokens: count, min_new_tokens: count, do_sample: false })));
    const first = await seconds(1);
    const all = await seconds(1 + tokens);
    return {
      [`batch ${batch}: first token ms`]: Math.round(1000 * first),
      [`batch ${batch}: tokens/s`]: ((batch * tokens) / Math.max(all - first, 1e-9)).toFixed(1),
    };
  },
};

const measured = values.generate ? generation : embedding;
const rows = [];
for (const device of ['wasm', 'webgpu']) {
  const begin = performance.now();
  const pipe = await measured.load({ device, dtype: values.dtype });
  const loaded = performance.now() - begin;
  await pipe.warmup();
  const { device_reason, gpu } = pipe.info();
  if (device_reason) console.log(`webgpu: ${device_reason}`);
  if (gpu) console.log(`adapter: ${gpu.adapter}; ${gpu.bytes} bytes; distance ${gpu.distance} of ${gpu.bound}`);
  const speeds = {};
  for (const batch of (values.batches ?? measured.batches).split(',').map(Number))
    Object.assign(speeds, await measured.measure(pipe, batch));
  rows.push({ device: device_reason ? `${device} (processor)` : device, 'load ms': Math.round(loaded), ...speeds });
  await pipe.dispose();
}
console.table(rows);
process.exit(0); // Dawn keeps a thread
