// Every example of the guides runs, in the order of its page and after what stands before it, and gives what stands behind its `// =>`.
// Models of the hub are tiny ones of the same kind.
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { env } from 'wattn';
import { blocksOf, kFolders, kOrder, moduleOf, withResults } from '../../tools/docs/examples.mjs';
import { forTinyModels, hubFiles } from './guide_models.js';
import { goldens, root, serveHub, type Hub } from './support.js';

const rounded = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value, (_, each) => (typeof each === 'number' ? Number(each.toFixed(4)) : each)));

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

  it.each(guides.filter(({ codes }) => codes.length > 0))('$name', async ({ name, codes }) => {
    const checks: [unknown, string][] = [];
    const shown: unknown[][] = [];
    Object.assign(globalThis, { check: (got: unknown, want: string) => checks.push([rounded(got), want]) });
    const { log } = console;
    console.log = (...line) => void shown.push(line);
    try {
      const file = join(place, `${name}.mjs`);
      writeFileSync(file, forTinyModels(moduleOf(codes.map((code) => withResults(code, 'check')))));
      await import(file);
    } finally {
      console.log = log;
    }
    for (const [got, want] of checks) expect(got).toEqual(JSON.parse(want));
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
