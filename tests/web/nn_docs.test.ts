// Every example of docs/nn.md, docs/lessons.md and docs/adapters.md runs, and gives what stands behind its `// =>`.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as wattn from 'wattn';
import { goldens, root } from './support.js';

/** Folders of the examples. */
const kPlaces: Record<string, string> = {
  './models/bert': 'bert-tiny/model',
  './adapters/classes': 'peft/bert-classes',
  './adapters/topics': 'peft/bert-topics',
  './adapters/embeddings': 'peft/bert',
};

const blocksOf = (file: string) => {
  const text = Object.entries(kPlaces).reduce(
    (all, [place, golden]) => all.replaceAll(`'${place}'`, `'${join(goldens, golden)}'`),
    readFileSync(join(root, file), 'utf8'),
  );
  return [...text.matchAll(/^```js\n([\s\S]*?)^```/gm)].map(([, code]) => code as string);
};
const AsyncFunction = (async () => {}).constructor as new (...args: string[]) => (...args: unknown[]) => Promise<void>;

const rounded = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value, (_, each) => (typeof each === 'number' ? Number(each.toFixed(4)) : each)));

describe.each(['docs/nn.md', 'docs/lessons.md', 'docs/adapters.md'])('%s', (file) => {
  beforeAll(() => wattn.nn.ready());

  it.each(blocksOf(file).map((code) => [code.split('\n')[0], code]))('%s', async (_, code) => {
    const checks: [unknown, unknown, string][] = [];
    const run = (code as string)
      .replace(/^import .*$/gm, '')
      .replace(/^console\.log\((.*)\);/gm, 'void ($1);')
      .replace(/^(.*); \/\/ => (.*)$/gm, (_line, expression, want) => `check(${expression}, ${JSON.stringify(want)});`);
    const names = Object.keys(wattn);
    const check = (got: unknown, want: string) => checks.push([rounded(got), JSON.parse(want), want]);
    await new AsyncFunction(...names, 'check', run)(...names.map((name) => (wattn as Record<string, unknown>)[name]), check);
    for (const [got, want] of checks) expect(got).toEqual(want);
    expect(checks.length).toBe((code as string).match(/\/\/ =>/g)?.length ?? 0);
  });
});
