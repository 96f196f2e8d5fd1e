// Counts how many model families of transformers.js's text tasks wattn supports. `node tools/count_families.mjs FOLDER`, of the package
// @huggingface/transformers.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describeModel } from '../dist/node.js';

const kTables = [
  'SEQUENCE_CLASSIFICATION',
  'TOKEN_CLASSIFICATION',
  'SEQ_TO_SEQ_CAUSAL_LM',
  'CAUSAL_LM',
  'MASKED_LM',
  'QUESTION_ANSWERING',
];
/** Encoders of text that are in no table of a task. */
const kEncoders = ['nomic_bert', 'embedding_gemma2'];

const text = readFileSync(join(process.argv[2], 'src/models/registry.js'), 'utf8');
const tables = kTables.map((name) => {
  const begin = text.indexOf(`MODEL_FOR_${name}_MAPPING_NAMES = new Map([`);
  if (begin < 0) throw new Error(`registry.js: expected a table of ${name}`);
  return text.slice(begin, text.indexOf('\n]);', begin));
});
const names = [
  ...new Set([...tables.flatMap((table) => [...table.matchAll(/\['([^']+)'/g)].map(([, name]) => name)), ...kEncoders]),
];

const found = { read: [], missing: [] };
for (const model_type of names) {
  const config = new TextEncoder().encode(JSON.stringify({ model_type, text_config: {} }));
  const message = await describeModel({ 'config.json': config }).then(
    () => '',
    (error) => error.message,
  );
  found[message.includes('expected an architecture') ? 'missing' : 'read'].push(model_type);
}
console.log(`${found.read.length} of ${names.length} are read; missing: ${found.missing.sort().join(' ')}`);
