// Parts of the code that are loaded on first use. If one cannot be loaded, from any entry, the error is wattn's and states the remedy. A
// deployment gives parts other names while pages that know the ones of before are open.
import { spawnSync } from 'node:child_process';
import { linkSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root, tiny } from './support.js';

const dist = join(root, 'dist');
const textOf = (file: string) => readFileSync(join(dist, file), 'utf8');
const kLater = /\bimport\(["']\.\/([^"']+)["']\)/g;
const kAtOnce = /\b(?:from|import)\s*["']\.\/([^"']+)["']/g;
const named = (text: string, expression: RegExp) => [...text.matchAll(expression)].map(([, file]) => file as string);

/** The parts of an entry, by their names without what differs from build to build. */
function partsOf(entry: string): Record<string, string> {
  const [files, parts] = [new Set([entry]), new Set<string>()];
  for (const file of files) {
    const text = textOf(file);
    for (const each of named(text, kLater)) parts.add(each);
    for (const each of [...named(text, kAtOnce), ...named(text, kLater)]) files.add(each);
  }
  return Object.fromEntries([...parts].map((file) => [/^chunk-(\w+)-[A-Z0-9]{8}\.js$/.exec(file)?.[1] ?? file, file]));
}

/** The parts that each entry is asked for without, by tests/web/parts_probe.mjs. On the edge all are in one upload. */
const kTasks =
  'text_classification token_classification zero_shot_ner information_extraction question_answering text_generation text2text text_ranking sparse_encoding late_interaction defaults'; // prettier-ignore
const kIndex =
  `${kTasks} make_tokenizer remote_engine accelerated search_index detect en tr upkeep redact rules phones session packing evaluation distillation classifier load extras`.split(' '); // prettier-ignore
const kEntries: Record<string, string[]> = {
  'node.js': kIndex,
  'index.js': kIndex,
  'tokenizer_entry_node.js': ['extras', 'training'],
  'tokenizer_entry.js': ['extras', 'training'],
  'nn_entry_node.js': ['nn_host'],
  'nn_entry.js': ['nn_host'],
  'ai_sdk_entry_node.js': ['ai_sdk_chat'],
  'ai_sdk_entry.js': ['ai_sdk_chat'],
  'langchain_entry_node.js': ['langchain_chat'],
  'langchain_entry.js': ['langchain_chat'],
};

const work = mkdtempSync(join(root, 'build/parts-'));
afterAll(() => rmSync(work, { recursive: true }));

/** A copy of dist without a part. */
function without(part: string, folder: string): void {
  mkdirSync(folder);
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  for (const { name } of readdirSync(dist, { withFileTypes: true }).filter((entry) => entry.isFile()))
    linkSync(join(dist, name), join(folder, name));
  unlinkSync(join(folder, part));
}

it('wraps each import() of each bundle', () => {
  const scripts = readdirSync(dist).filter((file) => /\.m?js$/.test(file));
  const all = scripts.flatMap((file) => [...textOf(file).matchAll(/(.{0,20})\bimport\(["']\.\/[^"']+["']\)/gs)].map(([found, before]) => ({ file, found, before: before as string }))); // prettier-ignore
  expect(all.length).toBeGreaterThan(300);
  expect(all.filter(({ before }) => !/[\w$]\($/.test(before))).toEqual([]);
});

it.each(Object.entries(kEntries))('%s says which part could not be loaded, and what cures it', (entry, names) => {
  const parts = partsOf(entry);
  const folder = join(work, entry);
  mkdirSync(folder);
  for (const name of names) without(parts[name] ?? `${entry} has no part ${name}`, join(folder, name));
  const probe = join(root, 'tests/web/parts_probe.mjs');
  const said = spawnSync(process.execPath, [probe, folder, tiny, entry], { encoding: 'utf8', cwd: work });
  expect(said.stderr).toBe('');
  const found = JSON.parse(said.stdout) as Record<string, string>;
  const cure = /node/.test(entry) ? 'install or deploy all files of the package' : 'reload the page';
  for (const name of names) {
    const file = (parts[name] as string).replaceAll('.', '\\.');
    expect([name, found[name]]).toEqual([
      name,
      expect.stringMatching(new RegExp(`^StateError state: a part of wattn could not be loaded: .*${file}.*; ${cure}$`)),
    ]);
  }
});

it.each(['serve', 'mcp'])('wattn %s ends with the error, and no stack', (command) => {
  const parts = partsOf('cli.js');
  const folder = join(work, command);
  without(parts[command] ?? `cli.js has no part ${command}`, folder);
  const { status, stderr } = spawnSync(process.execPath, [join(folder, 'cli.js'), command, '.'], {
    encoding: 'utf8',
    cwd: work,
    input: '',
  });
  expect([status, stderr]).toEqual([
    expect.any(Number),
    expect.stringMatching(/^wattn: a part of wattn could not be loaded: .*; install or deploy all files of the package\n$/),
  ]);
  expect(status).not.toBe(0);
});
