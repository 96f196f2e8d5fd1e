// Programs in the style of coding assistants (tests/compat/snippets.md) run with only the import changed, against a Hub of tiny models.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as jinja from '@huggingface/jinja';
import { env } from 'wattn';
import { hubFile, kStopped, snippets } from '../compat/hub.mjs';
import { writeModels } from '../compat/models.mjs';
import { goldens, root } from './support.js';

const kSnippets = snippets();

const settings = { ...env };
const { log, warn } = console;
let place: string;

beforeAll(() => {
  place = mkdtempSync(join(root, 'node_modules/.snippets-')); // where packages are found
  writeModels(goldens, place);
});
beforeEach(() => {
  console.warn = () => {};
  Object.assign(env, {
    compat: false,
    useCache: false,
    jinja,
    fetch: async (url: string) => answer(hubFile(place, new URL(url).pathname)),
  });
});
afterEach(() => {
  Object.assign(console, { log, warn });
  Object.assign(env, settings, { backends: { onnx: { wasm: {} } } });
});
afterAll(() => rmSync(place, { recursive: true }));

const answer = (bytes: Buffer | undefined) => (bytes ? new Response(new Uint8Array(bytes)) : new Response('', { status: 404 }));

it('there are 40', () => expect(kSnippets.length).toBe(40));

it.each(kSnippets.map(({ title, output, code }, i) => [title, output, code, i] as const))('%s', async (title, output, code, i) => {
  const lines: string[] = [];
  console.log = (...args: unknown[]) =>
    void lines.push(args.map((each) => (typeof each === 'string' ? each : JSON.stringify(each))).join(' '));
  const file = join(place, `snippet${i}.mjs`);
  writeFileSync(file, code.replaceAll("'@huggingface/transformers'", "'wattn'"));
  const run = import(file);
  if (kStopped[title]) return expect(run).rejects.toThrow(kStopped[title]);
  await run;
  expect(lines.join('\n')).toContain(output);
  expect(lines.join('\n')).not.toMatch(/undefined|NaN/);
});
