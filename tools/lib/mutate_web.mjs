// The web side of tools/mutate.mjs: changes in the syntax tree, and runs a room's Jest files with a separate bundle.
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parse } from '@babel/parser';
import { filesOf } from './mutants.mjs';
import { capture, root } from './shell.mjs';

/** Room: the Jest files that could notice a change of it, the likeliest first. */
export const kTests = {
  'web/core': ['options', 'tensor', 'tensor_methods', 'tensor_functions', 'numbers', 'bad_input', 'errors', 'chat', 'faults', 'one_state'],
  'web/source': ['sources', 'cache', 'retries', 'refused_files', 'torch_file', 'torch_models', 'tiktoken', 'access', 'inside', 'any_model', 'hub_settings', 'hub_gguf', 'adapters', 'pattern', 'sha256', 'gguf_families', 'saved_files', 'readers', 'quantized', 'copies', 'prefer_packed'],
  'web/host': ['wasm', 'threads', 'workers', 'memory', 'text_calls', 'model_calls', 'embed', 'nn', 'vector_rows', 'entries'],
  'web/tokenizer': ['tokenizer', 'tokenizer_helpers', 'tokenizer_saving', 'tokenizer_vocabulary', 'vocabularies', 'encodings', 'pieces', 'chat'],
  'web/engine': ['embed', 'model', 'workers', 'threads', 'any_model', 'default_model', 'adapters', 'heads', 'options', 'memory'],
  'web/nn': ['nn', 'autograd', 'own_loss', 'half', 'word2vec'],
  'web/vectors': ['similarity', 'clusters', 'classifier', 'own_vectors', 'embeddings', 'word2vec', 'static', 'distill'],
  'web/generation': ['generate', 'model_generate', 'text2text', 'chat', 'structured', 'generation_rows'],
  'web/gpu': ['gpu'],
  'web/tasks': ['tasks', 'heads', 'embed', 'late_interaction', 'sparse_encoding', 'zero_shot_ner', 'zero_shot_labels', 'text2text', 'generate', 'any_model'],
  'web/automodel': ['model', 'model_generate', 'glass_box', 'glass_box_decoders'],
  'web/evaluate': ['evaluate'],
  'web/redact': ['redact', 'redact_rules'],
  'web/distill': ['distill'],
  'web/pack': ['pack', 'pack_llama', 'pack_native', 'pack_smaller', 'gguf_families', 'pack_hub'],
  'web/search': ['search', 'filters', 'search_damage', 'search_faults', 'search_crash', 'vector_rows', 'search_quality'],
  'web/static_search': ['static_search', 'cli_search'],
  'web/search_element': ['../browser/search_element'],
  'web/train': ['trainer', 'training', 'own_loss', 'config_text', 'saved_files', 'trainer_faults'],
  'web/serve': ['serve', 'serve_limits', 'serve_attacks', 'mcp'],
  'web/cli': ['cli', 'cli_help', 'catalog', 'cli_tasks', 'cli_output', 'cli_search', 'cli_train', 'messages'],
  'web/entries': ['entries', 'one_state', 'react'],
}; // prettier-ignore

const tree = join(root, 'build/mutants/web');

const kOperators = {
  '+': '-', '-': '+', '*': '/', '/': '*', '%': '*', '<': '<=', '<=': '<', '>': '>=', '>=': '>', '===': '!==', '!==': '===', '&&': '||', '||': '&&', '??': '&&',
  '+=': '-=', '-=': '+=', '++': '--', '--': '++',
}; // prettier-ignore

/** What may stand in a node's place, and where the change is: [from, begin, to]. */
function changesOf(node, text) {
  const whole = (...others) => others.map((to) => [text.slice(node.start, node.end), node.start, to]);
  /** The operator stands between begin and end, with blanks or comments around it. */
  const operator = (begin, end) => {
    const at = text.indexOf(node.operator, begin);
    const to = kOperators[node.operator];
    return to !== undefined && at >= 0 && at < end ? [[node.operator, at, to]] : [];
  };
  switch (node.type) {
    case 'BinaryExpression':
    case 'LogicalExpression':
    case 'AssignmentExpression':
      return operator(node.left.end, (node.right ?? node).start);
    case 'UnaryExpression':
    case 'UpdateExpression':
      return node.operator === '!' ? [['!', node.start, '']] : operator(node.start, node.end);
    case 'BooleanLiteral':
      return whole(String(!node.value));
    case 'NumericLiteral':
      return whole(`${node.value + 1}`, `${node.value - 1}`);
    case 'ContinueStatement':
    case 'BreakStatement':
      return whole(';');
    case 'ReturnStatement':
      return node.argument ? whole('return undefined;') : [];
    case 'ExpressionStatement':
      return node.expression.type === 'CallExpression' ? whole(';') : [];
    case 'IfStatement':
      return [[text.slice(node.test.start, node.test.end), node.test.start, 'false']];
    default:
      return [];
  }
}

