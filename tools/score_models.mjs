// Scores sentence encoders on public data sets with wattn itself, and writes the figures of the model cards.
// Usage: node tools/score_models.mjs --out scores.json [--data ../shared/data] NAME=MODEL[:DTYPE]..   MODEL: default, a folder, a .gguf file
// Needs dist/ (npm run build) and the folder of data sets: pairs/, retrieval/, qa/, classification/. --beir FOLDER adds a test collection of your own.
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { parseArgs } from 'node:util';
import { AutoModel, AutoTokenizer, cos_sim, evaluate, Index, pipeline } from '../dist/node.js';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    out: { type: 'string' },
    data: { type: 'string', default: new URL('../../shared/data', import.meta.url).pathname },
    beir: { type: 'string', multiple: true, default: [] },
  },
});
const lines = (path) => readFileSync(path, 'utf8').split(/\r?\n/).filter(Boolean);
const json = (path) => lines(path).map((line) => JSON.parse(line));

/** { name: pairs } */
function sentenceSets(data) {
  const sets = {};
  for (const part of ['dev', 'test']) {
    sets[`STS-B ${part}`] = lines(join(data, `pairs/stsb/sts-${part}.csv`)).map((line) => {
      const [, , , , score, sentence1, sentence2] = line.split('\t');
      return { sentence1, sentence2, score: Number(score) };
    });
  }
  for (const year of readdirSync(join(data, 'pairs/sts2012-16')).sort()) {
    const folder = join(data, 'pairs/sts2012-16', year);
    const files = readdirSync(folder, { recursive: true }).filter((name) => name.endsWith('.test.tsv'));
    if (files.length === 0) continue;
    const rows = files.flatMap((name) => lines(join(folder, name)).map((line) => line.split('\t')));
    sets[`STS ${year}`] = rows
      .filter(([score]) => score !== '')
      .map(([score, sentence1, sentence2]) => ({ sentence1, sentence2, score: Number(score) }));
  }
  return sets;
}

function readBeir(folder) {
  const file = ['qrels.tsv', 'qrels/test.tsv'].map((name) => join(folder, name)).find(existsSync);
  const relevant = {};
  for (const line of lines(file)) {
    const [query, document, grade] = line.split('\t');
    if (Number(grade) > 0) (relevant[query] ??= []).push(document);
  }
  const corpus = json(join(folder, 'corpus.jsonl')).map(({ _id, title, text }) => ({ id: _id, title, text }));
  return { corpus, queries: json(join(folder, 'queries.jsonl')).map(({ _id, text }) => ({ id: _id, text })), relevant };
}

function readXquad(data) {
  const set = { corpus: [], queries: [], relevant: {} };
  for (const { paragraphs } of JSON.parse(readFileSync(join(data, 'qa/xquad/xquad.en.json'), 'utf8')).data) {
    for (const { context, qas } of paragraphs) {
      const id = String(set.corpus.length);
      set.corpus.push({ id, text: context });
      for (const { id: query, question } of qas) {
        set.queries.push({ id: query, text: question });
        set.relevant[query] = [id];
      }
    }
  }
  return set;
}

/** The first `count` rows of each label, of rows shuffled by a seed. */
function fewOf(rows, count, seed) {
  let state = seed;
  const random = () => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0) / 2 ** 32;
  const shuffled = rows.map((row) => [random(), row]).sort((a, b) => a[0] - b[0]);
  const taken = new Map();
  return shuffled.map(([, row]) => row).filter(({ label }) => {
    taken.set(label, (taken.get(label) ?? 0) + 1);
    return taken.get(label) <= count;
  }); // prettier-ignore
}

function intentSets(data) {
  const hwu = (name, separator) =>
    lines(join(data, 'classification/hwu64', name)).map((line) => {
      const at = line.lastIndexOf(separator);
      return { text: line.slice(0, at).replace(/^"|"$/g, ''), label: line.slice(at + 1) };
    });
  const trec = (name) => lines(join(data, 'classification/trec', name)).map((line) => ({ text: line.slice(2), label: line[0] }));
  return {
    'HWU64, 8 a label': { train: hwu('kfold1.train.csv', ','), test: hwu('kfold1.test.tsv', '\t') },
    'TREC, 8 a label': { train: trec('TREC.train.all'), test: trec('TREC.test.all') },
  };
}

