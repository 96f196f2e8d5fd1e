// Decoding new ids: wattn/tokenizer against hypertok (WebAssembly) and @huggingface/tokenizers (JavaScript), from npm into build/rivals. Whole
// pieces of up to 250 kB, their lines, and token by token, as in generation. (hypertok and @huggingface/tokenizers have no streams: they decode
// each id separately, which is wrong for characters of several tokens.) One thread, megabytes per second of processor time over all pieces, in
// alternating runs. Reports how many pieces have texts that differ from wattn's.
//   [PIECES=16] node bench/web/fresh_ids.mjs [gpt2,cl100k,o200k,WordPiece,Unigram,SentencePiece] [english,german,chinese,code]
import { copyFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { folderOfRival, importRival, installRivals, rivals } from '../../tools/lib/rivals.mjs';
import { writeRecord } from './lib/record.mjs';
import { data, needTexts, piecesOf } from './lib/texts.mjs';
import { AutoTokenizer } from '../../dist/tokenizer_entry_node.js';

/** Ranks of tiktoken, and folders of ../shared/data/tokenizers with the same ids. */
const kRanks = { gpt2: 'r50k_base', cl100k: 'cl100k_base', o200k: 'o200k_base' };
const kFolders = {
  gpt2: 'phi-2',
  WordPiece: 'all-MiniLM-L6-v2',
  Unigram: 'albert-base-v2-derived',
  SentencePiece: 'llama2-repaired',
};
const [vocabularies = 'gpt2,cl100k,o200k,WordPiece,Unigram,SentencePiece', kinds = 'english,german,chinese,code'] =
  process.argv.slice(2);
const most = Number(process.env.PIECES ?? 16);

needTexts();
const packs = Object.keys(kRanks).map((name) => `@hypertok/vocab-${name}@1.0.0`);
installRivals('hypertok@0.3.4', 'gpt-tokenizer@4.0.0', '@huggingface/tokenizers@0.2.0', ...packs);
const { fromBytes } = await importRival('hypertok');
const { Tokenizer } = await importRival('@huggingface/tokenizers');

const seconds = () => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
};
let kept = 0; // a letter of each text is read, as engines put off joining strings
const rows = [];
for (const vocabulary of vocabularies.split(',')) {
  const ranks = kRanks[vocabulary] && `${kRanks[vocabulary]}.tiktoken`;
  const folder = kFolders[vocabulary] && join(data, 'tokenizers', kFolders[vocabulary]);
  if (ranks) {
    mkdirSync(rivals, { recursive: true });
    copyFileSync(join(folderOfRival('gpt-tokenizer'), 'data', ranks), join(rivals, ranks));
  }
  const wattn = await AutoTokenizer.from_pretrained(ranks ? join(rivals, ranks) : folder);
  const decoders = { wattn: (ids) => wattn.decode(ids) };
  if (ranks) {
    const bytes = readFileSync(join(folderOfRival(`@hypertok/vocab-${vocabulary}`), 'vocab.htk'));
    const hypertok = await fromBytes(bytes, { tier: 'single' });
    decoders.hypertok = (ids) => hypertok.decode(ids);
  }
  if (folder) {
    const json = (file) => (existsSync(join(folder, file)) ? JSON.parse(readFileSync(join(folder, file), 'utf8')) : {});
    const rival = new Tokenizer(json('tokenizer.json'), { clean_up_tokenization_spaces: false, ...json('tokenizer_config.json') });
    decoders.huggingface = (ids) => rival.decode(ids);
  }
  const one = (id, decode) => (kept += decode([id]).length);
  const stream = wattn.decode_stream({ clean_up_tokenization_spaces: false });
  const ways = Object.fromEntries(
    Object.entries(decoders).map(([name, decode]) => [
      name,
      {
        whole: ({ ids }) => decode(ids),
        lines: ({ lines }) => lines.forEach((ids) => (kept += decode(ids).charCodeAt(0))),
        stream: ({ ids }) => ids.forEach(name === 'wattn' ? (id) => (kept += stream.push(id).length) : (id) => one(id, decode)),
      },
    ]),
  );
  const names = Object.keys(ways);
  const piece = (text) => ({
    ids: wattn.encode(text, { add_special_tokens: false }),
    lines: text
      .split('\n')
      .map((line) => wattn.encode(line, { add_special_tokens: false }))
      .filter((ids) => ids.length > 0),
  });
  const warm = piece('The quick brown fox.\n汉字 é '.repeat(2000));
  for (let i = 0; i < 10; ++i) for (const way of Object.values(ways)) for (const run of Object.values(way)) run(warm);
  for (const kind of kinds.split(',')) {
    const pieces = piecesOf(kind, most);
    const took = {};
    const unequal = {};
    let bytes = 0;
    pieces.forEach((text, i) => {
      const item = piece(text);
      bytes += Buffer.byteLength(text);
      const texts = {};
      for (const way of ['whole', 'lines', 'stream']) {
        for (const name of [...names.slice(i % names.length), ...names.slice(0, i % names.length)]) {
          const begin = seconds();
          const decoded = ways[name][way](item);
          if (way === 'whole') kept += decoded.charCodeAt(decoded.length >> 1);
          took[`${way}: ${name}`] = (took[`${way}: ${name}`] ?? 0) + seconds() - begin;
          if (way === 'whole') texts[name] = decoded;
        }
      }
      for (const name of names) if (texts[name] !== texts.wattn) unequal[name] = (unequal[name] ?? 0) + 1;
    });
    const row = { vocabulary, text: kind, pieces: pieces.length };
    for (const way of ['whole', 'lines', 'stream']) {
      for (const name of ['wattn', 'hypertok', 'huggingface']) {
        const time = took[`${way}: ${name}`];
        row[`${way}: ${name}`] = time ? (bytes / time / 1e6).toFixed(1) : '';
      }
    }
    rows.push({ ...row, 'pieces with other texts than wattn': JSON.stringify(unequal) });
  }
  wattn.dispose();
}
console.table(rows);
writeRecord('fresh_ids', rows);
process.exit(kept ? 0 : 1);
