// The commands of docs/training.md run with tiny models, and its table names every option. guides.test.ts runs its examples.
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import * as path from 'node:path';
import { linesOf, wattn as command } from './cli_support.js';
import { goldens, root, tiny } from './support.js';

const text = readFileSync(path.join(root, 'docs/training.md'), 'utf8');
const blocksOf = (kind: string) =>
  [...text.matchAll(new RegExp(`^\`\`\`${kind}\n([\\s\\S]*?)^\`\`\``, 'gm'))].map(([, code]) => code as string);

describe('docs/training.md', () => {
  let folder: string;
  beforeAll(() => (folder = mkdtempSync(path.join(tmpdir(), 'wattn-docs-'))));
  afterAll(() => rmSync(folder, { recursive: true }));

  it('has commands that run', async () => {
    cpSync(tiny, path.join(folder, 'model'), { recursive: true });
    cpSync(path.join(goldens, 'seq2seq/t5'), path.join(folder, 't5'), { recursive: true });
    writeFileSync(path.join(folder, 'summaries.jsonl'), '{"article":"the old boat waits","summary":"a boat"}\n');
    const csv = 'text,label\nthe river,water\n"a boat, old",water\nbirds sing,sky\nthe wind,sky\n';
    writeFileSync(path.join(folder, 'train.csv'), csv);
    writeFileSync(path.join(folder, 'held.csv'), csv);
    writeFileSync(path.join(folder, 'train.jsonl'), '{"text":"the river","label":1}\n{"text":"birds sing","label":2}\n');
    writeFileSync(path.join(folder, 'pairs.tsv'), 'anchor\tpositive\nthe river\ta boat\nbirds\tthe wind\n');
    const commands = blocksOf('sh').join('').trim().split('\n');
    for (const line of commands) {
      const [, , ...args] = [...line.replace(/ +#.*/, '').matchAll(/'([^']*)'|(\S+)/g)].map(
        ([, quoted, word]) => quoted ?? (word as string),
      );
      const { out, files, labels } = linesOf(await command(args, undefined, folder)).at(-1);
      if (args[0] === 'classify') expect(labels).toHaveLength(2);
      for (const file of files ?? []) expect([file, existsSync(path.join(folder, out, file))]).toEqual([file, true]);
    }
    expect(commands.length).toBe(6);
  });

  it('names each option of a Trainer', () => {
    const types = readFileSync(path.join(root, 'web/train/types.ts'), 'utf8');
    const own = types.slice(types.indexOf('interface TrainerOptions'), types.indexOf('export interface LabelledText'));
    const names = [...own.matchAll(/^ {2}(\w+)\??:/gm)].map(([, name]) => name as string);
    expect(names.length).toBeGreaterThan(20);
    const table = text.slice(text.indexOf('## Options'), text.indexOf('## Validation'));
    expect(names.filter((name) => !table.includes(`\`${name}\``))).toEqual([]);
  });
});
