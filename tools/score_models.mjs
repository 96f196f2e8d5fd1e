// Scores sentence encoders on public data sets with wattn itself, and writes the figures of the model cards.
// Usage: node tools/score_models.mjs --out scores.json [--data ../shared/data] NAME=MODEL[:DTYPE]..   MODEL: default, a folder, a .gguf file
// Needs dist/ (npm run build) and the folder of data sets: pairs/, retrieval/, qa/, classification/. --beir FOLDER adds a test collection of your own.
// --only names,reranking: these parts alone (kParts below); other figures of the file stay. --sets 'STS-B|MED': sets whose names have such a part.
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { parseArgs } from 'node:util';
import { AutoModel, AutoTokenizer, cos_sim, evaluate, Index, pipeline, semantic_search } from '../dist/node.js';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    out: { type: 'string' },
    data: { type: 'string', default: new URL('../../shared/data', import.meta.url).pathname },
    beir: { type: 'string', multiple: true, default: [] },
    only: { type: 'string' },
    sets: { type: 'string', default: '' },
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

/** Rows of SST-2 of GLUE's phrases: { text, label: '1' or '0' }. */
const sst2 = (data, file) =>
  lines(join(data, 'classification', file))
    .filter((line) => line !== 'sentence\tlabel')
    .map((line) => line.split('\t'))
    .map(([text, label]) => ({ text: text.trim(), label }));

/** { train, test, names: what a label is called } of each set. */
function labelledSets(data) {
  const hwu = (name, separator) =>
    lines(join(data, 'classification/hwu64', name)).map((line) => {
      const at = line.lastIndexOf(separator);
      return { text: line.slice(0, at).replace(/^"|"$/g, ''), label: line.slice(at + 1) };
    });
  const trec = (name) => lines(join(data, 'classification/trec', name)).map((line) => ({ text: line.slice(2), label: line[0] }));
  const snips = (part, ending) => {
    const folder = join(data, 'classification/snips');
    const files = readdirSync(folder).filter((name) => name.startsWith(part) && name.endsWith(ending));
    return files.sort().flatMap((name) =>
      Object.entries(JSON.parse(new TextDecoder('windows-1252').decode(readFileSync(join(folder, name))))).flatMap(
        ([label, rows]) => rows.map(({ data: pieces }) => ({ text: pieces.map(({ text }) => text).join('').trim(), label })),
      ),
    ); // prettier-ignore
  };
  const kinds = ['description', 'thing', 'abbreviation', 'person', 'place', 'number'];
  const [train, test] = [hwu('kfold1.train.csv', ','), hwu('kfold1.test.tsv', '\t')];
  const domain = (rows) => rows.map(({ text, label }) => ({ text, label: label.split('_')[0] }));
  return {
    HWU64: { train, test, names: (label) => label.replaceAll('_', ' ') },
    'HWU64 domains': { train: domain(train), test: domain(test), names: (label) => label },
    SNIPS: {
      train: snips('train_', '_full.json'),
      test: snips('validate_', '.json'),
      names: (label) => label.replace(/\B[A-Z]/g, ' $&').toLowerCase(),
    },
    TREC: { train: trec('TREC.train.all'), test: trec('TREC.test.all'), names: (label) => kinds[label] },
    'SST-2 dev': {
      train: sst2(data, 'sst2-glue-alps/train.tsv'),
      test: sst2(data, 'sst2-glue-alps/test.tsv'),
      names: (label) => (label === '1' ? 'positive' : 'negative'),
    },
  };
}

const rowsOf = async (read, texts) => (await read(texts, { normalize: true })).tolist();

/** The share of texts that are nearest to their own label of all: the label's name in `template`. */
async function byNames(embed, { test, names }, template) {
  const labels = [...new Set(test.map(({ label }) => label))].sort();
  const vectors = await rowsOf(embed, labels.map((label) => template.replace('{}', names(label)))); // prettier-ignore
  const texts = await rowsOf(embed, test.map(({ text }) => text)); // prettier-ignore
  const nearest = texts.map((text) => labels[semantic_search([text], vectors, { top_k: 1 })[0][0].corpus_id]);
  return nearest.filter((label, i) => label === test[i].label).length / test.length;
}

