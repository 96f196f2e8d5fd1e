// Writes figures to bench/record/<machine>/<date>[-<what>].csv, with a column for each key of the rows.
import { mkdirSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const quoted = (value) => (/[",\n]/.test(String(value)) ? `"${String(value).replaceAll('"', '""')}"` : String(value));

export function writeRecord(what, rows) {
  const machine = cpus()[0]
    .model.replace(/[^A-Za-z0-9]+/g, '-')
    .replace(/^-|-$/g, '')
    .toLowerCase();
  const folder = fileURLToPath(new URL(`../../record/${machine}/`, import.meta.url));
  mkdirSync(folder, { recursive: true });
  const name = [new Date().toISOString().slice(0, 10), what].filter(Boolean).join('-');
  const lines = [Object.keys(rows[0]), ...rows.map((row) => Object.values(row))].map((values) => values.map(quoted).join(','));
  writeFileSync(join(folder, `${name}.csv`), `${lines.join('\n')}\n`);
  console.log(`written to bench/record/${machine}/${name}.csv`);
}
