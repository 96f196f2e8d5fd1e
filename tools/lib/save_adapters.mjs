// Trains adapters for tiny models for tools/check_saved_adapters.py, and saves them with the models' results.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import {
  AutoModel,
  AutoModelForCausalLM,
  AutoModelForSequenceClassification,
  AutoModelForTokenClassification,
} from '../../dist/node.js';
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
  saved: { modules_to_save: ['word_embeddings', 'key', 'LayerNorm'] },
};
/** Language models: the folder, and modules that are saved whole. */
const languages = {
  gpt2: ['wpe', 'ln_f', 'attn.c_proj'],
  smollm: ['lm_head', 'k_proj'],
  llama: ['embed_tokens', 'lm_head', 'norm'],
};

const cases = [];

/** Trains, saves, and answers with what was saved. */
async function add(id, base, [kind, name], rows, options) {
  const trainer = await Trainer.from_pretrained(base, { threads: 1, max_steps: 3, learning_rate: 0.02, ...options });
  await trainer.fit(rows);
  const place = join(folder, id);
  mkdirSync(place, { recursive: true });
  for (const [file, bytes] of Object.entries(await trainer.save())) writeFileSync(join(place, file), bytes);
  await trainer.dispose();
  const model = await kind.from_pretrained(base, { adapter: place });
  const { logits, last_hidden_state } = await model({ input_ids: [ids] });
  const values = logits ?? last_hidden_state;
  const labels = logits && name !== 'ForCausalLM' ? values.dims.at(-1) : null;
  cases.push({ folder: place, base, class: name, ids, labels, outputs: [...values.data] });
  await model.dispose();
}

for (const [task, [kind, name, rows, options]] of Object.entries(kinds)) {
  for (const [method, more] of Object.entries(methods))
    await add(`${task}-${method}`, resolve(goldens, kBert), [kind, name], rows, { task, ...options, ...more });
}
for (const [name, modules_to_save] of Object.entries(languages)) {
  const options = { task: 'text-generation', modules_to_save };
  const rows = texts.map((text) => ({ text }));
  await add(`text-generation-${name}`, resolve(goldens, 'decoders', name), [AutoModelForCausalLM, 'ForCausalLM'], rows, options);
}
writeFileSync(join(folder, 'cases.json'), JSON.stringify(cases));
