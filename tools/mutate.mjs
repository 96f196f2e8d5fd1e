// `npm run mutate [-- --count 20 --seed 1 --from 0]`: do the native tests notice a bug? Changes one operator, constant or statement of the
// rooms below at a time, in a copy of the tree under build/mutants, and runs the test programs that the room can reach. Prints each mutant
// that every test let pass. `--from` goes on in the list of a seed; `--room ROOM` takes mutants of one room; `--list` only shows them.
import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { capture, fail, must, root, which } from './lib/shell.mjs';
import { setup } from './setup.mjs';

/** Room: the test programs that could notice a change of it, the likeliest first. */
const kPrograms = {
  ops: ['ops', 'models', 'tasks', 'nn', 'generation', 'learn'],
  generation: ['generation', 'tasks', 'nn'],
  models: ['models', 'engine', 'tasks'],
  engine: ['engine', 'tasks', 'models'],
  tasks: ['tasks', 'engine', 'models'],
};

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

const { values: options } = parseArgs({
  options: {
    count: { type: 'string', default: '20' },
    seed: { type: 'string', default: '1' },
    from: { type: 'string', default: '0' },
    room: { type: 'string', multiple: true, default: Object.keys(kPrograms) },
    list: { type: 'boolean', default: false },
  },
});
const home = join(root, 'build/mutants');
const tree = join(home, 'tree');
const build = join(home, 'build');

/** The text with comments, texts, preprocessor lines and assertions blanked out, each character at its place. */
function codeOf(text) {
  const blank = (part) => part.replace(/[^\n]/g, ' ');
  return text
    .replace(/\/\/[^\n]*|"(?:[^"\\\n]|\\.)*"|(?<!\w)'(?:[^'\\\n]|\\.)+'/g, blank)
    .replace(/^ *(#|static_assert|assert\(|template <|using )[^\n]*/gm, blank);
}

/** Every mutant of a file: { file, at, from, to, line }. */
function mutantsOf(file) {
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

/** A generator of numbers in [0, 1) from a seed (mulberry32). */
function randomOf(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let x = Math.imul(state ^ (state >>> 15), 1 | state);
    x = (x + Math.imul(x ^ (x >>> 7), 61 | x)) ^ x;
    return ((x ^ (x >>> 14)) >>> 0) / 4294967296;
  };
}

/** All mutants in an order of the seed; of one place only the first stays. */
function chooseMutants() {
  const files = options.room.flatMap((room) => filesOf(`src/${room}`)).sort();
  const all = files.flatMap(mutantsOf);
  const random = randomOf(Number(options.seed));
  for (let i = all.length - 1; i > 0; --i) {
    const j = Math.floor(random() * (i + 1));
    [all[i], all[j]] = [all[j], all[i]];
  }
  const places = new Set();
  return all.filter(({ file, at }) => places.size < places.add(`${file}:${at}`).size);
}

function filesOf(folder) {
  const names = readdirSync(join(root, folder), { recursive: true }).map((name) => join(folder, name));
  return names.filter((name) => statSync(join(root, name)).isFile());
}

/** Brings the copy up to the tree: a file is written only when it differs, so that little is built. Returns a hash of all. */
function copyTree() {
  const hash = createHash('sha256');
  const copied = ['src', 'tests/native', 'tests/parity', 'bench/native', 'cmake'].flatMap(filesOf);
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
    cpSync(join(root, folder), join(tree, folder), { recursive: true, force: false });
  }
  return hash.digest('hex');
}

const compile = (program) => capture('cmake', ['--build', build, '--target', `wattn_test_${program}`]);

/** Runs one test program for at most so many seconds, with 8 GB: a mutant may loop or allocate for ever. */
function runTests(program, seconds) {
  const path = join(build, 'tests', `wattn_test_${program}`);
  const command = `ulimit -v 8000000; exec ${path} --gtest_brief=1 --gtest_fail_fast`;
  const begin = Date.now();
  const result = capture('bash', ['-c', command], { timeout: Math.ceil(1000 * seconds), killSignal: 'SIGKILL', cwd: build });
  return { ok: result.ok, seconds: (Date.now() - begin) / 1000, output: result.output };
}

/** How long each program takes without a mutant; kept until a source changes. */
function baseline(hash, programs) {
  const file = join(home, 'times.json');
  const kept = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {};
  const times = kept.hash === hash ? kept.times : {};
  for (const program of programs.filter((name) => !(name in times))) {
    const built = compile(program);
    if (!built.ok) fail(built.output);
    const run = runTests(program, 1800);
    if (!run.ok) fail(`${program} fails without a mutant\n${run.output}`);
    times[program] = run.seconds;
  }
  writeFileSync(file, JSON.stringify({ hash, times }));
  return times;
}

/** 'killed by PROGRAM', 'survived' or 'does not compile'. */
function judge({ file, at, from, to }, times) {
  const text = readFileSync(join(tree, file), 'utf8');
  writeFileSync(join(tree, file), text.slice(0, at) + to + text.slice(at + from.length));
  try {
    for (const program of kPrograms[file.split('/')[1]]) {
      if (!compile(program).ok) return 'does not compile';
      if (!runTests(program, 4 * times[program] + 10).ok) return `killed by ${program}`;
    }
    return 'survived';
  } finally {
    writeFileSync(join(tree, file), text);
  }
}

const mutants = chooseMutants().slice(Number(options.from), Number(options.from) + Number(options.count));
const words = ({ file, line, from, to }) => `${file}:${line}: '${from.replace(/\s+/g, ' ')}' becomes '${to}'`;
if (options.list) {
  for (const mutant of mutants) console.log(words(mutant));
  process.exit(0);
}

setup();
delete process.env.WATTN_MODELS_DIR; // real checkpoints take minutes
const hash = copyTree();
const compiler = which('clang++-19') ? ['-DCMAKE_CXX_COMPILER=clang++-19'] : [];
const flags = ['-DWATTN_PRECOMPILE=ON', '-DCMAKE_BUILD_TYPE=Debug', '-DCMAKE_CXX_FLAGS_DEBUG=-O1']; // asserts on, no sanitizers
if (!existsSync(join(build, 'build.ninja'))) must('cmake', ['-S', tree, '-B', build, '-G', 'Ninja', ...compiler, ...flags]);
const times = baseline(hash, [...new Set(mutants.flatMap(({ file }) => kPrograms[file.split('/')[1]]))]);

const sum = { killed: 0, survived: 0, not: 0 };
mutants.forEach((mutant, index) => {
  const verdict = judge(mutant, times);
  sum[verdict === 'survived' ? 'survived' : verdict.startsWith('killed') ? 'killed' : 'not'] += 1;
  console.log(`${Number(options.from) + index} ${verdict.padEnd(20)} ${words(mutant)}`);
  if (verdict !== 'survived') return;
  const { file, line } = mutant;
  console.log(`    ${readFileSync(join(tree, file), 'utf8').split('\n')[line - 1].trim()}`);
});
const score = ((100 * sum.killed) / Math.max(1, sum.killed + sum.survived)).toFixed(0);
console.log(`${sum.killed} killed, ${sum.survived} survived, ${sum.not} did not compile: ${score} % killed`);
