// Trains adapters of tiny models for tools/check_saved_adapters.py, saves them, and what the models answer with them.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { AutoModel, AutoModelForSequenceClassification, AutoModelForTokenClassification } from '../../dist/node.js';
import { Trainer } from '../../dist/train_entry_node.js';

const [goldens, folder] = process.argv.slice(2);
const ids = [2, 9, 17, 30, 3];
const texts = ['the river', 'a boat', 'small birds sing', 'the wind'];
const labelled = texts.map((text, i) => ({ text, label: ['a', 'b', 'c'][i % 3] }));
const pairs = texts.map((text, i) => ({ anchor: text, positive: texts[(i + 1) % texts.length] }));
const tagged = texts.map((text) => {
  const tokens = text.split(' ');
  return { tokens, ner_tags: tokens.map((word) => (word.length > 3 ? 'B-X' : 'O')) };
});
const kBert = 'bert-tiny/model';
const kinds = {
  'feature-extraction': [AutoModel, 'Model', pairs, { loss: 'MultipleNegativesRankingLoss' }],
  'text-classification': [AutoModelForSequenceClassification, 'ForSequenceClassification', labelled, { loss: 'CrossEntropyLoss' }],
  'token-classification': [AutoModelForTokenClassification, 'ForTokenClassification', tagged, {}],
};
const methods = {
  lora: {},
  dora: { use_dora: true },
  'dora-all': { use_dora: true, use_rslora: true, target_modules: 'all-linear' },
  'all-linear': { target_modules: 'all-linear' },
  bias: { bias: 'all' },
  'lora-only': { bias: 'lora_only', target_modules: ['query', 'output.dense'] },
};

const cases = [];
for (const [task, [kind, name, rows, options]] of Object.entries(kinds)) {
  for (const [method, more] of Object.entries(methods)) {
    const base = resolve(goldens, kBert);
    const trainer = await Trainer.from_pretrained(base, {
      task,
      threads: 1,
      max_steps: 3,
      learning_rate: 0.02,
      ...options,
      ...more,
    });
    await trainer.fit(rows);
    const place = join(folder, `${task}-${method}`);
    mkdirSync(place, { recursive: true });
    for (const [file, bytes] of Object.entries(await trainer.save())) writeFileSync(join(place, file), bytes);
    await trainer.dispose();
    const model = await kind.from_pretrained(base, { adapter: place });
    const { logits, last_hidden_state } = await model({ input_ids: [ids] });
    const values = logits ?? last_hidden_state;
    cases.push({ folder: place, base, class: name, ids, labels: logits ? values.dims.at(-1) : null, outputs: [...values.data] });
    await model.dispose();
  }
}
writeFileSync(join(folder, 'cases.json'), JSON.stringify(cases));
