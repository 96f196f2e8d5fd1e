// The src side of tools/mutate.mjs: changes by patterns, and runs the native tests in a separate build.
import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { filesOf, limits } from './mutants.mjs';
import { capture, fail, must, root, which } from './shell.mjs';

/** Room: the test programs that could notice a change of it, the likeliest first. */
const kTests = {
  core: ['core', 'io', 'tokenizer', 'models', 'tasks'],
  io: ['io', 'models', 'engine', 'tasks'],
  tokenizer: ['tokenizer', 'engine', 'tasks'],
  constraints: ['constraints'],
  kernels: ['kernels', 'ops', 'nn', 'tasks'],
  search: ['search'],
  plan: ['plan', 'models', 'pass', 'tasks'],
  pass: ['pass', 'models', 'tasks'],
  nn: ['nn'],
  learn: ['learn', 'nn', 'models', 'tasks'],
  ops: ['ops', 'models', 'tasks', 'nn', 'generation', 'learn'],
  generation: ['generation', 'tasks', 'nn'],
  models: ['models', 'engine', 'tasks'],
  engine: ['engine', 'tasks', 'models'],
  tasks: ['tasks', 'engine', 'models'],
};

/** The rooms of src. */
export const rooms = () => Object.keys(kTests).map((room) => `src/${room}`);

const home = join(root, 'build/mutants');
const tree = join(home, 'tree');
const build = join(home, 'build');

