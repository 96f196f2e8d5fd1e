// How good is Index? nDCG@10 of words, meaning and both on test collections in BEIR's layout (corpus.jsonl, queries.jsonl, qrels.tsv or qrels/test.tsv), and
// with SHORT=true how often the first hit is right on short texts: pairs of sentences that mean the same.
// Usage: node bench/web/search_quality.mjs [FOLDER..]; default: CISI, MED and XQuAD in ../shared/data. MODEL=default,./folder: which models. CHUNK=false: texts whole.
// DTYPE, PRECISION: of weights and vectors (q8, int8).
import { existsSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { Index, pipeline } from '../../dist/node.js';

const data = new URL('../../../shared/data/', import.meta.url).pathname;

const lines = (file) => readFileSync(file, 'utf8').split('\n').filter(Boolean);

/** { documents, queries, judged: query id -> document id -> grade } */
function readBeir(folder) {
  const json = (name) => lines(join(folder, name)).map((line) => JSON.parse(line));
  const qrels = ['qrels.tsv', 'qrels/test.tsv'].map((name) => join(folder, name)).find(existsSync);
  const judged = new Map();
  for (const line of lines(qrels)) {
    const [query, document, grade] = line.split('\t');
    if (!(Number(grade) > 0)) continue;
    if (!judged.has(query)) judged.set(query, new Map());
    judged.get(query).set(document, Number(grade));
  }
  const documents = json('corpus.jsonl')
    .filter(({ text, title }) => (text || title || '').trim() !== '')
    .map(({ _id, title, text }) => (text?.trim() ? { id: _id, text, ...(title && { title }) } : { id: _id, text: title }));
  return { documents, queries: json('queries.jsonl').filter(({ _id }) => judged.has(_id)), judged };
}

/** XQuAD as retrieval: the paragraph of each question. */
function readXquad(language) {
  const documents = [];
  const queries = [];
  const judged = new Map();
  for (const { paragraphs } of JSON.parse(readFileSync(join(data, `qa/xquad/xquad.${language}.json`), 'utf8')).data) {
    for (const { context, qas } of paragraphs) {
      const id = String(documents.length);
      documents.push({ id, text: context });
      for (const { id: _id, question } of qas) {
        queries.push({ _id, text: question });
        judged.set(_id, new Map([[id, 1]]));
      }
    }
  }
  return { documents, queries, judged };
}

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

/** With gains as they are judged, as pytrec_eval has it. */
function ndcg(ids, grades) {
  const discounted = (gains) => gains.slice(0, 10).reduce((sum, gain, i) => sum + gain / Math.log2(i + 2), 0);
  const best = discounted([...grades.values()].sort((a, b) => b - a));
  return discounted(ids.map((id) => grades.get(id) ?? 0)) / best;
}

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
        ...(process.env.LANGUAGES ?? 'en').split(',').map((language) => [`xquad.${language}`, readXquad(language)]),
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
