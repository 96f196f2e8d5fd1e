// The examples of docs/training.md run, one after the other, with the tiny model in place of the one that they name.
import { cpSync, existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import * as path from 'node:path';
import { Classifier, pipeline } from 'wattn';
import { Trainer } from 'wattn/train';
import { linesOf, wattn as command } from './cli_support.js';
import { goldens, root, tiny } from './support.js';

const text = readFileSync(path.join(root, 'docs/training.md'), 'utf8');
const blocksOf = (kind: string) =>
  [...text.matchAll(new RegExp(`^\`\`\`${kind}\n([\\s\\S]*?)^\`\`\``, 'gm'))].map(([, code]) => code as string);
const AsyncFunction = (async () => {}).constructor as new (...args: string[]) => (...args: unknown[]) => Promise<unknown>;

describe('docs/training.md', () => {
  let folder: string;
  beforeAll(() => (folder = mkdtempSync(path.join(tmpdir(), 'wattn-docs-'))));
  afterAll(() => rmSync(folder, { recursive: true }));

  it('has examples that run', async () => {
    const code = blocksOf('js')
      .join('\n')
      .replace(/^import .*$/gm, '')
      .replaceAll("'sentence-transformers/all-MiniLM-L6-v2'", JSON.stringify(tiny))
      .replaceAll("'google/flan-t5-small'", JSON.stringify(path.join(goldens, 'seq2seq/flan-t5')))
      .replaceAll("'trained'", JSON.stringify(path.join(folder, 'trained')));
    const shown: string[] = [];
    const show = (line: unknown) => shown.push(String(line));
    const given = { Classifier, pipeline, Trainer, show, mkdir, writeFile, dirname: path.dirname, join: path.join };
    const results = 'return { rows, best, vectors, total, answer };';
    const run = new AsyncFunction(...Object.keys(given), `${code}\n${results}`);
    const { rows, best, vectors, total, answer } = (await run(...Object.values(given))) as Record<string, any>;
    const labels = rows.map(({ label }: { label: string }) => label);
    expect([labels.includes(best.label), labels.includes(answer.label), total > 0]).toEqual([true, true, true]);
    expect(vectors.dims[0]).toBe(1);
    expect(shown[0]).toMatch(/^1 of 40, loss \d\.\d{3}, \d+ s left$/);
    expect(shown.some((line) => /^5: [\d.]+, the best so far: true$/.test(line))).toBe(true);
    expect(shown.slice(-6)).toEqual(['5', '6', '7', '8', '9', '10']);
    expect(readdirSync(path.join(folder, 'trained')).sort()).toEqual(
      ['adapter_config.json', 'adapter_model.safetensors', 'classifier.json', 'classifier.safetensors'].sort(),
    );
  });

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
      const [, , ...args] = line.split(' ');
      const said = await command(args, undefined, folder);
      const { out, files } = linesOf(said).at(-1);
      for (const file of files) expect([file, existsSync(path.join(folder, out, file))]).toEqual([file, true]);
    }
    expect(commands.length).toBe(4);
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
