// Byte-level BPE on new texts, and on the same texts again: wattn/tokenizer against hypertok (WebAssembly) and gpt-tokenizer (JavaScript), from
// npm into build/rivals. One thread; megabytes per second of user time, medians over pieces of up to 250 kB, in alternating runs. Reports how many
// pieces have ids that differ from wattn's.
//   [PIECES=16] node bench/web/fresh_texts.mjs [gpt2,cl100k,o200k] [english,german,chinese,code]
import { mkdirSync, copyFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { folderOfRival, importRival, installRivals, rivals } from '../../tools/lib/rivals.mjs';
import { writeRecord } from './lib/record.mjs';
import { needTexts, piecesOf } from './lib/texts.mjs';
import { AutoTokenizer } from '../../dist/tokenizer_entry_node.js';

const kVocabularies = { gpt2: 'r50k_base', cl100k: 'cl100k_base', o200k: 'o200k_base' };
const [vocabularies = Object.keys(kVocabularies).join(), kinds = 'english,german,chinese,code'] = process.argv.slice(2);
const most = Number(process.env.PIECES ?? 16);

needTexts();
const packs = Object.keys(kVocabularies).map((name) => `@hypertok/vocab-${name}@1.0.0`);
installRivals('hypertok@0.3.4', 'gpt-tokenizer@4.0.0', ...packs);
const { fromBytes } = await importRival('hypertok');

const median = (values) => values.sort((a, b) => a - b)[values.length >> 1];
const seconds = () => process.cpuUsage().user / 1e6;
const rows = [];
for (const vocabulary of vocabularies.split(',')) {
  const name = `${kVocabularies[vocabulary]}.tiktoken`;
  const file = join(rivals, name);
  mkdirSync(rivals, { recursive: true });
  copyFileSync(join(folderOfRival('gpt-tokenizer'), 'data', name), file);
  const wattn = await AutoTokenizer.from_pretrained(file);
  const hypertok = await fromBytes(readFileSync(join(folderOfRival(`@hypertok/vocab-${vocabulary}`), 'vocab.htk')), {
    tier: 'single',
  });
  const plain = await importRival(`gpt-tokenizer/encoding/${kVocabularies[vocabulary]}`);
  const runs = {
    wattn: (text) => wattn.encode(text),
    hypertok: (text) => hypertok.encodeSync(text),
    'gpt-tokenizer': (text) => plain.encode(text),
  };
  const names = Object.keys(runs);
  const warm = 'The quick brown fox. 汉字 é '.repeat(2000);
  for (let i = 0; i < 10; ++i) for (const run of Object.values(runs)) run(warm);
  for (const kind of kinds.split(',')) {
    const pieces = piecesOf(kind, most).filter((piece) => !piece.includes('<|')); // special tokens, which gpt-tokenizer refuses
    const rates = Object.fromEntries(names.map((each) => [each, { fresh: [], again: [] }]));
    const unequal = {};
    pieces.forEach((piece, i) => {
      const bytes = Buffer.byteLength(piece);
      const ids = {};
      for (const each of [...names.slice(i % names.length), ...names.slice(0, i % names.length)]) {
        let begin = seconds();
        ids[each] = runs[each](piece);
        rates[each].fresh.push(bytes / (seconds() - begin) / 1e6);
        begin = seconds();
        for (let round = 0; round < 3; ++round) runs[each](piece);
        rates[each].again.push((3 * bytes) / (seconds() - begin) / 1e6);
      }
      const differs = (each) => ids[each].length !== ids.wattn.length || !ids.wattn.every((id, k) => id === ids[each][k]);
      for (const each of names) if (differs(each)) unequal[each] = (unequal[each] ?? 0) + 1;
    });
    const row = { vocabulary, text: kind, pieces: pieces.length };
    for (const when of ['fresh', 'again']) for (const each of names) row[`${each}, ${when}`] = median(rates[each][when]).toFixed(1);
    rows.push({ ...row, 'pieces with other ids than wattn': JSON.stringify(unequal) });
  }
}
console.table(rows);
writeRecord('fresh_texts', rows);
