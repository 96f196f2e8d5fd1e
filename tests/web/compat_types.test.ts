// TypeScript programs for transformers.js compile in strict TypeScript with only the import changed (tests/compat/typed).
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { withImport } from '../compat/models.mjs';
import { root } from './support.js';

const folder = join(root, 'tests/compat/typed');
let place: string;
beforeAll(() => void (place = mkdtempSync(join(root, 'node_modules/.typed-'))));
afterAll(() => rmSync(place, { recursive: true }));

/** What the compiler says of programs, in strict mode. */
function compile(programs: Record<string, string>): string[] {
  for (const [name, text] of Object.entries(programs)) writeFileSync(join(place, name), text);
  const compilerOptions = { noUnusedLocals: false, noUnusedParameters: false, types: [] };
  writeFileSync(
    join(place, 'tsconfig.json'),
    JSON.stringify({ extends: '../../tsconfig.json', include: ['*.ts', '../../web/**/*.d.ts'], compilerOptions }),
  );
  const { stdout } = spawnSync(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', place], {
    encoding: 'utf8',
  });
  const lines = stdout.split('\n').filter(Boolean);
  return lines.map((line) => line.replace(/^.*?([\w.]+)\(\d+,\d+\): error TS\d+/, '$1'));
}
const programs = () =>
  Object.fromEntries(readdirSync(folder).map((name) => [name, withImport(join(folder, name), 'wattn')])) as Record<string, string>;

it('programs compile', () => expect(compile(programs())).toEqual([]), 120_000);

it('one that is wrong does not', () => {
  const wrong = { ...programs() };
  wrong['inferred.ts'] = wrong['inferred.ts']!.replace('const many: number', 'const many: string');
  expect(compile(wrong)).toEqual(["inferred.ts: Type 'number' is not assignable to type 'string'."]);
}, 120_000);

it('names every type of the list in docs/migration.md', () => {
  const guide = readFileSync(join(root, 'docs/migration.md'), 'utf8');
  const [, found, all, row = ''] = /^\| types \| (\d+) of (\d+) \| (.*) \|$/m.exec(guide) ?? [];
  const names = row.split(' ').map((name) => name.replaceAll('`', ''));
  expect([found, names.length]).toEqual([all, Number(all)]);
  const text = [...readdirSync(folder)].map((name) => readFileSync(join(folder, name), 'utf8')).join('\n');
  expect(names.filter((name) => !new RegExp(`\\b${name}\\b`).test(text))).toEqual([]);
});
