// Checks the English of README, the guides and the other documents (tools/lib/prose_rules.mjs): `node tools/prose.mjs [FILE..]`.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { problemsIn } from './lib/prose_rules.mjs';
import { root } from './lib/shell.mjs';

export const kDocuments = [
  'README.md',
  'CHANGELOG.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  ...readdirSync(join(root, 'docs'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
];

const files = process.argv.length > 2 ? process.argv.slice(2) : kDocuments;
let count = 0;
for (const file of files) {
  for (const { line, rule, message, sentence } of problemsIn(readFileSync(join(root, file), 'utf8'))) {
    ++count;
    console.error(`${file}:${line}: ${rule}: ${message}\n  ${sentence}`);
  }
}
console.log(`note: ${files.length} documents, ${count} problems`);
process.exit(count > 0 ? 1 : 0);
