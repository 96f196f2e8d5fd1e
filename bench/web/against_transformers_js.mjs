// wattn against transformers.js 4.3.1 on the same checkpoint, from strings to vectors: 256 texts of 5 to 200 tokens in one call, in a
// page of Chromium, one thread each (the page is not cross-origin isolated), interleaved; then the first vector and the peak
// memory of a Node process. transformers.js runs its int8 file on onnxruntime-web in the page and on native onnxruntime in Node.
// Needs the checkpoint, its ONNX twin (see against_onnxruntime.mjs) and a text file to cut texts from: WATTN_BENCH_TEXT.
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { extname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';
import { writeRecord } from './lib/record.mjs';

const root = fileURLToPath(new URL('../../', import.meta.url));
const checkpoint = join(process.env.WATTN_MODELS_DIR ?? join(root, '.models'), 'all-MiniLM-L6-v2');
const twin = process.env.WATTN_ONNX_DIR ?? join(root, 'build/onnx');
const rivals = join(root, 'build/rivals');
const corpus = process.env.WATTN_BENCH_TEXT ?? join(root, '../shared/data/text/darwin.txt');
const kRival = '@huggingface/transformers@4.3.1';
const rounds = Number(process.env.ROUNDS ?? 5);

for (const [path, how] of [
  [join(checkpoint, 'model.safetensors'), 'npm run test:models brings it'],
  [join(twin, 'model_quantized.onnx'), 'python bench/make_onnx.py CHECKPOINT build/onnx makes it'],
  [corpus, 'WATTN_BENCH_TEXT names a text file'],
]) {
  if (!existsSync(path)) {
    console.log(`skipped: no ${path} (${how})`);
    process.exit(0);
  }
}
if (!existsSync(join(rivals, 'node_modules/@huggingface/transformers'))) {
  mkdirSync(rivals, { recursive: true });
  writeFileSync(join(rivals, 'package.json'), '{}');
  spawnSync('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund', kRival], { cwd: rivals, stdio: 'inherit' });
}
// The checkpoint as transformers.js wants it.
const converted = join(rivals, 'models/minilm');
mkdirSync(join(converted, 'onnx'), { recursive: true });
for (const name of readdirSync(checkpoint)) if (name.endsWith('.json')) cpSync(join(checkpoint, name), join(converted, name));
for (const name of readdirSync(twin)) if (name.endsWith('.onnx')) cpSync(join(twin, name), join(converted, 'onnx', name));

/** Texts of 4 to 150 words, their lengths evenly spread on a logarithmic scale and mixed. */
function makeTexts(count) {
  const words = readFileSync(corpus, 'utf8').split(/\s+/).slice(2000);
  let at = 0;
  let seed = 1;
  return Array.from({ length: count }, () => {
    seed = (seed * 48271) % 2147483647;
    const length = Math.round(4 * (150 / 4) ** (seed / 2147483647));
    at += length;
    return words.slice(at - length, at).join(' ');
  });
}

const kTypes = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.mjs': 'text/javascript',
  '.json': 'application/json',
  '.wasm': 'application/wasm',
};
const kFolders = [
  ['/wattn/', join(root, 'dist')],
  ['/model/', checkpoint],
  ['/models/', join(rivals, 'models')],
  ['/rivals/', join(rivals, 'node_modules')],
];
const kPage = `<!doctype html><script type="importmap">{"imports": {
  "onnxruntime-web": "/rivals/onnxruntime-web/dist/ort.wasm.min.mjs", "onnxruntime-web/webgpu": "/rivals/onnxruntime-web/dist/ort.wasm.min.mjs",
  "onnxruntime-common": "/rivals/onnxruntime-common/dist/esm/index.js"}}</script>`;
const server = createServer((request, response) => {
  const path = normalize(new URL(request.url, 'http://localhost').pathname);
  const [prefix, folder] = kFolders.find(([start]) => path.startsWith(start)) ?? [];
  if (!prefix) return response.writeHead(200, { 'content-type': 'text/html' }).end(kPage);
  const file = join(folder, path.slice(prefix.length));
  if (!existsSync(file)) return response.writeHead(404).end();
  const body = readFileSync(file);
  const type = kTypes[extname(file)] ?? 'application/octet-stream';
  return response.writeHead(200, { 'content-type': type, 'content-length': body.length }).end(body);
});
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));

