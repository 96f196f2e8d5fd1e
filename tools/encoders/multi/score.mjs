// Scores a multilingual sentence encoder with wattn itself, in its default data type: question to paragraph on XQuAD, translation to English on Tatoeba, STS-B.
// Usage: node tools/encoders/multi/score.mjs --model FILE --name NAME --out models/multi/scores.json [--data ../shared/data] [--xquad de,en] [--tatoeba de] [--stsb]
// A score that the file has is not measured again. It takes an hour of one core; score.py has the same in float32, in a quarter of an hour.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { evaluate, pipeline } from '../../../dist/node.js';

const { values } = parseArgs({
  options: {
    model: { type: 'string' },
    name: { type: 'string' },
    out: { type: 'string' },
    data: { type: 'string', default: new URL('../../../../shared/data', import.meta.url).pathname },
    xquad: { type: 'string', default: 'en,zh,hi,ar,de,ru,tr,es' },
    tatoeba: { type: 'string', default: 'zh,ja,hi,ar,ko,tr,pl,ru,de,fr,es,it,pt,nl' },
    stsb: { type: 'boolean' },
    dtype: { type: 'string' },
  },
});
const kTatoeba = { zh: 'cmn', ja: 'jpn', hi: 'hin', ar: 'ara', ko: 'kor', tr: 'tur', pl: 'pol', ru: 'rus', de: 'deu', fr: 'fra', es: 'spa', it: 'ita', pt: 'por', nl: 'nld' }; // prettier-ignore
const lines = (path) => readFileSync(path, 'utf8').split(/\r?\n/).filter(Boolean);

const scores = existsSync(values.out) ? JSON.parse(readFileSync(values.out, 'utf8')) : {};
const own = (scores[values.name] ??= {});
const embed = await pipeline('feature-extraction', values.model, { threads: 1, ...(values.dtype && { dtype: values.dtype }) });

/** Unit vectors, in the order of the texts; those of like length run together. */
async function vectorsOf(texts, prompt) {
  const order = texts.map((_, i) => i).sort((a, b) => texts[a].length - texts[b].length);
  const rows = new Array(texts.length);
  for (let at = 0; at < order.length; at += 32) {
    const part = order.slice(at, at + 32);
    const { data } = await embed(part.map((i) => texts[i]), { prompt }); // prettier-ignore
    part.forEach((i, k) => (rows[i] = data.slice(k * 384, (k + 1) * 384)));
  }
  return rows;
}

const dot = (a, b) => a.reduce((sum, x, i) => sum + x * b[i], 0);

/** How many rows are nearer to the query than the right one. */
function rank(query, rows, right) {
  const least = dot(query, rows[right]);
  return rows.filter((row, i) => i !== right && dot(query, row) > least).length;
}

async function xquad(code) {
  const [contexts, questions, right] = [[], [], []];
  for (const { paragraphs } of JSON.parse(readFileSync(join(values.data, `qa/xquad/xquad.${code}.json`), 'utf8')).data)
    for (const { context, qas } of paragraphs) {
      for (const { question } of qas) [questions.push(question), right.push(contexts.length)];
      contexts.push(context);
    }
  const [rows, queries] = [await vectorsOf(contexts, 'passage: '), await vectorsOf(questions, 'query: ')];
  const gains = queries.map((query, i) => {
    const place = rank(query, rows, right[i]);
    return place < 10 ? 1 / Math.log2(place + 2) : 0;
  });
  return gains.reduce((sum, gain) => sum + gain, 0) / gains.length;
}

async function tatoeba(code) {
  const [from, to] = [code, 'eng'].map((side) => lines(join(values.data, `pairs/tatoeba/tatoeba.${code}-eng.${side}`)));
  const [queries, rows] = [await vectorsOf(from, 'query: '), await vectorsOf(to, 'query: ')];
  return queries.filter((query, i) => rank(query, rows, i) === 0).length / queries.length;
}

async function sts() {
  const rows = lines(join(values.data, 'pairs/stsb/sts-test.csv')).map((line) => line.split('\t'));
  const data = rows.map(([, , , , score, sentence1, sentence2]) => ({ sentence1, sentence2, score: Number(score) }));
  return (await evaluate(embed, 'sts', data)).spearman_cosine; // with the prompt that is the model's default
}

async function measure(measureName, call) {
  if (own[measureName] !== undefined) return;
  own[measureName] = Number((await call()).toFixed(4));
  const now = existsSync(values.out) ? JSON.parse(readFileSync(values.out, 'utf8')) : {};
  writeFileSync(values.out, `${JSON.stringify({ ...now, [values.name]: own }, null, 1)}\n`);
  console.log(values.name, measureName, own[measureName]);
}

const listed = (codes) => codes.split(',').filter(Boolean);
for (const code of listed(values.xquad)) await measure(`XQuAD ${code}, nDCG@10`, () => xquad(code));
for (const code of listed(values.tatoeba)) await measure(`Tatoeba ${code} to en, accuracy`, () => tatoeba(kTatoeba[code]));
if (values.stsb) await measure('STS-B test, Spearman', sts);
await embed.dispose();
