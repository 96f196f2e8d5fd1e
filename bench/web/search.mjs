// Exact search over 100,000 (ROWS) vectors of 384 numbers, one query at a time, one thread. VectorRows (web/search) is compared with a loop in
// JavaScript and two libraries with approximate graphs, usearch (a native addon) and hnswlib-wasm, with their default settings. Milliseconds per
// query (medians over queries, in alternating runs) and recall@10 against exact float32, printed and kept under bench/record. The vectors are
// all-MiniLM-L6-v2's (q8) of distinct English sentences of ../shared/data; embedding them takes a quarter of an hour, once, and resumes.
// SENTENCES: how many are embedded; further rows are sums of two of them. Building the graphs takes minutes; GRAPHS=0 leaves them out. The rivals
// are installed into build/rivals, outside the product's dependencies.
import { appendFileSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { writeRecord } from './lib/record.mjs';
import { sentences } from './lib/sentences.mjs';
import { installRivals, rivals } from '../../tools/lib/rivals.mjs';

const root = fileURLToPath(new URL('../../', import.meta.url));
const data = join(root, '../shared/data');
const minilm = join(process.env.WATTN_MODELS_DIR ?? join(root, '.models'), 'all-MiniLM-L6-v2');
const folder = join(root, 'build/bench-search');
const kDim = 384;
const kRows = Number(process.env.ROWS ?? 100_000);
const kQueries = Number(process.env.QUERIES ?? 200);
const kSentences = Math.min(kRows, Number(process.env.SENTENCES ?? 100_000));
const kTop = 10;
const rounds = Number(process.env.ROUNDS ?? 3);

for (const path of [data, minilm]) {
  if (existsSync(path)) continue;
  console.log(`skipped: no ${path}`);
  process.exit(0);
}

/** The queries' vectors, then the rows'. */
async function vectors() {
  mkdirSync(folder, { recursive: true });
  const file = join(folder, 'minilm-q8.f32'); // as many as were ever needed
  const done = () => (existsSync(file) ? Math.floor(statSync(file).size / (4 * kDim)) : 0);
  if (done() < kSentences + kQueries) {
    const { pipeline } = await import(pathToFileURL(join(root, 'dist/node.js')).href);
    const embed = await pipeline('feature-extraction', minilm, { dtype: 'q8', threads: Number(process.env.THREADS ?? 1) });
    const texts = sentences(kSentences + kQueries);
    if (existsSync(file)) writeFileSync(file, readFileSync(file).subarray(0, done() * 4 * kDim));
    for (let at = done(); at < texts.length; at += 1000) {
      const { data } = await embed(texts.slice(at, at + 1000), { pooling: 'mean', normalize: true });
      appendFileSync(file, new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
      console.log(`embedded ${Math.min(at + 1000, texts.length)} of ${texts.length}`);
    }
    await embed.dispose();
  }
  const bytes = readFileSync(file);
  const out = new Float32Array((kRows + kQueries) * kDim);
  const own = (kSentences + kQueries) * kDim;
  out.set(new Float32Array(bytes.buffer, bytes.byteOffset, own));
  for (let at = own, row = kQueries; at < out.length; at += kDim, ++row) {
    const [first, second] = [row, row * 7 + 1].map((from) => kQueries + (from % kSentences));
    let sum = 0;
    for (let j = 0; j < kDim; ++j) sum += (out[at + j] = out[first * kDim + j] + 0.7 * out[second * kDim + j]) ** 2;
    for (let j = 0; j < kDim; ++j) out[at + j] /= Math.sqrt(sum);
  }
  return out;
}

const kRivals = ['usearch@2.26.2', 'hnswlib-wasm@0.8.2'];
// usearch's defaults, for both: neighbours of a node, candidates while adding and while searching.
const kGraph = { connectivity: 16, adding: 128, searching: 64 };

/** Each engine is a function from a query to the rows it finds. */
async function engines(rows) {
  const out = {};
  out['loop in JavaScript, float32'] = (query) => nearest(rows, query).map(({ row }) => row);
  const buildId = /"(\w+)"/.exec(readFileSync(join(root, 'build/wasm-simd/build_id.h'), 'utf8'))[1];
  const outfile = join(folder, 'vector_rows.mjs');
  await build({
    entryPoints: [join(root, 'web/search/vector_rows.ts')],
    outfile,
    bundle: true,
    format: 'esm',
    define: {
      __WATTN_BUILD_ID__: JSON.stringify(buildId),
      __WATTN_VERSION__: '""',
      __WATTN_INLINE__: 'false',
      __WATTN_MEMORY_FLAG__: '{}',
    },
    logLevel: 'error',
  });
  const { VectorRows } = await import(pathToFileURL(outfile).href);
  for (const precision of ['float32', 'int8', 'binary']) {
    const binary = readFileSync(join(root, 'build/wasm-simd/wattn-search.wasm'));
    const own = await VectorRows.open(kDim, precision, { wasm: { binary } });
    const start = performance.now();
    own.append(rows);
    console.log(`wattn ${precision}: ${Math.round(performance.now() - start)} ms to add all, ${Math.round(own.bytes / 1e6)} MB`);
    out[`wattn ${precision}`] = (query) => own.search(query, kTop).rows;
  }

  installRivals(...kRivals);
  const { Index, exactSearch } = createRequire(join(rivals, 'package.json'))('usearch');
  out['usearch exact, float32'] = (query) => exactSearch(rows, query, kDim, kTop, 'ip', 1).keys;
  if (process.env.GRAPHS === '0') return out;

  const keys = BigUint64Array.from({ length: kRows }, (_, row) => BigInt(row));
  for (const quantization of ['f32', 'i8']) {
    const start = performance.now();
    const index = new Index({
      metric: 'ip',
      dimensions: kDim,
      quantization,
      connectivity: kGraph.connectivity,
      expansion_add: kGraph.adding,
      expansion_search: kGraph.searching,
    });
    index.add(keys, rows, 1);
    console.log(`usearch ${quantization}: ${Math.round((performance.now() - start) / 1000)} s to add all`);
    out[`usearch graph, ${quantization}`] = (query) => index.search(query, kTop, 1).keys;
  }

  // It is made for pages, and saves there; nothing is saved here.
  globalThis.window ??= globalThis;
  globalThis.indexedDB ??= { open: () => ({}) };
  const { loadHnswlib } = await import(pathToFileURL(join(rivals, 'node_modules/hnswlib-wasm/dist/hnswlib.js')).href);
  const start = performance.now();
  const graph = new (await loadHnswlib()).HierarchicalNSW('ip', kDim, '');
  graph.initIndex(kRows, kGraph.connectivity, kGraph.adding, 100);
  for (let row = 0; row < kRows; ++row) graph.addPoint(rows.subarray(row * kDim, (row + 1) * kDim), row, false);
  graph.setEfSearch(kGraph.searching);
  console.log(`hnswlib-wasm: ${Math.round((performance.now() - start) / 1000)} s to add all`);
  out['hnswlib-wasm graph, f32'] = (query) => graph.searchKnn(query, kTop, undefined).neighbors;
  return out;
}

/** The best rows by a plain loop. */
function nearest(rows, query) {
  const best = [];
  for (let row = 0, at = 0; row < kRows; ++row) {
    let score = 0;
    for (let j = 0; j < kDim; ++j, ++at) score += rows[at] * query[j];
    if (best.length === kTop && score <= best[kTop - 1].score) continue;
    const place = best.findIndex((other) => other.score < score);
    best.splice(place < 0 ? best.length : place, 0, { row, score });
    if (best.length > kTop) best.pop();
  }
  return best;
}

const all = await vectors();
const queries = Array.from({ length: kQueries }, (_, i) => all.slice(i * kDim, (i + 1) * kDim));
const rows = all.slice(kQueries * kDim);
const exact = queries.map((query) => new Set(nearest(rows, query).map(({ row }) => row)));
const run = await engines(rows);

const kTurn = Math.min(20, kQueries); // queries, before it is another engine's turn
const times = Object.fromEntries(Object.keys(run).map((name) => [name, []]));
const hits = Object.fromEntries(Object.keys(run).map((name) => [name, 0]));
for (let round = 0; round < rounds; ++round) {
  for (let begin = 0; begin < kQueries; begin += kTurn) {
    for (const [name, search] of Object.entries(run)) {
      for (let i = begin; i < Math.min(begin + kTurn, kQueries); ++i) {
        const start = performance.now();
        const found = search(queries[i]);
        times[name].push(performance.now() - start);
        for (const row of found) hits[name] += exact[i].has(Number(row)) ? 1 : 0;
      }
    }
  }
}
const at = (sorted, share) => sorted[Math.floor(share * (sorted.length - 1))];
const record = Object.keys(run).map((engine) => {
  const sorted = times[engine].sort((a, b) => a - b);
  return {
    engine,
    ms: at(sorted, 0.5).toFixed(2),
    'a tenth took less than': at(sorted, 0.1).toFixed(2),
    'recall@10': (hits[engine] / (rounds * kQueries * kTop)).toFixed(4),
  };
});
console.table(record);
writeRecord(
  'search',
  record.map((row) => ({ rows: kRows, ...row, rivals: kRivals.join(' '), host: `node ${process.version}` })),
);
process.exit(0); // usearch's threads