/** In the page: a function for each engine, and the times of interleaved rounds. */
async function inPage({ texts, rounds }) {
  const { pipeline, env } = await import('/rivals/@huggingface/transformers/dist/transformers.web.min.js');
  const wattn = await import('/wattn/index.js');
  Object.assign(env, { allowRemoteModels: false, allowLocalModels: true, localModelPath: '/models/', useBrowserCache: false });
  env.backends.onnx.wasm.wasmPaths = '/rivals/onnxruntime-web/dist/';
  env.backends.onnx.wasm.numThreads = 1;
  const theirs = await pipeline('feature-extraction', 'minilm', { dtype: 'q8', device: 'wasm' });
  const sorted = texts.toSorted((a, b) => a.length - b.length);
  const how = { pooling: 'mean', normalize: true };
  const engines = {
    'transformers.js q8, one call': () => theirs(texts, how),
    'transformers.js q8, sorted, batches of 16': async () => {
      for (let at = 0; at < sorted.length; at += 16) await theirs(sorted.slice(at, at + 16), how);
    },
    'transformers.js q8, one by one': async () => {
      for (const text of texts) await theirs(text, how);
    },
  };
  const kinds = {};
  for (const options of [{ dtype: 'q8' }, { dtype: 'q16' }, { dtype: 'f32' }, { dtype: 'f32', precision: 'fast' }]) {
    const embed = await wattn.pipeline('feature-extraction', '/model/', options);
    const name = `wattn ${Object.values(options).join(' ')}, one call`;
    kinds[name] = embed.info().kernels;
    engines[name] = () => embed(texts);
  }
  const times = Object.fromEntries(Object.keys(engines).map((name) => [name, []]));
  for (let round = -1; round < rounds; ++round) {
    for (const [name, run] of Object.entries(engines)) {
      const start = performance.now();
      await run();
      if (round >= 0) times[name].push(performance.now() - start);
    }
  }
  return { times, kinds };
}

const median = (values) => values.toSorted((a, b) => a - b)[values.length >> 1];
const texts = makeTexts(256);
const browser = await chromium.launch({
  executablePath: process.env.CHROME || '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu'],
});
const version = browser.version();
const page = await browser.newPage();
page.on('console', (message) => message.type() === 'error' && console.error(message.text()));
await page.goto(`http://127.0.0.1:${server.address().port}/`);
page.setDefaultTimeout(600_000);
const { times, kinds } = await page.evaluate(inPage, { texts, rounds });
await browser.close();
server.closeAllConnections();
server.close();

const perSecond = Object.fromEntries(Object.entries(times).map(([name, list]) => [name, (1000 * texts.length) / median(list)]));
const [oneCall, ...otherWays] = Object.keys(perSecond).filter((name) => name.startsWith('transformers.js'));
const best = Math.max(...[oneCall, ...otherWays].map((name) => perSecond[name]));
console.log(`Chromium ${version}: ${texts.length} texts, ${rounds} rounds, kernels ${JSON.stringify(kinds)}`);
const inChromium = Object.entries(perSecond).map(([engine, speed]) => ({
  engine,
  'texts/s': speed.toFixed(1),
  'against one call': (speed / perSecond[oneCall]).toFixed(2),
  'against its best way': (speed / best).toFixed(2),
}));
console.table(inChromium);
writeRecord(
  'transformers-js-chromium',
  inChromium.map((row) => ({ ...row, rival: kRival, rounds, host: `chromium ${version}` })),
);

// A Node process: from its start to its first vector, and the most memory it held while it embedded the texts.
const programs = {
  'transformers.js q8': `
    import { pipeline, env } from '@huggingface/transformers';
    Object.assign(env, { allowRemoteModels: false, localModelPath: ${JSON.stringify(`${join(rivals, 'models')}/`)} });
    const embed = await pipeline('feature-extraction', 'minilm', { dtype: 'q8' });
    const how = { pooling: 'mean', normalize: true };
    await embed('hello world', how); report(); await embed(texts, how); peak();`,
  ...Object.fromEntries(
    ['q8', 'f32'].map((dtype) => [
      `wattn ${dtype}`,
      `
    import { pipeline } from ${JSON.stringify(join(root, 'dist/node.js'))};
    const embed = await pipeline('feature-extraction', ${JSON.stringify(checkpoint)}, { dtype: '${dtype}' });
    await embed('hello world'); report(); await embed(texts); peak();`,
    ]),
  ),
};
const started = Object.fromEntries(Object.keys(programs).map((name) => [name, { first: [], peak: [] }]));
for (let round = 0; round < rounds; ++round) {
  for (const [name, program] of Object.entries(programs)) {
    const begun = Date.now();
    const source = `${program}
      function report() { console.log(Date.now() - ${begun}); }
      function peak() { console.log(process.resourceUsage().maxRSS / 1024); process.exit(0); }`.replace(
      'texts',
      JSON.stringify(texts),
    );
    const file = join(rivals, 'program.mjs');
    writeFileSync(file, source);
    const [first, peak] = execFileSync(process.execPath, [file], { cwd: rivals, encoding: 'utf8' }).trim().split('\n').map(Number);
    started[name].first.push(first);
    started[name].peak.push(peak);
  }
}
console.log(`Node ${process.version}: from the start of the process, ms; most memory, MB`);
const inNode = Object.entries(started).map(([engine, { first, peak }]) => ({
  engine,
  'first vector': median(first),
  'peak memory': Math.round(median(peak)),
}));
console.table(inNode);
writeRecord(
  'transformers-js-node',
  inNode.map((row) => ({ ...row, rival: kRival, rounds, host: `node ${process.version}` })),
);
process.exit(0);
