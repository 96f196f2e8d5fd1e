// Few-shot classification: trains all-MiniLM-L6-v2 on the first few examples of each label, and counts right answers on the test set.
//   node bench/web/few_shot.mjs TREC_FOLDER [--per-label 8] [--seeds 5] [--option value ..]
// Options of Trainer, such as --method full or --learning_rate 0.001, are passed on. Frozen: the classifier on the model's own vectors.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Classifier } from '../../dist/node.js';
import { Trainer } from '../../dist/train_entry_node.js';

const [folder, ...rest] = process.argv.slice(2);
const given = Object.fromEntries(Array.from({ length: rest.length / 2 }, (_, i) => [rest[2 * i].slice(2), rest[2 * i + 1]]));
const { 'per-label': perLabel = '8', seeds = '5', ...options } = given;
for (const key in options) if (Number.isFinite(Number(options[key]))) options[key] = Number(options[key]);
const model = process.env.MODEL ?? join(fileURLToPath(new URL('../..', import.meta.url)), '.models/all-MiniLM-L6-v2');

const read = (name) =>
  readFileSync(join(folder, name), 'latin1')
    .trim()
    .split('\n')
    .map((line) => ({ label: line.slice(0, line.indexOf(' ')), text: line.slice(line.indexOf(' ') + 1) }));
const all = read('TREC.train.all');
const test = read('TREC.test.all');

/** The first so many of each label. */
const seen = new Map();
const rows = all.filter(({ label }) => {
  seen.set(label, (seen.get(label) ?? 0) + 1);
  return seen.get(label) <= Number(perLabel);
});

const accuracy = async (classifier) => {
  const found = await classifier(test.map(({ text }) => text));
  return found.filter(({ label }, i) => label === test[i].label).length / test.length;
};

const results = [];
for (let seed = 0; seed < Number(seeds); ++seed) {
  const trainer = await Trainer.from_pretrained(model, { task: 'text-classification', threads: 1, seed, ...options });
  const embed = (texts, how) => trainer.embed(texts, how);
  const frozen = await accuracy(
    await Classifier.fit(
      embed,
      rows.map(({ text }) => text),
      rows.map(({ label }) => label),
    ),
  );
  const begin = process.cpuUsage();
  let last;
  for await (const report of trainer.fit(rows)) last = report;
  const { user, system } = process.cpuUsage(begin);
  const trained = await accuracy(trainer.classifier);
  results.push({ frozen, trained });
  console.log(
    JSON.stringify({ seed, rows: rows.length, steps: last.step, loss: last.loss, cpu_s: (user + system) / 1e6, frozen, trained }),
  );
  await trainer.dispose();
}
const mean = (key) => results.reduce((sum, one) => sum + one[key], 0) / results.length;
console.log(
  JSON.stringify({
    per_label: Number(perLabel),
    seeds: results.length,
    ...options,
    frozen: mean('frozen'),
    trained: mean('trained'),
  }),
);
