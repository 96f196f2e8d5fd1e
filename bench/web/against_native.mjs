// wattn against native code in Node, from strings to embeddings, one thread each: transformers.js 4.3.1 on onnxruntime-node, whose binaries are in
// its
// npm package. 256 texts of 5 to 200 tokens, transformers.js at its best batch size. Interleaved, texts a second. Needs the checkpoint, its ONNX
// twin (see against_onnxruntime.mjs) and a text file to cut texts from: WATTN_BENCH_TEXT.
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { pipeline } from 'wattn';
import { mixedTexts } from './lib/mixed_texts.mjs';
import { writeRecord } from './lib/record.mjs';
import { checkpoint, kRival, prepare, rivals, root } from './lib/rival.mjs';
import { folderOfRival } from '../../tools/lib/rivals.mjs';

const corpus = process.env.WATTN_BENCH_TEXT ?? join(root, '../shared/data/text/darwin.txt');
const rounds = Number(process.env.ROUNDS ?? 5);

prepare([[corpus, 'WATTN_BENCH_TEXT names a text file']]);
const theirs = await import(pathToFileURL(join(folderOfRival('@huggingface/transformers'), 'dist/transformers.node.mjs')));
Object.assign(theirs.env, { allowRemoteModels: false, allowLocalModels: true, localModelPath: join(rivals, 'models/') });
const texts = mixedTexts(corpus, 256);
const sorted = texts.toSorted((a, b) => a.length - b.length);
const engines = {};
for (const dtype of ['q8', 'fp32']) {
  const session_options = { intraOpNumThreads: 1, interOpNumThreads: 1 };
  const embed = await theirs.pipeline('feature-extraction', 'minilm', { dtype, device: 'cpu', session_options });
  for (const size of [1, 8, 16]) {
    engines[`transformers.js ${dtype}, sorted, batches of ${size}`] = async () => {
      for (let at = 0; at < sorted.length; at += size) {
        await embed(sorted.slice(at, at + size), { pooling: 'mean', normalize: true });
      }
    };
  }
}
for (const options of [
  { dtype: 'q8' },
  { dtype: 'q16' },
  { dtype: 'f32' },
  { dtype: 'f16' },
  { dtype: 'f32', precision: 'fast' },
]) {
  const embed = await pipeline('feature-extraction', checkpoint, { ...options, threads: 1 });
  engines[`wattn ${Object.values(options).join(' ')}, one call`] = () => embed(texts);
}
const times = Object.fromEntries(Object.keys(engines).map((name) => [name, []]));
for (let round = -1; round < rounds; ++round) {
  for (const [name, run] of Object.entries(engines)) {
    const start = performance.now();
    await run();
    if (round >= 0) times[name].push(performance.now() - start);
  }
}
const median = (values) => values.toSorted((a, b) => a - b)[values.length >> 1];
const speeds = Object.entries(times).map(([name, values]) => [name, (1000 * texts.length) / median(values)]);
const best = (start) => Math.max(...speeds.filter(([name]) => name.startsWith(start)).map(([, speed]) => speed));
const rows = speeds.map(([name, speed]) => ({
  engine: name,
  texts_per_s: speed.toFixed(1),
  against_their_best: (speed / best(`transformers.js ${/ q8/.test(name) ? 'q8' : 'fp32'}`)).toFixed(2),
  rival: kRival,
  rounds,
  runtime: `node ${process.version}`,
}));
for (const row of rows) console.log(row.engine.padEnd(46), row.texts_per_s.padStart(7), row.against_their_best.padStart(6));
writeRecord('native', rows);
process.exit(0);