/** Every mutant of a file: { file, at, from, to, line }. Types and what errors say are left alone. */
export function mutantsOf(file) {
  if (!file.endsWith('.ts') || file.endsWith('.d.ts')) return [];
  const text = readFileSync(join(root, file), 'utf8');
  const found = [];
  const visit = (node) => {
    if (Array.isArray(node)) return node.forEach(visit);
    if (typeof node?.type !== 'string' || /^TS(?!AsExpression|NonNull|Satisfies)|^ThrowStatement$|^ImportDecl/.test(node.type))
      return undefined;
    for (const [from, at, to] of changesOf(node, text))
      found.push({ file, at, from, to, line: text.slice(0, at).split('\n').length });
    for (const [key, value] of Object.entries(node)) if (!/Comments$|^typeAnnotation$|^loc$/.test(key)) visit(value);
    return undefined;
  };
  visit(parse(text, { sourceType: 'module', plugins: ['typescript'] }).program);
  return found;
}

/** Makes the copy: files that tests read in place are links. Returns a hash of all. */
export function prepare() {
  const hash = createHash('sha256');
  rmSync(tree, { recursive: true, force: true });
  const files = [
    'package.json',
    'tsconfig.json',
    'tsconfig.types.json',
    'jest.config.mjs',
    'README.md',
    'CHANGELOG.md',
    'HACKING.md',
  ];
  const folders = ['web', 'tools', 'tests/web', 'tests/browser', 'tests/compat', 'docs'].flatMap(filesOf);
  for (const file of [...files, ...folders.filter((path) => !path.includes('node_modules'))]) {
    const bytes = readFileSync(join(root, file));
    hash.update(file).update(bytes);
    mkdirSync(dirname(join(tree, file)), { recursive: true });
    writeFileSync(join(tree, file), bytes);
  }
  const wasm = readFileSync(join(root, 'build/wasm-simd/build_id.h'));
  hash.update(wasm);
  mkdirSync(join(tree, 'build'), { recursive: true });
  const links = [
    'node_modules',
    'src',
    'bindings',
    'create',
    'models',
    'build/wasm-simd',
    'tests/goldens',
    'tests/fixtures',
    'tests/engines',
    'tests/fuzz',
    'examples',
    'demo',
    '.models',
  ];
  for (const link of links) if (existsSync(join(root, link))) symlinkSync(join(root, link), join(tree, link));
  return hash.digest('hex');
}

let isStale = true;

export function write(file, text) {
  writeFileSync(join(tree, file), text);
  isStale = true;
}

export const restore = write;

const node = (...args) => capture(process.execPath, args, { cwd: tree, env: { ...process.env, FAST: '1', WATTN_TYPES: 'none' } });

/** Bundles the copy if it has changed. undefined: it can be run; else what is wrong with it. */
export function compile() {
  if (!isStale) return undefined;
  const { ok, output } = node('tools/bundle.mjs');
  if (ok) isStale = false;
  return ok ? undefined : output;
}

/** What the type checker says of the copy; undefined: nothing. It is asked only of mutants that no test noticed, as it takes longer. */
export function misTyped() {
  const { ok, output } = node('node_modules/typescript/bin/tsc', '--noEmit', '-p', 'tsconfig.json');
  return ok ? undefined : output;
}

/** Runs one Jest file within limits(seconds). */
export function runTests(test, limits) {
  const args = [
    '--experimental-vm-modules',
    'node_modules/jest/bin/jest.js',
    '--bail',
    '--silent',
    join('tests/web', `${test}.test.ts`),
  ];
  const begin = Date.now();
  const command = ['-c', `ulimit -t ${limits.cpu}; exec "$0" "$@"`, process.execPath, ...args];
  const result = capture('bash', command, { cwd: tree, timeout: 1000 * limits.wall, killSignal: 'SIGKILL' });
  return { ok: result.ok, seconds: (Date.now() - begin) / 1000, output: result.output };
}
