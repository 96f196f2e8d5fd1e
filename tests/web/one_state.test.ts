// All entries and module formats of one version share settings, errors and warnings, whichever a program loads, in any order.
import { describe, expect, it } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { root } from './support.js';

const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { exports: Record<string, unknown> };

/** Every file that an entry may be, in Node and in pages. Those for workerd import WebAssembly as modules, which Node does not. */
function filesOf(entry: unknown): string[] {
  if (typeof entry === 'string') return /\.c?js$/.test(entry) ? [entry] : [];
  return Object.entries(entry as object).flatMap(([condition, file]) => (condition === 'workerd' ? [] : filesOf(file)));
}
const kFiles = [...new Set(Object.values(exports).flatMap(filesOf))];

/** What a program prints that loads these files into `all`, by its own statements after them. */
function program(files: readonly string[], statements: string, env: Record<string, string> = {}): string {
  const urls = files.map((file) => pathToFileURL(join(root, file)).href);
  const text = `const all = [];
    for (const url of ${JSON.stringify(urls)}) all.push(url.endsWith('.cjs') ? process.getBuiltinModule('node:module').createRequire(url)(new URL(url).pathname) : await import(url));
    ${statements}`;
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', text], {
    encoding: 'utf8',
    env: { ...process.env, ...env },
  });
  return stdout + stderr;
}

describe('the entries of one realm', () => {
  it('are all there', () => expect(kFiles.length).toBeGreaterThan(15));

  it('share env and every class of errors', () => {
    const names = ['env', 'WattnError', 'InputError', 'ModelFormatError', 'NetworkError', 'AbortError', 'OutOfMemoryError', 'StateError', 'UnsupportedError']; // prettier-ignore
    const said = program(
      kFiles,
      `for (const name of ${JSON.stringify(names)}) {
         const kinds = new Set(all.filter((entry) => name in entry).map((entry) => entry[name]));
         if (kinds.size !== 1) console.log(name, kinds.size);
       }`,
    );
    expect(said).toBe('');
  });

  const kPairs = [
    ['dist/node.js', 'dist/tokenizer_entry_node.js'],
    ['dist/tokenizer_entry_node.js', 'dist/node.js'],
    ['dist/node.js', 'dist/inline_node.js'],
    ['dist/node.js', 'dist/inline_train_node.js'],
    ['dist/node.js', 'dist/node.cjs'],
    ['dist/index.js', 'dist/tokenizer_entry.js'],
  ];
  it.each(kPairs)('a setting of %s is obeyed by %s, whose errors it knows', (first, second) => {
    const said = program(
      [first, second],
      `all[0].env.allowRemoteModels = false;
       globalThis.fetch = () => { console.log('asked'); throw new Error('asked'); };
       await all[1].AutoTokenizer.from_pretrained('a/b').catch((error) => console.log(error instanceof all[0].WattnError, error instanceof all[0].InputError));`,
    );
    expect(said).toBe('true true\n');
  });

  it('keep a setting when another entry is loaded later', () => {
    const said = program(
      ['dist/node.js'],
      `all[0].env.remoteHost = 'https://mirror.example/';
       const { env } = await import(${JSON.stringify(pathToFileURL(join(root, 'dist/tokenizer_entry_node.js')).href)});
       console.log(env.remoteHost);`,
      { HF_ENDPOINT: 'https://other.example' },
    );
    expect(said).toBe('https://mirror.example/\n');
  });
});
