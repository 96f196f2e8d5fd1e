// The examples in the reference: each `@example` of a doc comment runs with all names of the package, and gives the result after its `// =>`.
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as wattn from 'wattn';
import { loadCounter } from 'wattn/count';
import { Trainer } from 'wattn/train';
import { withResults } from '../../tools/docs/examples.mjs';
import { goldens, root } from './support.js';

const web = join(root, 'web');
const AsyncFunction = (async () => {}).constructor as new (...args: string[]) => (...args: unknown[]) => Promise<void>;

/** All examples, with the file and the first line that name them. */
const examples = readdirSync(web, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts') && !/ai_sdk|langchain|llamaindex|react_entry/.test(name)) // integrations.test.ts and the browsers' react.ts have theirs
  .sort()
  .flatMap((name) =>
    [...readFileSync(join(web, name), 'utf8').matchAll(/^ *\* @example\n((?: *\*(?!\/| @).*\n)+)/gm)].map(([, lines], i) => ({
      name: `${name} ${i + 1}`,
      code: (lines as string).replace(/^ *\* ?/gm, '').replace(/^```.*$/gm, ''),
    })),
  );

const rounded = (value: unknown): unknown =>
  JSON.parse(
    JSON.stringify(value, (_, each) => {
      if (ArrayBuffer.isView(each)) return Array.from(each as Float32Array);
      return typeof each === 'number' || typeof each === 'bigint' ? Number(Number(each).toFixed(4)) : each;
    }),
  );

describe('examples of the reference', () => {
  const before = process.cwd();
  let place: string;
  const { log } = console;
  beforeAll(async () => {
    await wattn.nn.ready();
    place = mkdtempSync(join(tmpdir(), 'wattn-reference-'));
    cpSync(join(goldens, 'bert-tiny/model'), join(place, 'models/bert'), { recursive: true });
    process.chdir(place);
    console.log = () => {};
  });
  afterAll(() => {
    console.log = log;
    process.chdir(before);
    rmSync(place, { recursive: true });
  });

  it.each(examples)('$name', async ({ code }) => {
    const checks: [unknown, string][] = [];
    const given = { ...wattn, Trainer, loadCounter, check: (got: unknown, want: string) => checks.push([rounded(got), want]) };
    const run = new AsyncFunction(...Object.keys(given), `{${withResults(code, 'check')}\n}`);
    await run(...Object.values(given));
    for (const [got, want] of checks) expect(got).toEqual(JSON.parse(want));
    expect(checks.length).toBe(code.match(/\/\/ => /g)?.length ?? 0);
  });
});
