// Writes web/redact/rules/phone_table.ts: the numbering plans of all countries that libphonenumber-js has, in a compact form of our own.
// `node tools/phone_table.mjs --check` only compares.
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { root } from './lib/shell.mjs';

const require = createRequire(import.meta.url);
const { countries, nonGeographic } = require('libphonenumber-js/metadata.min.json');
const { version } = require('libphonenumber-js/package.json');

// A country in the metadata is [calling code, prefix of calls abroad, pattern, lengths, formats, trunk prefix, .., pattern of what precedes a number at home].
const plan = (name, [code, , pattern, lengths, , trunk]) => `${name} ${code} ${trunk || ''} ${lengths.join()} ${pattern}`;
const lines = [...Object.entries(countries), ...Object.values(nonGeographic).map((one) => ['-', one])]
  .map(([name, one]) => plan(name, one))
  .sort();

const text = `// Written by tools/phone_table.mjs from libphonenumber-js ${version} (MIT), which has it from Google's libphonenumber (Apache-2.0). Do not edit.

/** A line for each country: its ISO code (\`-\`: none), calling code, trunk prefix, lengths of national numbers, and their pattern. */
export const kPhoneTable = String.raw\`${lines.join('\n')}\`;
`;
const file = join(root, 'web/redact/rules/phone_table.ts');
if (process.argv.includes('--check')) {
  if (readFileSync(file, 'utf8') !== text) {
    console.error('web/redact/rules/phone_table.ts is not what tools/phone_table.mjs writes');
    process.exit(1);
  }
} else writeFileSync(file, text);
