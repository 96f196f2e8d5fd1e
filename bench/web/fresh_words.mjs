// WordPiece, Unigram and SentencePiece's BPE on new texts, and on the same texts again. wattn/tokenizer runs against kitoken (WebAssembly) and
// @huggingface/tokenizers (JavaScript), from npm into build/rivals, and against the Rust libraries tokenizers, tokie and kitoken where Python
// (PYTHON=..) has them. Whole pieces of up to 250 kB, and their lines one by one. One thread; megabytes per second of processor time, medians over
// the pieces, in alternating runs. Reports how many pieces have ids that differ from wattn's.
//   [PIECES=8] node bench/web/fresh_words.mjs [WordPiece,Unigram,SentencePiece] [english,german,chinese,code]
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { importRival, installRivals, rivals } from '../../tools/lib/rivals.mjs';
import { writeRecord } from './lib/record.mjs';
import { data, needTexts, piecesOf } from './lib/texts.mjs';
import { AutoTokenizer } from '../../dist/tokenizer_entry_node.js';

/** Folders of ../shared/data/tokenizers. */
const kFolders = { WordPiece: 'all-MiniLM-L6-v2', Unigram: 'albert-base-v2-derived', SentencePiece: 'llama2-repaired' };
const [models = Object.keys(kFolders).join(), kinds = 'english,german,chinese,code'] = process.argv.slice(2);
const most = Number(process.env.PIECES ?? 8);

needTexts();
installRivals('kitoken@0.10.1', '@huggingface/tokenizers@0.2.0');
const { Kitoken } = await importRival('kitoken/node');
const { Tokenizer } = await importRival('@huggingface/tokenizers');

const median = (values) => values.toSorted((a, b) => a - b)[values.length >> 1];
const seconds = () => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
};
const linesOf = (text) => text.split('\n').filter((line) => line !== '');

const kPython = `
import json, sys, time
from statistics import median
path, pieces = sys.argv[1], json.load(open(sys.argv[2], encoding='utf-8'))
ways = {}
try:
    from tokenizers import Tokenizer
    hf = Tokenizer.from_file(path)
    hf.no_truncation(); hf.no_padding()
    ways['tokenizers'] = lambda text: hf.encode(text, add_special_tokens=False)
except ImportError: pass
try:
    import tokie
    tk = tokie.Tokenizer.from_json(path)
    ways['tokie'] = lambda text: tk.encode(text, add_special_tokens=False)
except ImportError: pass
try:
    import kitoken
    kt = kitoken.Kitoken.from_file(path)
    ways['kitoken'] = lambda text: kt.encode(text)
except ImportError: pass
def rate(way, texts, size):
    begin = time.process_time()
    for text in texts: way(text)
    return size / (time.process_time() - begin) / 1e6
out = {}
for name, way in ways.items():
    for i in range(3): way('The quick brown fox. ' * 2000)
    rates = [(rate(way, [p], len(p.encode())), rate(way, [p], len(p.encode()))) for p in pieces]
    out[name] = [median(r[0] for r in rates), median(r[1] for r in rates)]
print(json.dumps(out))
`;

/** Megabytes a second of the Rust libraries that Python has, fresh and again; nothing without Python. */
function native(file, pieces) {
  const texts = join(rivals, 'pieces.json');
  writeFileSync(texts, JSON.stringify(pieces));
  const env = { ...process.env, TOKENIZERS_PARALLELISM: 'false', RAYON_NUM_THREADS: '1' };
  const { status, stdout } = spawnSync(process.env.PYTHON ?? 'python3', ['-c', kPython, file, texts], { env });
  return status === 0 ? JSON.parse(stdout) : {};
}

const rows = [];
for (const model of models.split(',')) {
  const folder = join(data, 'tokenizers', kFolders[model]);
  const file = join(folder, 'tokenizer.json');
  // Without the files beside it, so that the entry's own WebAssembly reads it.
  const own = { 'tokenizer.json': readFileSync(file) };
  const settings = join(folder, 'tokenizer_config.json');
  const config = existsSync(settings) ? JSON.parse(readFileSync(settings, 'utf8')) : {};
  const wattn = await AutoTokenizer.from_pretrained(own);
  const rival = new Tokenizer(JSON.parse(readFileSync(file, 'utf8')), config);
  const kitoken = new Kitoken(readFileSync(file));
  const runs = {
    wattn: (text) => wattn.encode(text, { add_special_tokens: false }),
    kitoken: (text) => kitoken.encode(text, false),
    huggingface: (text) => rival.encode(text, { add_special_tokens: false }).ids,
  };
  const names = Object.keys(runs);
  const warm = 'The quick brown fox.\n汉字 é '.repeat(1000);
  for (let i = 0; i < 5; ++i) for (const run of Object.values(runs)) [warm, ...linesOf(warm)].forEach(run);
  for (const kind of kinds.split(',')) {
    const pieces = piecesOf(kind, most);
    const rates = {};
    const unequal = {};
    pieces.forEach((piece, i) => {
      const ids = {};
      // Every other piece in lines, so that both are fresh.
      const way = i % 2 ? 'lines' : 'whole';
      const texts = i % 2 ? linesOf(piece) : [piece];
      const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
      for (const each of [...names.slice(i % names.length), ...names.slice(0, i % names.length)]) {
        for (const when of ['fresh', 'again']) {
          const begin = seconds();
          const found = texts.map(runs[each]);
          (rates[`${way}, ${when}: ${each}`] ??= []).push(bytes / (seconds() - begin) / 1e6);
          ids[each] = found.map((list) => list.join()).join();
        }
      }
      for (const each of names) if (ids[each] !== ids.wattn) unequal[each] = (unequal[each] ?? 0) + 1;
    });
    const row = { model, text: kind, pieces: pieces.length };
    for (const way of ['whole', 'lines'])
      for (const when of ['fresh', 'again'])
        for (const each of names) {
          const key = `${way}, ${when}: ${each}`;
          row[key] = rates[key] ? median(rates[key]).toFixed(2) : '';
        }
    const found = native(file, pieces);
    for (const each of ['tokenizers', 'tokie', 'kitoken'])
      ['fresh', 'again'].forEach((when, i) => (row[`whole, ${when}: Rust ${each}`] = found[each]?.[i].toFixed(2) ?? ''));
    rows.push({ ...row, 'pieces with other ids than wattn': JSON.stringify(unequal) });
  }
  wattn.dispose();
}
console.table(rows);
writeRecord('fresh_words', rows);
