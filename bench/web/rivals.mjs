// Other libraries for the same work, where npm has them: one embedding by wllama (llama.cpp in WebAssembly) in Chromium, a product of matrices by
// jax-js in Node, each beside wattn on one thread. Needs what against_onnxruntime.mjs needs. ROUNDS: 7 by default.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import puppeteer from 'puppeteer-core';
import { nn } from '../../dist/node.js';
import { writeRecord } from './lib/record.mjs';
import { folderOfRival, installRivals } from '../../tools/lib/rivals.mjs';
import { checkpoint, median, prepare, root, serve } from './lib/rival.mjs';

const rounds = Number(process.env.ROUNDS ?? 7);
const kRivals = ['@wllama/wllama@3.8.1', '@jax-js/jax@0.1.25'];
const chromium = process.env.CHROME ?? '/usr/bin/chromium';
const kText =
  'The committee will meet again on Thursday to decide which of the three proposals the city should follow, and how much of it can be paid.';

prepare();
installRivals(...kRivals);
const packed = join(root, 'build/bench/minilm-q8.gguf');
if (!existsSync(packed)) {
  mkdirSync(join(root, 'build/bench'), { recursive: true });
  const how = ['pack', '--model', checkpoint, '--dtype', 'q8', '--out', packed];
  spawnSync(process.execPath, [join(root, 'dist/cli.js'), ...how], { stdio: 'inherit' });
}

/** In the page: medians of both, and the cosine of their vectors. */
async function embedOnce(text, rounds) {
  const { Wllama } = await import('/rivals/@wllama/wllama/esm/index.js');
  const { pipeline } = await import('/wattn/index.js');
  const file = await (await fetch('/packed/minilm-q8.gguf')).blob();
  const wllama = new Wllama({ default: '/rivals/@wllama/wllama/esm/wasm/wllama.wasm' });
  await wllama.loadModel([file], { embeddings: true, pooling_type: 'mean', n_threads: 1, n_ctx: 512 });
  const embed = await pipeline('feature-extraction', '/packed/minilm-q8.gguf', { dtype: 'q8', threads: 1 });
  const engines = {
    'wllama q8_0': async () => (await wllama.createEmbedding({ input: text })).data[0].embedding,
    'wattn q8': async () => (await embed(text)).data,
  };
  const times = Object.fromEntries(Object.keys(engines).map((name) => [name, []]));
  const vectors = {};
  for (let round = -2; round < rounds; ++round) {
    for (const [name, run] of Object.entries(engines)) {
      const start = performance.now();
      vectors[name] = await run();
      if (round >= 0) times[name].push(performance.now() - start);
    }
  }
  const dot = (a, b) => a.reduce((sum, value, i) => sum + value * b[i], 0);
  const [theirs, own] = Object.values(vectors);
  return { times, cosine: dot(theirs, own) / Math.sqrt(dot(theirs, theirs) * dot(own, own)) };
}

const rows = [];
const add = (work, times, own) => {
  for (const [engine, list] of Object.entries(times))
    rows.push({ work, engine, ms: median(list).toFixed(2), 'times wattn': (median(list) / median(times[own])).toFixed(2) });
};

if (existsSync(chromium)) {
  const server = await serve(() => '<!doctype html><link rel="icon" href="data:,">');
  const browser = await puppeteer.launch({
    browser: 'chrome',
    executablePath: chromium,
    args: ['--no-sandbox', '--disable-gpu'],
    protocolTimeout: 240_000,
  });
  const page = await browser.newPage();
  await page.goto(server.url);
  try {
    const { times, cosine } = await page.evaluate(embedOnce, kText, rounds);
    console.log(`wllama's vector and wattn's have cosine ${cosine.toFixed(5)}`);
    add('one embedding, Chromium', times, 'wattn q8');
  } catch (error) {
    console.log(`wllama cannot: ${String(error?.message ?? error).split('\n')[0]}`);
  }
  await browser.close();
  server.close();
} else console.log(`skipped: wllama runs in pages, and there is no Chromium at ${chromium}`);

// [128, 384] by [384, 1536], as in a layer of MiniLM.
const jax = await import(pathToFileURL(join(folderOfRival('@jax-js/jax'), 'dist/index.js')).href);
await jax.init?.('wasm');
jax.defaultDevice('wasm');
await nn.ready();
const filled = (size) => Float32Array.from({ length: size }, (_, i) => ((i * 48271) % 997) / 997 - 0.5);
const [m, k, n] = [128, 384, 1536];
const [a, b] = [filled(m * k), filled(k * n)];
const left = nn.tensor(new nn.Tensor('float32', a, [m, k]));
const right = nn.tensor(new nn.Tensor('float32', b, [k, n]));
const theirs = [jax.numpy.array(a.slice(), { shape: [m, k] }), jax.numpy.array(b.slice(), { shape: [k, n] })];
const products = {
  'jax-js, wasm': async () => {
    const c = jax.numpy.matmul(theirs[0].ref, theirs[1].ref);
    await jax.blockUntilReady(c);
    c.dispose?.();
  },
  'wattn nn': async () => left.matmul(right),
};
const times = Object.fromEntries(Object.keys(products).map((name) => [name, []]));
for (let round = -20; round < 5 * rounds; ++round) {
  for (const [name, run] of Object.entries(products)) {
    const start = performance.now();
    await run();
    if (round >= 0) times[name].push(performance.now() - start);
  }
}
add('a product of 128 x 384 by 384 x 1536, Node', times, 'wattn nn');
console.table(rows);

writeRecord(
  'rivals',
  rows.map((row) => ({ ...row, rivals: kRivals.join(' '), rounds, host: `node ${process.version}` })),
);
process.exit(0);