/** Of a model with a sentiment head: the share of right labels on SST-2, where NEUTRAL is wrong, and of questions that it calls NEUTRAL. */
async function sentimentOf(model, data) {
  const classify = await pipeline('sentiment-analysis', model);
  const share = async (rows, wanted) => {
    const found = await classify(rows);
    return found.filter(({ label }, i) => label === wanted(i)).length / rows.length;
  };
  const out = {};
  for (const [name, file] of [
    ['dev', 'sst2-glue-alps'],
    ['test', 'sst2-sentences'],
  ]) {
    const rows = lines(join(data, 'classification', file, 'test.tsv')).filter((line) => line !== 'sentence\tlabel');
    const [texts, labels] = [0, 1].map((column) => rows.map((line) => line.split('\t')[column].trim()));
    out[`SST-2 ${name}, accuracy`] = await share(texts, (i) => (labels[i] === '1' ? 'POSITIVE' : 'NEGATIVE'));
  }
  const questions = lines(join(data, 'classification/trec/TREC.test.all')).map((line) => line.slice(line.indexOf(' ') + 1));
  out['TREC test, questions called NEUTRAL'] = await share(questions, () => 'NEUTRAL');
  await classify.dispose();
  return out;
}

/** Cosine of the vectors of one word in two sentences, at the last layer: 1 if the context changes nothing. */
async function contextOf(model, dtype) {
  const [encoder, tokenizer] = await Promise.all([
    AutoModel.from_pretrained(model, { dtype }),
    AutoTokenizer.from_pretrained(model),
  ]);
  const pairs = [
    ['bank', 'I put my money in the bank.', 'We sat on the bank of the river.'],
    ['bat', 'The bat flew out of the cave at night.', 'He swung the bat and hit the ball.'],
    ['spring', 'Flowers bloom in spring.', 'The spring in the old mattress was broken.'],
    ['light', 'Turn on the light.', 'The box is very light.'],
  ];
  const cosines = {};
  for (const [word, ...sentences] of pairs) {
    const rows = [];
    for (const sentence of sentences) {
      const input = tokenizer(sentence);
      const place = tokenizer.convert_ids_to_tokens([...input.input_ids.data].map(Number)).indexOf(word);
      const { last_hidden_state } = await encoder(input);
      const width = last_hidden_state.dims[2];
      rows.push(last_hidden_state.data.slice(place * width, (place + 1) * width));
    }
    cosines[word] = cos_sim(...rows);
  }
  await encoder.dispose();
  return cosines;
}

/** The share of pairs in which a sentence is nearer to its paraphrase than to one that says something else in nearly the same words. */
async function finesseOf(embed) {
  const kinds = {
    negation: [
      ['The food was good.', 'The meal was tasty.', 'The food was not good.'],
      ['He has paid the bill.', 'The bill was settled by him.', 'He has not paid the bill.'],
      ['The store is open today.', 'You can shop there today.', 'The store is not open today.'],
      ['She likes her new job.', 'Her new work pleases her.', 'She does not like her new job.'],
      ['The drug is safe for children.', 'Children can take the medicine without risk.', 'The drug is not safe for children.'],
      ['I understood the question.', 'The question was clear to me.', 'I did not understand the question.'],
    ],
    order: [
      ['The dog bit the man.', 'A man was bitten by a dog.', 'The man bit the dog.'],
      ['Anna paid Peter.', 'Peter got money from Anna.', 'Peter paid Anna.'],
      ['The police chased the thief.', 'The thief ran from the police.', 'The thief chased the police.'],
      ['France beat Brazil.', 'Brazil lost to France.', 'Brazil beat France.'],
      ['The teacher asked the student a question.', 'The student was questioned by the teacher.', 'The student asked the teacher a question.'],
      ['The train from Rome to Paris is late.', 'The Paris-bound train from Rome is delayed.', 'The train from Paris to Rome is late.'],
    ],
  }; // prettier-ignore
  const out = {};
  for (const [kind, triples] of Object.entries(kinds)) {
    const rows = (await embed(triples.flat(), { normalize: true })).tolist();
    const nearer = triples.filter((_, i) => cos_sim(rows[3 * i], rows[3 * i + 1]) > cos_sim(rows[3 * i], rows[3 * i + 2]));
    out[kind] = nearer.length / triples.length;
  }
  return out;
}

