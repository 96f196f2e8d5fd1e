// Accuracy and speed of Classifier on labelled sets, on MiniLM's embeddings: TREC with 16, 64 and 256 examples per label against scikit-learn's
// LogisticRegression (tests/goldens/classifier), and 1,024 examples of HWU64's 64 labels. `node bench/web/classifier.mjs [MINILM_FOLDER
// [DATA_FOLDER]]`
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Classifier, pipeline, Tensor } from '../../dist/node.js';

const root = fileURLToPath(new URL('../../', import.meta.url));
const [minilm = join(root, '.models/all-MiniLM-L6-v2'), data = join(root, '../shared/data/classification')] = process.argv.slice(2);
const { trec_accuracy } = JSON.parse(readFileSync(join(root, 'tests/goldens/classifier/cases.json'), 'utf8'));

const lines = (file, encoding = 'utf8') => readFileSync(join(data, file), encoding).trimEnd().split('\n');
const trec = (name, file = `trec/${name}`) =>
  lines(file, 'latin1').map((line) => ({ label: line.slice(0, line.indexOf(' ')), text: line.slice(line.indexOf(' ') + 1) }));
const hwu = lines('hwu64/kfold1.train.csv').map((line) => ({
  label: line.slice(line.lastIndexOf(',') + 1).trim(),
  text: line.slice(0, line.lastIndexOf(',')),
}));

/** The first so many of each label. */
function firstOf(examples, per) {
  const seen = new Map();
  return examples.filter(({ label }) => {
    seen.set(label, (seen.get(label) ?? 0) + 1);
    return seen.get(label) <= per;
  });
}

const embed = await pipeline('feature-extraction', minilm, { threads: 1 });
const vectorsOf = (examples) => embed(examples.map(({ text }) => text));
const labelsOf = (examples) => examples.map(({ label }) => label);

async function fit(name, vectors, labels, options, extra = '') {
  const start = performance.now();
  const { report } = await Classifier.fit(embed, vectors, labels, options);
  const ms = Math.round(performance.now() - start);
  console.log(`${name}: ${labels.length} examples, ${ms} ms${report ? `, accuracy ${report.accuracy.toFixed(4)}` : ''}${extra}`);
}

const all = firstOf(trec('TREC.train.all'), 256);
const held = trec('TREC.test.all');
const vectors = await vectorsOf(all);
const validation = { texts: await vectorsOf(held), labels: labelsOf(held) };
for (const [per, accuracy] of Object.entries(trec_accuracy)) {
  const some = firstOf(all, Number(per));
  const rows = some.flatMap((one) => [...vectors.get(all.indexOf(one)).data]);
  const chosen = new Tensor('float32', rows, [some.length, vectors.dims[1]]);
  await fit(`TREC, ${per} a label, logistic`, chosen, labelsOf(some), { C: 1, validation }, `, scikit-learn ${accuracy}`);
  await fit(`TREC, ${per} a label, mlp`, chosen, labelsOf(some), { validation, kind: 'mlp' });
}
const intents = firstOf(hwu, 16);
const intentVectors = await vectorsOf(intents);
await fit('HWU64, 16 a label, logistic', intentVectors, labelsOf(intents), {});
await fit('HWU64, 16 a label, mlp', intentVectors, labelsOf(intents), { kind: 'mlp', calibrate: false });
await embed.dispose();
