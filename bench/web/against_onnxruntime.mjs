// wattn against onnxruntime-web (wasm, one thread) on the same checkpoint, in one process, interleaved: medians, ratios, and
// a CSV under bench/record. Needs the checkpoint (npm run test:models) and its ONNX twin (bench/make_onnx.py); the rival is
// installed into build/rivals, outside the product's dependencies. See bench/README.md.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { writeRecord } from './lib/record.mjs';
import { importRival, installRivals } from '../../tools/lib/rivals.mjs';

const root = fileURLToPath(new URL('../../', import.meta.url));
const checkpoint = join(process.env.WATTN_MODELS_DIR ?? join(root, '.models'), 'all-MiniLM-L6-v2');
const twin = process.env.WATTN_ONNX_DIR ?? join(root, 'build/onnx');
const kRival = 'onnxruntime-web@1.30.0';
const kCases = [
  [1, 8],
  [1, 16],
  [1, 32],
  [1, 128],
  [8, 32],
  [32, 32],
];
const rounds = Number(process.env.ROUNDS ?? 7);

for (const [path, how] of [
  [join(checkpoint, 'model.safetensors'), 'npm run test:models brings it'],
  [join(twin, 'model.onnx'), 'python bench/make_onnx.py CHECKPOINT build/onnx makes it'],
]) {
  if (!existsSync(path)) {
    console.log(`skipped: no ${path} (${how})`);
    process.exit(0);
  }
}
installRivals(kRival);

const ort = await importRival('onnxruntime-web');
ort.env.wasm.numThreads = 1;
const { AutoModel } = await import(pathToFileURL(join(root, 'dist/node.js')).href);

/** A function that runs b sequences of s tokens. */
async function onnx(file) {
  const session = await ort.InferenceSession.create(new Uint8Array(readFileSync(join(twin, file))), {
    executionProviders: ['wasm'],
  });
  return (b, s) => {
    const filled = (value) => new ort.Tensor('int64', new BigInt64Array(b * s).fill(BigInt(value)), [b, s]);
    const feeds = { input_ids: filled(2003), attention_mask: filled(1), token_type_ids: filled(0) };
    return () => session.run(feeds);
  };
}
async function wattn(options) {
  const model = await AutoModel.from_pretrained(checkpoint, { threads: 1, ...options });
  if (model.info().threads !== (options.threads ?? 1)) throw new Error(model.info().threads_reason);
  return (b, s) => {
    const input_ids = Array.from({ length: b }, () => Array(s).fill(2003));
    return () => model({ input_ids });
  };
}

const engines = {
  'onnxruntime f32': await onnx('model.onnx'),
  'onnxruntime int8': await onnx('model_quantized.onnx'),
  'wattn f32 exact': await wattn({ dtype: 'f32' }),
  'wattn f32 fast': await wattn({ dtype: 'f32', precision: 'fast' }),
  'wattn q16 exact': await wattn({ dtype: 'q16' }),
  'wattn q8 exact': await wattn({ dtype: 'q8' }),
  'wattn f32 exact, 2 threads': await wattn({ dtype: 'f32', threads: 2 }),
  'wattn q8 exact, 2 threads': await wattn({ dtype: 'q8', threads: 2 }),
};
// The others against onnxruntime f32.
const kAgainst = {
  'wattn q8 exact': 'onnxruntime int8',
  'wattn f32 exact, 2 threads': 'wattn f32 exact',
  'wattn q8 exact, 2 threads': 'wattn q8 exact',
};

const median = (values) => values.toSorted((a, b) => a - b)[values.length >> 1];
const rows = [];
for (const [b, s] of kCases) {
  const runs = Object.entries(engines).map(([name, make]) => ({ name, run: make(b, s), times: [] }));
  for (const { run } of runs) for (let i = 0; i < 3; ++i) await run(); // warm
  const repeat = Math.max(1, Math.round(256 / (b * s)));
  for (let round = 0; round < rounds; ++round) {
    for (const { run, times } of runs) {
      for (let i = 0; i < repeat; ++i) {
        const start = performance.now();
        await run();
        times.push(performance.now() - start);
      }
    }
  }
  const ms = Object.fromEntries(runs.map(({ name, times }) => [name, median(times)]));
  for (const name of Object.keys(engines)) {
    const against = kAgainst[name] ?? 'onnxruntime f32';
    rows.push({ case: `b${b}s${s}`, engine: name, ms: ms[name].toFixed(2), against, ratio: (ms[against] / ms[name]).toFixed(2) });
  }
  console.log(`b${b}s${s}`.padEnd(8) + runs.map(({ name }) => `${name} ${ms[name].toFixed(2)}`).join('   '));
}
console.table(rows.filter((row) => row.engine.startsWith('wattn')));
writeRecord(
  '',
  rows.map((row) => ({ ...row, rival: kRival, host: `node ${process.version}` })),
);
process.exit(0);
