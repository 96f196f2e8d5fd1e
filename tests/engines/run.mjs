// Compares this Node's results (answers.mjs) with the recorded ones; --record records them. Record only when you mean to change the arithmetic.
// With --proof, also the hashes that the demo's page Proof publishes (minutes under QEMU). Last line: N passed, N failed.
import { readFileSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { hashOfVectors, kPublished, thousandSentences } from '../../demo/src/proof/thousand.mjs';
import { answersOf } from './answers.mjs';

const at = (path) => new URL(path, import.meta.url);
const wattn = { ...(await import(at('../../dist/node.js'))), ...(await import(at('../../dist/train_entry_node.js'))) };
const found = await answersOf(wattn, (path) => readFile(at(`../goldens/${path}`)));
const record = at('answers.json');
if (process.argv.includes('--record')) writeFileSync(record, `${JSON.stringify(found, null, 2)}\n`);
const expected = JSON.parse(readFileSync(record, 'utf8'));
for (const [dtype, hash] of Object.entries(process.argv.includes('--proof') ? kPublished : {})) {
  const embed = await wattn.pipeline('feature-extraction', null, { dtype });
  found[`proof ${dtype}`] = await hashOfVectors((await embed(thousandSentences())).data);
  expected[`proof ${dtype}`] = hash;
  await embed.dispose();
}
const names = Object.keys({ ...expected, ...found });
const wrong = names.filter((name) => found[name] !== expected[name]);
for (const name of wrong) console.log(`FAIL ${name}: expected ${expected[name]}, found ${found[name]}`);
console.log(`${names.length - wrong.length} passed, ${wrong.length} failed`);
process.exit(wrong.length > 0 ? 1 : 0);
