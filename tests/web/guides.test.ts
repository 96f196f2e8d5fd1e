// Every example in the guides runs, in the order of its page, and gives the result after its `// =>`. Tiny models replace those of the Hub.
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { env } from 'wattn';
import { blocksOf, kFolders, kOrder, moduleOf, withResults } from '../../tools/docs/examples.mjs';
import { forTinyModels, hubFiles } from './guide_models.js';
import { goldens, root, serveHub, type Hub } from './support.js';

const rounded = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value, (_, each) => (typeof each === 'number' ? Number(each.toFixed(4)) : each)));

/** What an example logs with real models alone: the tiny ones differ. */
const kOfRealModels = ['384', '[ 2, 256 ] // static', "'Dear Bo'", "'Dear Bo, ..'", "[ { label: 'delivery', score: 0.93 } ]"];

/** The value of a comment that is one, such as `[ 2, 256 ]` or `{ score: 0.27.. }`, where `..` stands for more digits. */
function valueOf(comment: string): { value: unknown } | undefined {
  const code = comment.replace(/(-?\d+\.\d+)\.\./g, "begins('$1')");
  const begins = (digits: string) => ({ asymmetricMatch: (found: unknown) => String(found).startsWith(digits) });
  try {
    return { value: new Function('begins', `return (${code})`)(begins) };
  } catch {
    return undefined; // words
  }
}

/** The code, which passes what is logged and the comment behind it to `logged`. */
const withLogs = (code: string): string =>
  code.replace(/^( *)console\.log\((.*)\); \/\/ (.+)$/gm, (line, space, what, comment) =>
    valueOf(comment) ? `${space}console.log(logged(${what}, ${JSON.stringify(comment)}));` : line,
  );

describe('the guides', () => {
  const before = { host: env.remoteHost, jinja: env.jinja, useCache: env.useCache, cwd: process.cwd() };
  let hub: Hub;
  let place: string;

  beforeAll(async () => {
    hub = await serveHub(hubFiles(), '/');
    env.remoteHost = hub.url;
    env.useCache = false;
    place = mkdtempSync(join(root, 'node_modules/.guides-')); // where packages are found
    for (const [name, from] of Object.entries(kFolders)) cpSync(join(goldens, from), join(place, name), { recursive: true });
    process.chdir(place);
  });
  afterAll(async () => {
    process.chdir(before.cwd);
    Object.assign(env, { remoteHost: before.host, jinja: before.jinja, useCache: before.useCache });
    rmSync(place, { recursive: true });
    await hub.close();
  });

  const guides = kOrder.map((name) => {
    const all = blocksOf(readFileSync(join(root, 'docs', `${name}.md`), 'utf8'));
    return { name, codes: all.filter(({ runs }) => runs).map(({ code }) => code) };
  });

  const readme = { name: 'README', codes: blocksOf(readFileSync(join(root, 'README.md'), 'utf8')).map(({ code }) => code) };

  it.each([readme, ...guides].filter(({ codes }) => codes.length > 0))('$name', async ({ name, codes }) => {
    const checks: [unknown, string][] = [];
    const shown: unknown[][] = [];
    const logs: [unknown, string][] = [];
    const logged = (value: unknown, comment: string) => (logs.push([value, comment]), value);
    Object.assign(globalThis, { logged, check: (got: unknown, want: string) => checks.push([rounded(got), want]) });
    const { log } = console;
    console.log = (...line) => void shown.push(line);
    try {
      const file = join(place, `${name}.mjs`);
      writeFileSync(file, forTinyModels(moduleOf(codes.map((code) => withLogs(withResults(code, 'check'))))));
      await import(file);
    } finally {
      console.log = log;
    }
    for (const [got, want] of checks) expect(got).toEqual(JSON.parse(want));
    for (const [value, comment] of logs) {
      const isReal = [comment, `${comment} // ${name}`].some((one) => kOfRealModels.includes(one));
      if (!isReal) expect({ comment, value }).toEqual({ comment, value: valueOf(comment)?.value });
    }
    const all = codes.join('');
    expect(checks.length).toBe(all.match(/\/\/ => /g)?.length ?? 0);
    expect(shown.length > 0).toBe(/console\.log/.test(all));
  });
});

describe('docs/errors.md', () => {
  it('quotes messages that are in the code', () => {
    const sources = ['web', 'src', 'bindings'].flatMap((room) =>
      readdirSync(join(root, room), { recursive: true, encoding: 'utf8' })
        .filter((name) => /\.(ts|cpp|h)$/.test(name))
        .map((name) => readFileSync(join(root, room, name), 'utf8')),
    );
    // Without what joins the parts of a message: quotes, line breaks, escapes.
    const plain = (text: string) => text.replace(/["'`\\+\s]|\$\{[^}]*\}/g, '');
    const code = plain(sources.join('\n'));
    const text = readFileSync(join(root, 'docs/errors.md'), 'utf8');
    const quoted = [...text.matchAll(/^\*\*`(.*)`\*\*$/gm)].map(([, message]) => message as string);
    expect(quoted.length).toBeGreaterThan(20);
    const parts = quoted.flatMap((message) => message.split(/\.\./).map((part) => ({ message, part: plain(part) })));
    expect(parts.filter(({ part }) => part.length > 7 && !code.includes(part))).toEqual([]);
  });
});
