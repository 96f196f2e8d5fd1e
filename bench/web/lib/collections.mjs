// Test collections, and the score of a ranking on them.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export const lines = (file) => readFileSync(file, 'utf8').split('\n').filter(Boolean);

/** { documents, queries, judged: query id -> document id -> grade } */
export function readBeir(folder) {
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
export function readXquad(data, language) {
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

/** With gains as they are judged, as pytrec_eval has it. */
export function ndcg(ids, grades) {
  const discounted = (gains) => gains.slice(0, 10).reduce((sum, gain, i) => sum + gain / Math.log2(i + 2), 0);
  const best = discounted([...grades.values()].sort((a, b) => b - a));
  return discounted(ids.map((id) => grades.get(id) ?? 0)) / best;
}
