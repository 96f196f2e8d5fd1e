// The tables of docs/models.md: the tests for each architecture, and popular repositories with the facts from their files.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { root } from '../lib/shell.mjs';
import { facts, realWeights } from './facts.mjs';
import { repositories } from './repositories.mjs';

const goldens = join(root, 'tests/goldens');

/** What the tests compare in each folder of tests/goldens. */
const kTried = {
  architectures: 'every tensor',
  'bert-tiny': 'every tensor',
  long: 'every tensor, 130 tokens',
  eurobert: 'every tensor',
  hub_layouts: 'every tensor',
  decoders: 'logits, generated tokens',
  'gguf-decoders': 'generated tokens',
  seq2seq: 'every tensor, generated tokens',
  embedders: 'embeddings',
  'decoder-heads': 'heads',
  tasks: 'heads',
  heads: 'heads',
  sentence: 'embeddings',
  static: 'embeddings',
  peft: 'adapters',
  variants: 'every tensor',
  gliner: 'entities',
  sparse: 'sparse vectors',
  'late-interaction': 'token vectors',
  'multi-vector': 'token vectors',
};

const kTasks = {
  sequence: 'text-classification',
  token: 'token-classification',
  answer: 'question-answering',
  masked_lm: 'fill-mask',
  causal_lm: 'text-generation',
  seq2seq_lm: 'text2text-generation',
};

function* configs(folder) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) yield* configs(path);
    else if (entry.name === 'config.json') yield path;
  }
}

export const asTable = (head, rows) => [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');

/** describe: the package's describeModel. */
async function architectures(describe) {
  const found = new Map();
  for (const path of configs(goldens)) {
    const config = JSON.parse(readFileSync(path, 'utf8'));
    const part = relative(goldens, path).split(sep)[0];
    if (typeof config.model_type !== 'string' || !(part in kTried)) continue;
    // Without names of classes, the heads are all that the architecture has.
    const { architectures: _names, ...open } = config;
    const { kind, heads } = await describe({ 'config.json': new TextEncoder().encode(JSON.stringify(open)) }).catch(() => ({}));
    if (!kind) continue;
    const entry = found.get(config.model_type) ?? {
      kinds: new Set(),
      tasks: new Set(['feature-extraction']),
      tried: new Set(),
      gguf: false,
    };
    found.set(config.model_type, entry);
    entry.kinds.add(kind);
    for (const head of heads) entry.tasks.add(kTasks[head]);
    entry.tried.add(kTried[part]);
    if (readdirSync(dirname(path)).some((name) => name.endsWith('.gguf'))) entry.gguf = true;
  }
  for (const folder of ['gguf-families', 'gguf-gated-delta']) {
    const { model_types, decoders } = JSON.parse(readFileSync(join(goldens, folder, 'expected.json'), 'utf8'));
    for (const [name, type] of Object.entries(model_types)) {
      const entry = found.get(type);
      entry.gguf = true;
      const tried = name in decoders ? 'generated tokens' : 'embeddings';
      if (![...entry.tried].some((one) => one.includes(tried))) entry.tried.add(tried);
    }
  }
  const rows = [...found]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, { kinds, tasks, tried, gguf }]) => [
      `\`${name}\``,
      [...kinds].join(', '),
      [...tasks].join(', '),
      gguf ? 'safetensors, .bin, GGUF' : 'safetensors, .bin',
      [...tried].sort().join('; '),
    ]);
  return asTable(['model_type', 'kind', 'tasks', 'files', 'compared with Python'], rows);
}

/** "33 M", "1.2 B" */
const sizeOf = (millions) => (millions < 1000 ? `${millions} M` : `${(millions / 1000).toFixed(1)} B`);

async function repositoryRow({ id, task, config, weights, refused, note, gated, file }, describe) {
  if (!facts[id]) throw new Error(`tools/models/facts.mjs: expected ${id}`);
  const [millions, languages, licence, good] = facts[id];
  const named = `[${id}](https://huggingface.co/${id})`;
  const { kind } = config ? await describe({ 'config.json': new TextEncoder().encode(JSON.stringify(config)) }) : {};
  const loads = refused ? `no: ${refused}` : 'yes';
  const real = file ? 'real weights, in every test' : realWeights.includes(id) ? 'real weights' : 'random';
  const more = [gated && 'with a token', note].filter(Boolean).join('; ');
  return [
    named,
    config ? `\`${config.model_type}\`` : '',
    sizeOf(millions),
    languages,
    licence,
    kind ? task : `(${task})`,
    good,
    weights,
    more && !refused ? `${loads}, ${more}` : loads,
    refused ? '' : real,
  ];
}

export async function modelTables(describe) {
  const rows = await Promise.all(repositories.map((one) => repositoryRow(one, describe)));
  return {
    architectures: await architectures(describe),
    repositories: asTable(
      ['repository', 'model_type', 'size', 'languages', 'licence', 'task', 'good at', 'weights', 'loads', 'tried with'],
      rows,
    ),
  };
}

export const document = join(root, 'docs/models.md');

/** The document with tables between its markers. */
export function withTables(text, tables) {
  for (const [name, table] of Object.entries(tables)) {
    const mark = `<!-- ${name} -->`;
    const begin = text.indexOf(mark) + mark.length;
    const end = text.indexOf(mark, begin);
    if (end < 0) throw new Error(`expected ${mark} twice in the document`);
    text = `${text.slice(0, begin)}\n${table}\n${text.slice(end)}`;
  }
  return text;
}

export const currentDocument = () => (existsSync(document) ? readFileSync(document, 'utf8') : '');
