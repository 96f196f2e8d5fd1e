// Static embeddings: short texts per second in one call on one thread (wasm, Node), by wall-clock and by CPU time (which is the one to compare on
// a shared machine). Also model2vec in Python and in Rust, if they are installed. The model has the tokenizer of all-MiniLM-L6-v2 and 256 random
// numbers for each token; texts are eight words of a corpus in ../shared/data. PYTHON=... names the interpreter (default python3).
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { buildCrate } from '../../tools/lib/rivals.mjs';
import { writeRecord } from './lib/record.mjs';

const root = fileURLToPath(new URL('../../', import.meta.url));
const corpus = join(root, '../shared/data/text/wikitext2/wiki.valid.raw');
const tokenizer = join(process.env.WATTN_MODELS_DIR ?? join(root, '.models'), 'all-MiniLM-L6-v2/tokenizer.json');
const kWidth = 256;
const kTexts = 100_000;
const rounds = Number(process.env.ROUNDS ?? 7);

for (const file of [corpus, tokenizer]) {
  if (existsSync(file)) continue;
  console.log(`skipped: no ${file}`);
  process.exit(0);
}
const { pipeline } = await import(pathToFileURL(join(root, 'dist/node.js')).href);

const words = readFileSync(corpus, 'utf8').split(/\s+/).filter(Boolean);
const texts = Array.from({ length: kTexts }, (_, i) => {
  const at = (i * 8) % (words.length - 8);
  return words.slice(at, at + 8).join(' ');
});

const folder = join(root, 'build/bench-static');
mkdirSync(folder, { recursive: true });
const json = JSON.parse(readFileSync(tokenizer, 'utf8'));
writeFileSync(join(folder, 'tokenizer.json'), JSON.stringify({ ...json, truncation: null, padding: null }));
writeFileSync(join(folder, 'config.json'), JSON.stringify({ model_type: 'model2vec', normalize: true }));
writeFileSync(join(folder, 'texts.txt'), texts.join('\n'));
const tokens = Object.keys(json.model.vocab).length;
const rows = new Float32Array(tokens * kWidth);
let state = 1;
for (let i = 0; i < rows.length; ++i) rows[i] = ((state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff) >>> 8) / 2 ** 22 - 1;
const shape = [tokens, kWidth];
const header = JSON.stringify({ embeddings: { dtype: 'F32', shape, data_offsets: [0, rows.byteLength] } });
const size = Buffer.alloc(8);
size.writeBigUInt64LE(BigInt(header.length));
writeFileSync(join(folder, 'model.safetensors'), Buffer.concat([size, Buffer.from(header), Buffer.from(rows.buffer)]));

const kPython = `
import sys, time, os
os.environ['TOKENIZERS_PARALLELISM'] = 'false'
os.environ['RAYON_NUM_THREADS'] = '1'
import model2vec
model = model2vec.StaticModel.from_pretrained(sys.argv[1])
texts = open(sys.argv[1] + '/texts.txt', encoding='utf-8', newline='\\n').read().split('\\n')
best = 1e9
for _ in range(int(sys.argv[2])):
    start = time.perf_counter()
    model.encode(texts, use_multiprocessing=False)
    best = min(best, time.perf_counter() - start)
print(best, model2vec.__version__)
`;

const kRust = `
use std::time::Instant;
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let model = model2vec_rs::model::StaticModel::from_pretrained(&args[1], None, None, None).unwrap();
    let file = std::fs::read_to_string(format!("{}/texts.txt", args[1])).unwrap();
    let texts: Vec<String> = file.split('\\n').map(str::to_string).collect();
    let mut best = f64::MAX;
    for _ in 0..args[2].parse().unwrap() {
        let start = Instant::now();
        std::hint::black_box(model.encode(&texts));
        best = best.min(start.elapsed().as_secs_f64());
    }
    println!("{best}");
}
`;
const kRustVersion = '0.4.0';

async function seconds(dtype) {
  const embed = await pipeline('feature-extraction', folder, { dtype, threads: 1 });
  const best = { seconds: Infinity, cpu: Infinity };
  for (let round = 0; round < rounds; ++round) {
    const start = performance.now();
    const used = process.cpuUsage();
    const out = await embed(texts);
    const { user, system } = process.cpuUsage(used);
    best.seconds = Math.min(best.seconds, (performance.now() - start) / 1000);
    best.cpu = Math.min(best.cpu, (user + system) / 1e6);
    if (out.dims[0] !== kTexts) throw new Error(`expected ${kTexts} vectors, found ${out.dims[0]}`);
  }
  await embed.dispose();
  return best;
}

const results = { f32: await seconds('f32'), q8: await seconds('q8') };
const python = spawnSync(process.env.PYTHON ?? 'python3', ['-c', kPython, folder, String(Math.min(3, rounds))]);
const features = 'default-features = false, features = ["onig", "local-only"]';
const crate = buildCrate('model2vec-bench', `model2vec-rs = { version = "=${kRustVersion}", ${features} }`, kRust, {
  flags: '-C target-cpu=native',
});
const rust =
  crate && spawnSync(join(crate, 'model2vec-bench'), [folder, String(rounds)], { env: { ...process.env, RAYON_NUM_THREADS: '1' } });
const rate = (time) => Math.round(kTexts / time);
const record = [];
for (const [dtype, { seconds: time, cpu }] of Object.entries(results)) {
  console.log(`wattn ${dtype}: ${rate(time)} texts a second, ${rate(cpu)} in a second of CPU time`);
  record.push({ what: `wattn ${dtype}`, texts_per_second: rate(time), texts_per_cpu_second: rate(cpu) });
}
if (python.status === 0) {
  const [time, version] = python.stdout.toString().trim().split(/\s+/).slice(-2);
  console.log(`model2vec ${version}: ${rate(Number(time))} texts a second`);
  record.push({ what: `model2vec ${version}`, texts_per_second: rate(Number(time)) });
} else {
  console.log('model2vec: skipped (PYTHON has none)');
}
if (rust?.status === 0) {
  const texts = rate(Number(rust.stdout.toString()));
  console.log(`model2vec-rs ${kRustVersion}: ${texts} texts a second`);
  record.push({ what: `model2vec-rs ${kRustVersion}`, texts_per_second: texts });
} else console.log(`model2vec-rs: skipped (${rust ? rust.stderr.toString().trim() : 'no cargo, or it cannot build it'})`);
writeRecord(
  'static',
  record.map((row) => ({ ...row, host: `node ${process.version}` })),
);
