// Compares other libraries with wattn on one thread: one embedding with wllama (llama.cpp in WebAssembly, from npm) in Chromium. In Node, a matrix
// product with jax-js, and one embedding with wasmicro (a crate, if cargo can build for WebAssembly). Needs what against_onnxruntime.mjs needs.
// ROUNDS: 7 by default.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import puppeteer from 'puppeteer-core';
import { cos_sim, nn, pipeline } from '../../dist/node.js';
import { writeRecord } from './lib/record.mjs';
import { buildCrate, folderOfRival, installRivals } from '../../tools/lib/rivals.mjs';
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

/** Milliseconds of each engine, one after the other in every round, and what each gave last. Pages get it by its source. */
async function interleaved(engines, rounds, warmUps) {
  const times = Object.fromEntries(Object.keys(engines).map((name) => [name, []]));
  const last = {};
  for (let round = -warmUps; round < rounds; ++round) {
    for (const [name, run] of Object.entries(engines)) {
      const start = performance.now();
      last[name] = await run();
      if (round >= 0) times[name].push(performance.now() - start);
    }
  }
  return { times, last };
}

/** In the page: the times of both, and their vectors. */
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
  const { times, last } = await globalThis.interleaved(engines, rounds, 2);
  return { times, vectors: Object.values(last).map((vector) => [...vector]) };
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
    await page.evaluate(`globalThis.interleaved = ${interleaved}`);
    const { times, vectors } = await page.evaluate(embedOnce, kText, rounds);
    console.log(`wllama's vector and wattn's have cosine ${cos_sim(...vectors).toFixed(5)}`);
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
const { times } = await interleaved(products, 5 * rounds, 20);
add('a product of 128 x 384 by 384 x 1536, Node', times, 'wattn nn');

// wasmicro has no package of npm, and its own exports need a tool beside cargo: these are ours.
const kWasmicro = '0.3.1';
const kExports = `
use wasmicro::pipeline::Pipeline;
static mut MODEL: Option<Pipeline> = None;
static mut OUT: Vec<f32> = Vec::new();
#[no_mangle]
pub extern "C" fn room(bytes: usize) -> *mut u8 {
    let mut room: Vec<u64> = Vec::with_capacity((bytes + 7) / 8); // aligned for floats
    let at = room.as_mut_ptr() as *mut u8;
    std::mem::forget(room);
    at
}
unsafe fn bytes<'a>(at: *const u8, size: usize) -> &'a [u8] { std::slice::from_raw_parts(at, size) }
#[no_mangle]
pub unsafe extern "C" fn load(weights: *const u8, a: usize, vocab: *const u8, b: usize, config: *const u8, c: usize) {
    let config = std::str::from_utf8(bytes(config, c)).unwrap();
    MODEL = Some(Pipeline::from_bytes(bytes(weights, a), bytes(vocab, b), config, None).unwrap());
}
#[no_mangle]
#[allow(static_mut_refs)]
pub unsafe extern "C" fn embed(text: *const u8, size: usize) -> *const f32 {
    let text = std::str::from_utf8(bytes(text, size)).unwrap();
    OUT = MODEL.as_ref().unwrap().embed(text, 256).unwrap().data().to_vec();
    OUT.as_ptr()
}
`;
const flags = '-C target-feature=+simd128';
const crate = buildCrate('wasmicro-bench', `wasmicro = "=${kWasmicro}"`, kExports, { target: 'wasm32-unknown-unknown', flags });
if (crate) {
  const { instance } = await WebAssembly.instantiate(readFileSync(join(crate, 'wasmicro_bench.wasm')));
  const { memory, room, load, embed } = instance.exports;
  const put = (data) => {
    const at = room(data.length);
    new Uint8Array(memory.buffer).set(data, at);
    return [at, data.length];
  };
  const { vocab } = JSON.parse(readFileSync(join(checkpoint, 'tokenizer.json'), 'utf8')).model;
  const pieces = Object.keys(vocab).sort((one, other) => vocab[one] - vocab[other]);
  const files = [
    readFileSync(join(checkpoint, 'model.safetensors')),
    Buffer.from(pieces.join('\n')),
    readFileSync(join(checkpoint, 'config.json')),
  ];
  load(...files.flatMap(put));
  const text = put(Buffer.from(kText));
  const own = await pipeline('feature-extraction', checkpoint, { dtype: 'f32', threads: 1 });
  const engines = {
    'wasmicro f32': async () => {
      const at = embed(...text); // memory may grow in it
      return new Float32Array(memory.buffer, at, 384).slice();
    },
    'wattn f32': async () => (await own(kText)).data,
  };
  const { times, last } = await interleaved(engines, rounds, 2);
  console.log(`wasmicro's vector and wattn's have cosine ${cos_sim(...Object.values(last)).toFixed(5)}`);
  add('one embedding, Node', times, 'wattn f32');
} else console.log('skipped: wasmicro, as no cargo builds for wasm32-unknown-unknown here');
console.table(rows);

writeRecord(
  'rivals',
  rows.map((row) => ({ ...row, rivals: kRivals.join(' '), rounds, host: `node ${process.version}` })),
);
process.exit(0);