/** A pattern (its first group is replaced) and what may stand in its place. clang-format puts spaces around binary operators only. */
const kChanges = [
  { pattern: /(?<= )([-+*/])(?= )/g, to: { '+': ['-'], '-': ['+'], '*': ['/'], '/': ['*'] } },
  { pattern: /(?<= )([-+*/]=)(?= )/g, to: { '+=': ['-='], '-=': ['+='], '*=': ['/='], '/=': ['*='] } },
  {
    pattern: /(?<= )(<=|>=|==|!=|<|>)(?=[ \n])/g,
    to: { '<': ['<=', '>'], '<=': ['<', '>'], '>': ['>=', '<'], '>=': ['>', '<'], '==': ['!='], '!=': ['=='] },
  },
  { pattern: /(?<= )(&&|\|\|)(?=[ \n])/g, to: { '&&': ['||'], '||': ['&&'] } },
  { pattern: /\b(true|false)\b/g, to: { true: ['false'], false: ['true'] } },
  { pattern: /(\+\+|--)(?=\w)|(?<=\w)(\+\+|--)/g, to: { '++': ['--'], '--': ['++'] } },
  { pattern: /(?<![\w.'])(\d+(?:\.\d+)?(?:e[-+]?\d+)?f?)(?![\w.'])/g, to: otherNumbers },
  { pattern: /^ *(continue|break);/gm, to: { continue: [''], break: [''] } },
  { pattern: /\breturn ((?!\{\}|true\b|false\b|std::move\(error)[^;{}]+);/g, to: () => ['{}'] },
];

function otherNumbers(text) {
  const suffix = text.endsWith('f') ? 'f' : '';
  const value = Number(text.replace(/f$/, ''));
  if (/[.e]/.test(text)) return [`-${text}`, `${(value + 1).toFixed(6)}${suffix}`];
  return value === 0 ? ['1'] : [`${value + 1}`, `${value - 1}`, `-${text}`];
}

/** The text with comments, texts, preprocessor lines and assertions blanked out, each character at its place. */
function codeOf(text) {
  const blank = (part) => part.replace(/[^\n]/g, ' ');
  return text
    .replace(/\/\/[^\n]*|"(?:[^"\\\n]|\\.)*"|(?<!\w)'(?:[^'\\\n]|\\.)+'/g, blank)
    .replace(/^ *(#|static_assert|assert\(|template <|using )[^\n]*/gm, blank);
}

/** Every mutant of a file: { file, at, from, to, line }. */
export function mutantsOf(file) {
  if (/unicode_\w*tables\.cpp$|kernels.*_(wasm|relaxed)\./.test(file)) return []; // made by a script; not in native builds
  const text = readFileSync(join(root, file), 'utf8');
  const code = codeOf(text);
  const found = [];
  for (const { pattern, to } of kChanges) {
    for (const match of code.matchAll(pattern)) {
      const from = match[1] ?? match[2];
      const at = match.index + match[0].indexOf(from);
      const line = text.slice(0, at).split('\n').length;
      for (const other of typeof to === 'function' ? to(from) : to[from]) found.push({ file, at, from, to: other, line });
    }
  }
  return found;
}

/** Whether a file's copy is not there, or of another time. A copy's time is rounded. */
function isOther(from, to) {
  const now = statSync(from);
  const copied = statSync(to, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  return now.isDirectory() || Math.abs(copied - now.mtimeMs) > 1;
}

/** Brings the copy up to the tree: a file is written only when it differs, so that little is built. Returns a hash of all. */
function prepare() {
  rmSync(saved, { recursive: true, force: true }); // of a run that was ended
  const hash = createHash('sha256');
  const copied = ['src', 'bindings', 'tests/native', 'tests/parity', 'bench/native', 'cmake'].flatMap(filesOf);
  for (const file of [...copied, 'CMakeLists.txt', 'tests/CMakeLists.txt']) {
    const text = readFileSync(join(root, file));
    hash.update(file).update(text);
    const to = join(tree, file);
    if (existsSync(to) && readFileSync(to).equals(text)) continue;
    mkdirSync(join(to, '..'), { recursive: true });
    writeFileSync(to, text);
  }
  for (const folder of ['src', 'tests/native', 'bench/native']) {
    for (const name of readdirSync(join(tree, folder), { recursive: true })) {
      if (!existsSync(join(root, folder, name))) rmSync(join(tree, folder, name), { recursive: true, force: true });
    }
  }
  for (const folder of ['tests/goldens', 'tests/fixtures', 'models']) {
    cpSync(join(root, folder), join(tree, folder), { recursive: true, preserveTimestamps: true, filter: isOther });
  }
  delete process.env.WATTN_MODELS_DIR; // real checkpoints take minutes
  const compiler = which('clang++-19') ? ['-DCMAKE_CXX_COMPILER=clang++-19'] : [];
  const flags = ['-DWATTN_PRECOMPILE=ON', '-DCMAKE_BUILD_TYPE=Debug', '-DCMAKE_CXX_FLAGS_DEBUG=-O1']; // asserts on, no sanitizers
  if (!existsSync(join(build, 'build.ninja'))) must('cmake', ['-S', tree, '-B', build, '-G', 'Ninja', ...compiler, ...flags]);
  return hash.digest('hex');
}

const saved = join(home, 'saved');

/** With times to the nanosecond, which Node's copies round: to Ninja, half of the objects would be older than what it noted of them. */
const copy = (from, to) => must('cp', ['-a', from, to]);

/** Changes a file, which restore() takes back. */
export function write(file, text) {
  // Whole, with all times: else what depends on a header would be built twice for each of its mutants.
  copy(build, saved);
  copy(join(tree, file), join(home, 'original'));
  writeFileSync(join(tree, file), text);
}

export function restore(file) {
  copy(join(home, 'original'), join(tree, file));
  rmSync(build, { recursive: true });
  renameSync(saved, build);
}

/** Builds what a test program needs. undefined: it is built; else what the compiler says. */
export function compile([program]) {
  const { ok, output } = capture('cmake', ['--build', build, '--target', `wattn_test_${program}`]);
  return ok ? undefined : output;
}

/** Runs one test program, a share of it on each core, within limits(seconds) and with 8 GB: a mutant may loop or allocate for ever. */
export function runTests([program], limit) {
  const path = join(build, 'tests', `wattn_test_${program}`);
  const command = `
    ulimit -v 8000000 -t ${limit.cpu}
    for ((i = 0; i < $GTEST_TOTAL_SHARDS; ++i)); do
      GTEST_SHARD_INDEX=$i timeout -s KILL ${limit.wall} ${path} --gtest_brief=1 --gtest_fail_fast & shards+=($!)
    done
    for shard in "\${shards[@]}"; do wait $shard || { kill "\${shards[@]}"; exit 1; }; done`;
  const begin = Date.now();
  const env = { ...process.env, GTEST_TOTAL_SHARDS: `${availableParallelism()}` };
  const result = capture('bash', ['-c', command], { cwd: build, env });
  return { ok: result.ok, seconds: (Date.now() - begin) / 1000, output: result.output };
}

/** For mutants: what to run for the number of one, as lists of tests with their seconds. Times are kept until a source changes. */
export function baseline(mutants) {
  const hash = prepare();
  const testsOf = ({ file }) => kTests[file.split('/')[1]];
  const kept = join(home, 'times.json');
  const before = existsSync(kept) ? JSON.parse(readFileSync(kept, 'utf8')) : {};
  const times = before.hash === hash ? before.times : {};
  for (const test of new Set(mutants.flatMap(testsOf))) {
    const wrong = compile([test]); // else each mutant would build what a run that was ended left undone
    if (wrong !== undefined) fail(wrong);
    if (test in times) continue;
    const run = runTests([test], limits(1800));
    if (!run.ok) fail(`${test} fails without a mutant\n${run.output}`);
    times[test] = run.seconds;
    writeFileSync(kept, JSON.stringify({ hash, times }));
  }
  return (number) => testsOf(mutants[number]).map((test) => ({ tests: [test], seconds: times[test] }));
}
