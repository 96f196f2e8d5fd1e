// Quality of Index: nDCG@10 of keyword, semantic and hybrid search on test collections in BEIR's layout (corpus.jsonl, queries.jsonl, qrels.tsv or
// qrels/test.tsv). With SHORT=true, how often the first hit is right on short texts: pairs of sentences that mean the same.
// Usage: node bench/web/search_quality.mjs [FOLDER..]; default: CISI, MED and XQuAD in ../shared/data. MODEL=default,./folder: which models. CHUNK=false: texts whole.
// DTYPE, PRECISION: of weights and vectors (q8, int8). STEMS: the index's language (en); by default words are compared as written.
import { basename, join } from 'node:path';
import { Index, pipeline } from '../../dist/node.js';
import { lines, ndcg, readBeir, readXquad } from './lib/collections.mjs';

const data = new URL('../../../shared/data/', import.meta.url).pathname;

/** Second sentences of pairs as questions for the first ones. */
function fromPairs(pairs) {
  const documents = new Map();
  const queries = [];
  const judged = new Map();
  for (const [text, query] of pairs.slice(0, 700)) {
    if (!documents.has(text)) documents.set(text, { id: String(documents.size), text });
    const _id = String(queries.length);
    queries.push({ _id, text: query });
    judged.set(_id, new Map([[documents.get(text).id, 1]]));
  }
  return { documents: [...documents.values()], queries, judged, short: true };
}
const cells = (file) => lines(join(data, 'pairs', file)).map((line) => line.split('\t'));
const snli = (part) => cells(`snli/${part}.txt`).flatMap(([a, b, label]) => (label === '0' ? [[a, b]] : []));
const sts = (part) => cells(`stsb/sts-${part}.csv`).flatMap((row) => (Number(row[4]) >= 4 ? [[row[5], row[6]]] : []));

const kWays = [
  ['words', { mode: 'words' }],
  ['meaning', { mode: 'meaning' }],
  ['both', {}],
  ['minmax', { fusion: 'minmax' }],
  ['zscore', { fusion: 'zscore' }],
  ['rrf', { fusion: 'rrf' }],
];

const folders = process.argv.slice(2);
const sets = folders.length
  ? folders.map((folder) => [basename(folder), readBeir(folder)])
  : process.env.SHORT
    ? [
        ...['dev', 'test'].map((part) => [`snli.${part}`, fromPairs(snli(part))]),
        ...['dev', 'test'].map((part) => [`stsb.${part}`, fromPairs(sts(part))]),
      ]
    : [
        ...['cisi', 'med'].map((name) => [name, readBeir(join(data, 'retrieval', name))]),
        ...(process.env.LANGUAGES ?? 'en').split(',').map((language) => [`xquad.${language}`, readXquad(data, language)]),
      ];
const precisions = (process.env.PRECISION ?? 'int8').split(',');

for (const model of (process.env.MODEL ?? 'default').split(',')) {
  const embed = await pipeline('feature-extraction', model === 'default' ? undefined : model, { dtype: process.env.DTYPE ?? 'q8' });
  for (const [name, { documents, queries, judged, short }] of sets) {
    for (const precision of precisions) {
      const index = await Index.open(name, {
        embed,
        store: 'memory',
        precision,
        ...(process.env.CHUNK === 'false' && { chunk: false }),
        ...(process.env.STEMS && { language: process.env.STEMS }),
      });
      await index.add(documents);
      const figures = [];
      for (const [way, options] of kWays) {
        let sum = 0;
        for (const { _id, text } of queries) {
          const hits = await index.search(text, { top_k: short ? 1 : 10, ...options });
          sum += ndcg(
            hits.map(({ id }) => id),
            judged.get(_id),
          );
        }
        figures.push(`${way} ${(sum / queries.length).toFixed(3)}`);
      }
      console.log(`${basename(model)}, ${name}, ${precision}: ${figures.join(', ')}`);
      await index.dispose();
    }
  }
  await embed.dispose();
}
