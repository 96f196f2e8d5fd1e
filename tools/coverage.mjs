// `npm run coverage`: which lines and branches of src the native tests reach. Builds the preset native-coverage, runs its tests, prints a
// row per room and writes what was missed, file by file, to build/native-coverage/missed.txt and the annotated sources to coverage/ there.
// Fails when the branches of src together are below kFloor.
//
//   node tools/coverage.mjs --files ROOM...   (also a row per file of these rooms)
//   node tools/coverage.mjs --report          (reads the profiles of the last run again)
//
// A line marked `LCOV_EXCL_LINE: reason` and the lines from `LCOV_EXCL_START: reason` to `LCOV_EXCL_STOP` count nowhere;
// `LCOV_EXCL_BR_LINE: reason` leaves out a line's branches alone.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { capture, fail, must, root } from './lib/shell.mjs';
import { setup } from './setup.mjs';

/** Percent of the branches of src that the native tests must take. */
const kFloor = 95;

const build = join(root, 'build/native-coverage');
const profiles = join(build, 'profiles');
const merged = join(build, 'merged.profdata');
const args = process.argv.slice(2);
const rooms = args.filter((arg) => !arg.startsWith('--'));

/** Builds and runs all native tests; each program leaves one profile. Without real checkpoints, which take minutes and not everyone has. */
function measure() {
  setup({ forCoverage: true });
  const env = { ...process.env, WATTN_MODELS_DIR: join(build, 'no_models'), LLVM_PROFILE_FILE: join(profiles, '%m.profraw') };
  must('cmake', ['--preset', 'native-coverage'], { cwd: root, env });
  must('cmake', ['--build', '--preset', 'native-coverage'], { cwd: root, env });
  rmSync(profiles, { recursive: true, force: true });
  mkdirSync(profiles, { recursive: true });
  const tests = capture('ctest', ['--preset', 'native-coverage', '-j2'], { cwd: root, env });
  if (!tests.ok) fail(`native tests fail\n${tests.output}`);
  const files = readdirSync(profiles).map((name) => join(profiles, name));
  linkEverything();
  must('llvm-profdata-19', ['merge', '-sparse', ...files, '-o', merged]);
}

/** A program of all that was built of src: what no test program links counts too, as missed. It is only read. */
function linkEverything() {
  const libraries = readdirSync(build).filter((name) => name.endsWith('.a'));
  const whole = ['-Wl,--whole-archive', ...libraries.map((name) => join(build, name)), '-Wl,--no-whole-archive'];
  const main = join(build, 'tests/libwattn_gtest.a');
  must('clang++-19', ['-fprofile-instr-generate', '-o', join(build, 'everything'), ...whole, main]);
}

/** What llvm-cov reads: the first by itself, the others as objects. */
function programs() {
  const names = readdirSync(join(build, 'tests')).filter((name) => /^wattn_test_\w+$/.test(name));
  return [join(build, 'everything'), ...names.flatMap((name) => ['-object', join(build, 'tests', name)])];
}

/** The lines of a file (from 1) that count nowhere, and those whose branches do not count. */
function excluded(text) {
  const all = new Set();
  const branches = new Set();
  let open = false;
  text.split('\n').forEach((line, index) => {
    const marker = /LCOV_EXCL_(START|STOP|LINE|BR_LINE)(: \S)?/.exec(line);
    if (marker && marker[1] !== 'STOP' && !marker[2]) fail(`a coverage marker without a reason: ${line.trim()}`);
    if (marker?.[1] === 'START') open = true;
    if (open || marker?.[1] === 'LINE') all.add(index + 1);
    if (marker?.[1] === 'BR_LINE') branches.add(index + 1);
    if (marker?.[1] === 'STOP') open = false;
  });
  return { all, branches };
}

/**
 * Adds up llvm-cov's functions by place: a line or branch of a template counts once and is covered when any instantiation reaches it.
 * Returns path: { lines: Map(line, covered), branches: Map('line:column', [true taken, false taken]) }.
 */
function collect(functions) {
  const files = new Map();
  for (const { filenames, regions, branches } of functions) {
    for (const [line, column, , , taken, not_taken, file, , kind] of branches) {
      const into = placeIn(files, filenames[file]);
      const sides = into.branches.get(`${line}:${column}`) ?? [false, false];
      if (kind === 4) into.branches.set(`${line}:${column}`, [sides[0] || taken > 0, sides[1] || not_taken > 0]);
    }
    addLines(files, filenames, regions);
  }
  return files;
}

function placeIn(files, path) {
  if (!files.has(path)) files.set(path, { lines: new Map(), branches: new Map() });
  return files.get(path);
}

