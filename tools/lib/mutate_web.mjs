// The web side of tools/mutate.mjs: changes in the syntax tree, and runs the Jest files that reach one, with a separate bundle. Which files those are is
// measured once for a list of mutants: probes in a copy of the sources write down that they ran.
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parse } from '@babel/parser';
import { filesOf, limits } from './mutants.mjs';
import { capture, fail, root } from './shell.mjs';

/** Rooms whose code runs in pages, where no probe can write: the Jest files for them. */
export const kInPages = { 'web/search_element': ['tests/browser/search_element.test.ts'] };

/** The rooms of web. */
export const rooms = () =>
  readdirSync(join(root, 'web'), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => `web/${name}`);

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

/** Where a function can note that it runs: { at }, or { at, end } around an expression. */
function probeOf({ body }) {
  if (body?.type === 'BlockStatement') return { at: body.start + 1 };
  return body?.end === undefined ? undefined : { at: body.start, end: body.end };
}

/** Every mutant of a file: { file, at, from, to, line, probe }. Types and what errors say are left alone. */
export function mutantsOf(file) {
  if (!file.endsWith('.ts') || file.endsWith('.d.ts')) return [];
  const text = readFileSync(join(root, file), 'utf8');
  const found = [];
  const visit = (node, probe) => {
    if (Array.isArray(node)) return node.forEach((each) => visit(each, probe));
    if (typeof node?.type !== 'string' || /^TS(?!AsExpression|NonNull|Satisfies)|^ThrowStatement$|^ImportDecl/.test(node.type))
      return undefined;
    for (const [from, at, to] of changesOf(node, text))
      found.push({ file, at, from, to, line: text.slice(0, at).split('\n').length, probe });
    const own = /Function|Method$/.test(node.type) ? (probeOf(node) ?? probe) : probe;
    for (const [key, value] of Object.entries(node)) if (!/Comments$|^typeAnnotation$|^loc$/.test(key)) visit(value, own);
    return undefined;
  };
  const { body } = parse(text, { sourceType: 'module', plugins: ['typescript'] }).program;
  for (const statement of body) visit(statement, { at: statement.start });
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

function jest(env, limit, ...args) {
  const own = ['--experimental-vm-modules', 'node_modules/jest/bin/jest.js', '--silent', '--maxWorkers=2', ...args];
  // Jest's workers outlive it if it is ended, so they are ended with it: all of them are one process group.
  const script = `set -m; ulimit -t ${limit.cpu}; timeout -s KILL ${limit.wall} "$0" "$@" & wait $!; code=$?; kill -KILL -- -$! 2> /dev/null; exit $code`;
  return capture('bash', ['-c', script, process.execPath, ...own], { cwd: tree, env: { ...process.env, ...env } });
}

/** Runs Jest files within limits(seconds) until one fails. */
export const runTests = (tests, limit) => jest({}, limit, '--bail', ...tests);

/** The text of a file with a note in the function of each mutant. The first run of a note in a process adds the mutant's number to $WATTN_REACHED. */
function withProbes(text, mutants) {
  const parts = mutants.flatMap(([number, { probe }]) => {
    const note = `((globalThis.$reached ??= {})[${number}] ??= (globalThis.process?.env?.WATTN_REACHED && process.getBuiltinModule('fs').appendFileSync(process.env.WATTN_REACHED, '${number}\\n'), 1))`;
    return probe.end === undefined
      ? [{ at: probe.at, add: `${note};` }]
      : [
          { at: probe.at, add: `(${note}, ` },
          { at: probe.end, add: ')' },
        ];
  });
  // From the end, so that places stay right.
  parts.sort((a, b) => b.at - a.at);
  return parts.reduce((out, { at, add }) => out.slice(0, at) + add + out.slice(at), text);
}

/** Which tests each mutant's code runs in, and how long they take: { times: { test: seconds }, reached: [[test, ..], ..] }. */
function measure(mutants) {
  const files = [...new Set(mutants.map(({ file }) => file))];
  const textOf = (file) => readFileSync(join(root, file), 'utf8');
  for (const file of files) {
    const own = [...mutants.entries()].filter(([, mutant]) => mutant.file === file);
    write(file, withProbes(textOf(file), own));
  }
  const wrong = compile();
  if (wrong !== undefined) fail(wrong);
  const [folder, report] = [join(tree, 'reached'), join(tree, 'report.json')];
  mkdirSync(folder);
  const environment = `--testEnvironment=${join(tree, 'tools/lib/reach_environment.cjs')}`;
  const paths = ['tests/web/', ...Object.values(kInPages).flat()];
  jest({ WATTN_REACHED_IN: folder }, limits(7200), environment, '--json', `--outputFile=${report}`, ...paths);
  for (const file of files) write(file, textOf(file));
  const times = {};
  const reached = mutants.map(({ file }) => [...(kInPages[dirname(file)] ?? [])]);
  for (const { name, status, startTime, endTime } of JSON.parse(readFileSync(report, 'utf8')).testResults) {
    const test = name.slice(tree.length + 1);
    if (status === 'failed') {
      console.log(`left out, as it fails without a mutant: ${test}`);
      continue;
    }
    times[test] = (endTime - startTime) / 1000;
    const lines = join(folder, test.replaceAll('/', '+'));
    const numbers = existsSync(lines) ? readFileSync(lines, 'utf8').trim().split('\n') : [];
    for (const number of new Set(numbers)) reached[Number(number)].push(test);
  }
  return { times, reached };
}

const kFirst = 4;

/** For mutants: what to run for the number of one, as lists of tests with their seconds. Kept until a source or the list changes. */
export function baseline(mutants) {
  const hash = createHash('sha256').update(prepare()).update(JSON.stringify(mutants)).digest('hex');
  const kept = join(root, 'build/mutants/reached.json');
  let facts = existsSync(kept) ? JSON.parse(readFileSync(kept, 'utf8')) : {};
  if (facts.hash !== hash) writeFileSync(kept, JSON.stringify((facts = { hash, ...measure(mutants) })));
  return (number) => {
    const tests = facts.reached[number].filter((test) => test in facts.times).sort((a, b) => facts.times[a] - facts.times[b]);
    const lists = [tests.slice(0, kFirst), tests.slice(kFirst)].filter((list) => list.length > 0);
    return lists.map((list) => ({ tests: list, seconds: list.reduce((sum, test) => sum + facts.times[test], 0) }));
  };
}
