// wattn's tokenizers (wasm, Node, one thread) against npm's @huggingface/tokenizers in the same process and, if Python has `tokenizers`, the
// native Rust library on one thread. Lines of English, in alternating runs: megabytes per second (best of the rounds), ratios, and a CSV under
// bench/record. Needs ../shared/data; the npm rival is installed into build/rivals, outside the product's dependencies. PYTHON=... names the
// interpreter (default python3).
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { writeRecord } from './lib/record.mjs';
import { importRival, installRivals } from '../../tools/lib/rivals.mjs';

const root = fileURLToPath(new URL('../../', import.meta.url));
const data = join(root, '../shared/data');
const kRival = '@huggingface/tokenizers@0.2.0';
const kModels = { WordPiece: 'bert-base-uncased', 'byte-level BPE': 'roberta-base', Unigram: 't5-small' };
const kText = 'text/wikitext2/wiki.valid.raw';
const rounds = Number(process.env.ROUNDS ?? 15);

if (!existsSync(join(data, kText))) {
  console.log(`skipped: no ${join(data, kText)}`);
  process.exit(0);
}
installRivals(kRival);
const { Tokenizer } = await importRival('@huggingface/tokenizers');
const { AutoTokenizer } = await import(pathToFileURL(join(root, 'dist/node.js')).href);

const text = readFileSync(join(data, kText), 'utf8');
const lines = text.split('\n').filter((line) => line !== '');
const bytes = lines.reduce((sum, line) => sum + Buffer.byteLength(line), 0);

const kPython = `
import sys, time, os
os.environ['TOKENIZERS_PARALLELISM'] = 'false'
os.environ['RAYON_NUM_THREADS'] = '1'
from tokenizers import Tokenizer
tokenizer = Tokenizer.from_file(sys.argv[1])
tokenizer.no_truncation(); tokenizer.no_padding()
lines = [line for line in open(sys.argv[2], encoding='utf-8', newline='\\n').read().split('\\n') if line]
best = 1e9
for _ in range(int(sys.argv[3])):
    start = time.perf_counter()
    encodings = tokenizer.encode_batch(lines)
    best = min(best, time.perf_counter() - start)
import tokenizers
print(best, sum(len(e.ids) for e in encodings), tokenizers.__version__)
`;

/** Seconds and tokens of the native library; undefined without it. */
function native(file) {
  const { status, stdout } = spawnSync(process.env.PYTHON ?? 'python3', ['-c', kPython, file, join(data, kText), String(rounds)]);
  if (status !== 0) return undefined;
  const [seconds, tokens, version] = stdout.toString().trim().split(' ');
  return { seconds: Number(seconds), tokens: Number(tokens), version };
}

const rows = [];
for (const [model, name] of Object.entries(kModels)) {
  const folder = join(data, 'tokenizers', name);
  const json = JSON.parse(readFileSync(join(folder, 'tokenizer.json'), 'utf8'));
  const config = {
    ...(existsSync(join(folder, 'tokenizer_config.json')) &&
      JSON.parse(readFileSync(join(folder, 'tokenizer_config.json'), 'utf8'))),
  };
  const ours = await AutoTokenizer.from_pretrained(folder);
  const rival = new Tokenizer(json, config);
  const run = {
    wattn: () =>
      ours(lines, { return_tensor: false, return_token_type_ids: false }).input_ids.reduce((sum, ids) => sum + ids.length, 0),
    npm: () => lines.reduce((sum, line) => sum + rival.encode(line).ids.length, 0),
  };
  const best = { wattn: Infinity, npm: Infinity };
  const tokens = {};
  for (let round = 0; round < rounds; ++round) {
    for (const [who, encode] of Object.entries(run)) {
      const start = performance.now();
      tokens[who] = encode();
      best[who] = Math.min(best[who], (performance.now() - start) / 1000);
    }
  }
  const rust = native(join(folder, 'tokenizer.json'));
  const speed = (seconds) => (bytes / seconds / 1e6).toFixed(2);
  rows.push({
    model,
    wattn: speed(best.wattn),
    npm: speed(best.npm),
    native: rust ? speed(rust.seconds) : '',
    'to npm': (best.npm / best.wattn).toFixed(1),
    'to native': rust ? (rust.seconds / best.wattn).toFixed(2) : '',
    tokens: tokens.wattn,
    'tokens of npm': tokens.npm,
    'tokens of native': rust?.tokens ?? '',
    rivals: `${kRival}${rust ? ` tokenizers ${rust.version}` : ''}`,
  });
  ours.dispose();
}
console.table(rows);
writeRecord(
  'tokenizers',
  rows.map((row) => ({ ...row, host: `node ${process.version}` })),
);