async function wordsAlone({ corpus, queries, relevant }) {
  const index = await Index.open('words', { store: 'memory', chunk: false });
  await index.add(corpus.filter(({ title, text }) => (title ?? '') + text !== ''));
  let [sum, count] = [0, 0];
  for (const { id, text } of queries) {
    const wanted = new Set(relevant[id] ?? []);
    if (wanted.size === 0) continue;
    const hits = await index.search(text, { top_k: 10 });
    const gain = hits.reduce((all, hit, place) => all + (wanted.has(hit.id) ? 1 / Math.log2(place + 2) : 0), 0);
    const best = Array.from({ length: Math.min(10, wanted.size) }, (_, place) => 1 / Math.log2(place + 2)).reduce((a, b) => a + b);
    sum += gain / best;
    ++count;
  }
  await index.dispose();
  return sum / count;
}

const { data } = values;
const collections = {
  ...Object.fromEntries(['cisi', 'med'].map((name) => [name.toUpperCase(), readBeir(join(data, 'retrieval', name))])),
  'XQuAD English': readXquad(data),
  ...Object.fromEntries(values.beir.map((folder) => [basename(folder), readBeir(folder)])),
};
const scores = values.out && existsSync(values.out) ? JSON.parse(readFileSync(values.out, 'utf8')) : {};
const round = (value) => Number(value.toFixed(4));
const report = (who, what, value) => {
  (scores[who] ??= {})[what] = round(value);
  console.log(`${who}: ${what} ${round(value)}`);
};

if (positionals.length === 0)
  for (const [name, set] of Object.entries(collections)) report('BM25', `${name}, nDCG@10`, await wordsAlone(set));
for (const position of positionals) {
  const [, who, given, dtype = 'q8'] = /^([^=]+)=(.*?)(?::(f32|q8|q16|q4))?$/.exec(position);
  const model = given === 'default' ? undefined : given;
  const embed = await pipeline('feature-extraction', model, { dtype });
  for (const [name, pairs] of Object.entries(sentenceSets(data))) {
    report(who, `${name}, Spearman`, (await evaluate(embed, 'sts', pairs)).spearman_cosine);
  }
  for (const [name, set] of Object.entries(collections)) {
    report(who, `${name}, nDCG@10`, (await evaluate(embed, 'retrieval', set))['cosine_ndcg@10']);
  }
  for (const [name, { train, test }] of Object.entries(intentSets(data))) {
    const found = [];
    for (const seed of [1, 2, 3]) {
      found.push((await evaluate(embed, 'classification', test, { train: fewOf(train, 8, seed), classifier: { C: 10 } })).accuracy);
    }
    report(who, `${name}, accuracy`, found.reduce((a, b) => a + b) / found.length);
  }
  if (given === 'default') for (const [what, share] of Object.entries(await sentimentOf(model, data))) report(who, what, share);
  for (const [kind, share] of Object.entries(await finesseOf(embed)))
    report(who, `${kind}: nearer to the paraphrase, of six`, share);
  for (const [word, cosine] of Object.entries(await contextOf(model, dtype)))
    report(who, `"${word}" in two senses, cosine`, cosine);
  await embed.dispose();
  if (values.out) writeFileSync(values.out, `${JSON.stringify(scores, null, 1)}\n`);
}
if (values.out) writeFileSync(values.out, `${JSON.stringify(scores, null, 1)}\n`);