/** A line is covered when the innermost region at its start, or one that begins on it, ran. */
function addLines(files, filenames, regions) {
  const counts = new Map(); // 'file:line': count of the innermost region so far; regions come outer first
  for (const [from, , to, , count, file, , kind] of regions) {
    if (kind !== 0) continue; // gaps, skipped and expansions are no code of this file
    for (let line = from; line <= to; ++line) {
      const key = `${file}:${line}`;
      counts.set(key, line === from && counts.has(key) ? Math.max(count, counts.get(key)) : count);
    }
  }
  for (const [key, count] of counts) {
    const [file, line] = key.split(':').map(Number);
    const { lines } = placeIn(files, filenames[file]);
    lines.set(line, lines.get(line) || count > 0);
  }
}

/** The counts of one file and its missed lines and branches as text. */
function judge(path, { lines, branches }) {
  const text = readFileSync(path, 'utf8');
  const source = text.split('\n');
  const textOf = (line) => source[line - 1] ?? ''; // of --report: the file may have changed
  const out = excluded(text);
  const sum = { lines: 0, covered: 0, branches: 0, taken: 0 };
  const missed = new Map();
  const note = (line, words) => missed.set(line, [...(missed.get(line) ?? []), words]);
  for (const [line, covered] of lines) {
    if (out.all.has(line) || /^[\s{});]*$/.test(textOf(line))) continue;
    sum.lines += 1;
    sum.covered += covered ? 1 : 0;
    if (!covered) note(line, 'not run');
  }
  for (const [place, sides] of branches) {
    const [line, column] = place.split(':').map(Number);
    if (out.all.has(line) || out.branches.has(line)) continue;
    if (/\bswitch \($/.test(textOf(line).slice(0, column - 1))) continue; // a value that no case names: the compiler has seen all
    sum.branches += 2;
    sum.taken += sides.filter(Boolean).length;
    if (sides.some((side) => !side) && !missed.get(line)?.includes('not run')) {
      note(line, `column ${column} never ${sides[0] ? 'false' : sides[1] ? 'true' : 'reached'}`);
    }
  }
  const shown = [...missed]
    .sort(([a], [b]) => a - b)
    .map(([line, words]) => `${line}: ${textOf(line).trim()}   // ${words.join(', ')}`);
  return { sum, shown };
}

const percent = (part, whole) => (whole === 0 ? '     -' : ((100 * part) / whole).toFixed(1).padStart(6));
const row = (name, sum) =>
  `${name.padEnd(44)} ${percent(sum.covered, sum.lines)} of ${String(sum.lines).padStart(5)} lines  ${percent(sum.taken, sum.branches)} of ${String(sum.branches).padStart(5)} branches`;

function add(into, sum) {
  for (const [field, value] of Object.entries(sum)) into[field] = (into[field] ?? 0) + value;
  return into;
}

if (!args.includes('--report')) measure();
if (!existsSync(merged)) fail('no profiles yet: run npm run coverage');
const source = join(root, 'src');
const common = [...programs(), `-instr-profile=${merged}`];
const { data } = JSON.parse(must('llvm-cov-19', ['export', ...common, source], { maxBuffer: 1 << 30 }));
const files = [...collect(data[0].functions)]
  .filter(([path]) => path.startsWith(`${source}/`))
  .sort(([a], [b]) => (a < b ? -1 : 1));

const byRoom = new Map();
const total = {};
const report = [];
const fileRows = [];
for (const [path, seen] of files) {
  const name = relative(source, path);
  const room = name.split('/')[0];
  const { sum, shown } = judge(path, seen);
  byRoom.set(room, add(byRoom.get(room) ?? {}, sum));
  add(total, sum);
  if (shown.length > 0) report.push(`${row(name, sum)}\n${shown.join('\n')}\n`);
  if (rooms.includes(room)) fileRows.push(row(name, sum));
}
writeFileSync(join(build, 'missed.txt'), report.join('\n'));
if (!args.includes('--report')) {
  must('llvm-cov-19', [
    'show',
    ...common,
    '-format=html',
    '-show-branches=count',
    `-output-dir=${join(build, 'coverage')}`,
    source,
  ]);
}
for (const [room, sum] of byRoom) console.log(row(room, sum));
for (const line of fileRows) console.log(line);
console.log(row('src', total));
const reached = (100 * total.taken) / total.branches;
if (reached < kFloor)
  fail(`native tests take ${reached.toFixed(1)} % of the branches of src, expected ${kFloor} % (build/native-coverage/missed.txt)`);