/** The share of right labels on SST-2 of a model with a sentiment head, where NEUTRAL is wrong, and of questions that it calls NEUTRAL. */
async function sentimentOf(model, data) {
  const classify = await pipeline('sentiment-analysis', model);
  const share = async (rows, wanted) => {
    const found = await classify(rows);
    return found.filter(({ label }, i) => label === wanted(i)).length / rows.length;
  };
  const out = {};
  for (const [name, file] of [
    ['dev', 'sst2-glue-alps/test.tsv'],
    ['test', 'sst2-sentences/test.tsv'],
  ]) {
    const rows = sst2(data, file);
    out[`SST-2 ${name}, accuracy`] = await share(rows.map(({ text }) => text), (i) => (rows[i].label === '1' ? 'POSITIVE' : 'NEGATIVE')); // prettier-ignore
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

/** nDCG@10 of rank(query), which gives ids. */
async function ndcgOf({ queries, relevant }, rank) {
  let [sum, count] = [0, 0];
  for (const { id, text } of queries) {
    const wanted = new Set(relevant[id] ?? []);
    if (wanted.size === 0) continue;
    const ids = await rank(text);
    const gain = ids.slice(0, 10).reduce((all, found, place) => all + (wanted.has(found) ? 1 / Math.log2(place + 2) : 0), 0);
    const best = Array.from({ length: Math.min(10, wanted.size) }, (_, place) => 1 / Math.log2(place + 2)).reduce((a, b) => a + b);
    sum += gain / best;
    ++count;
  }
  return sum / count;
}

async function indexOf({ corpus }, options = {}) {
  const index = await Index.open('set', { store: 'memory', chunk: false, ...options });
  await index.add(corpus.filter(({ title, text }) => (title ?? '') + text !== ''));
  return index;
}

async function wordsAlone(set) {
  const index = await indexOf(set);
  const found = await ndcgOf(set, async (text) => (await index.search(text, { top_k: 10 })).map(({ id }) => id));
  await index.dispose();
  return found;
}

/** The best 50 by BM25 in the order of their cosines, and both scores joined as `Index` does. */
async function reranked(embed, set) {
  const index = await indexOf(set, { embed, precision: 'float32' });
  const documents = new Map([...index.chunks()].map(({ id, vector }) => [id, vector]));
  const texts = set.queries.map(({ text }) => text);
  const asked = await rowsOf(embed.encode_query, texts);
  const of = new Map(texts.map((text, i) => [text, asked[i]]));
  const byCosine = await ndcgOf(set, async (text) => {
    const hits = await index.search(text, { mode: 'words', top_k: 50 });
    const scored = hits.map(({ id }) => [id, cos_sim(of.get(text), documents.get(id))]);
    return scored.sort((a, b) => b[1] - a[1]).map(([id]) => id);
  });
  const joined = await ndcgOf(set, async (text) => (await index.search(text, { top_k: 10 })).map(({ id }) => id));
  await index.dispose();
  return [byCosine, joined];
}

const { data } = values;
const asked = (sets) => Object.entries(sets).filter(([name]) => new RegExp(values.sets).test(name));
const collections = Object.fromEntries(
  asked({
    ...Object.fromEntries(['cisi', 'med'].map((name) => [name.toUpperCase(), readBeir(join(data, 'retrieval', name))])),
    'XQuAD English': readXquad(data),
    ...Object.fromEntries(values.beir.map((folder) => [basename(folder), readBeir(folder)])),
  }),
);
const scores = values.out && existsSync(values.out) ? JSON.parse(readFileSync(values.out, 'utf8')) : {};
const round = (value) => Number(value.toFixed(4));
const report = (who, what, value) => {
  (scores[who] ??= {})[what] = round(value);
  console.log(`${who}: ${what} ${round(value)}`);
};

/** What is measured of a model, by the names that --only takes. */
const kParts = {
  async sts(embed, tell) {
    for (const [name, pairs] of asked(sentenceSets(data)))
      tell(`${name}, Spearman`, (await evaluate(embed, 'sts', pairs)).spearman_cosine);
  },
  async retrieval(embed, tell) {
    for (const [name, set] of Object.entries(collections))
      tell(`${name}, nDCG@10`, (await evaluate(embed, 'retrieval', set))['cosine_ndcg@10']);
  },
  async few(embed, tell) {
    for (const [name, { train, test }] of asked(labelledSets(data))) {
      const found = [];
      for (const seed of [1, 2, 3]) {
        found.push(
          (await evaluate(embed, 'classification', test, { train: fewOf(train, 8, seed), classifier: { C: 10 } })).accuracy,
        );
      }
      tell(`${name}, 8 a label, accuracy`, found.reduce((a, b) => a + b) / found.length);
    }
  },
  async sentiment(_, tell, { given, model }) {
    if (given === 'default') for (const [what, share] of Object.entries(await sentimentOf(model, data))) tell(what, share);
  },
  async finesse(embed, tell) {
    for (const [kind, share] of Object.entries(await finesseOf(embed))) tell(`${kind}: nearer to the paraphrase, of six`, share);
  },
  async context(_, tell, { model, dtype }) {
    for (const [word, cosine] of Object.entries(await contextOf(model, dtype))) tell(`"${word}" in two senses, cosine`, cosine);
  },
  async names(embed, tell) {
    for (const [name, set] of asked(labelledSets(data))) {
      tell(`${name}, by name, accuracy`, await byNames(embed, set, '{}'));
      tell(`${name}, by name in "This text is about {}.", accuracy`, await byNames(embed, set, 'This text is about {}.'));
    }
  },
  async reranking(embed, tell) {
    for (const [name, set] of Object.entries(collections)) {
      const [byCosine, joined] = await reranked(embed, set);
      tell(`${name}, best 50 by BM25 reranked, nDCG@10`, byCosine);
      tell(`${name}, joined with BM25, nDCG@10`, joined);
    }
  },
};

if (positionals.length === 0)
  for (const [name, set] of Object.entries(collections)) report('BM25', `${name}, nDCG@10`, await wordsAlone(set));
for (const position of positionals) {
  const [, who, given, dtype = 'q8'] = /^([^=]+)=(.*?)(?::(f32|q8|q16|q4))?$/.exec(position);
  const model = given === 'default' ? undefined : given;
  const embed = await pipeline('feature-extraction', model, { dtype });
  for (const part of values.only?.split(',') ?? Object.keys(kParts)) {
    await kParts[part](embed, (what, value) => report(who, what, value), { given, model, dtype });
    if (values.out) writeFileSync(values.out, `${JSON.stringify(scores, null, 2)}\n`);
  }
  await embed.dispose();
}
if (values.out) writeFileSync(values.out, `${JSON.stringify(scores, null, 2)}\n`);
