// `npm run mutate [-- --count 20 --seed 1 --from 0]`: do the tests notice a bug? Changes one operator, constant or statement of src or web at a
// time, in a copy of the tree under build/mutants, and runs the tests that the room can reach. Prints each mutant that no test noticed. `--from`
// continues in the list of a seed; `--room ROOM` takes mutants of one room, `--side src` or `--side web` those of one side; `--list` only shows
// them.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { filesOf, limits, randomOf } from './lib/mutants.mjs';
import * as src from './lib/mutate_native.mjs';
import { fail, root } from './lib/shell.mjs';
import { setup } from './setup.mjs';

const { values: options } = parseArgs({
  options: {
    count: { type: 'string', default: '20' },
    seed: { type: 'string', default: '1' },
    from: { type: 'string', default: '0' },
    side: { type: 'string', default: '' },
    room: { type: 'string', multiple: true, default: [] },
    list: { type: 'boolean', default: false },
  },
});
setup(); // a parser is one of its packages
const sides = { src, web: await import('./lib/mutate_web.mjs') };

const sideOf = (file) => file.split('/')[0];
/** The tests for a file. */
const testsOf = (file) => {
  const { kTests } = sides[sideOf(file)];
  return kTests[file.split('/')[1]] ?? kTests[dirname(file).split('/').slice(0, 2).join('/')];
};

function roomFolders() {
  const all = [...Object.keys(src.kTests).map((room) => `src/${room}`), ...Object.keys(sides.web.kTests)];
  const isWanted = (folder) =>
    options.room.length === 0 || options.room.some((room) => folder === room || folder === `src/${room}`);
  return all.filter((folder) => isWanted(folder) && folder.startsWith(options.side));
}

/** All mutants in an order of the seed; of one place only the first stays. */
function chooseMutants() {
  const files = roomFolders().flatMap(filesOf).sort();
  const all = files.flatMap((file) => sides[sideOf(file)].mutantsOf(file));
  const random = randomOf(Number(options.seed));
  for (let i = all.length - 1; i > 0; --i) {
    const j = Math.floor(random() * (i + 1));
    [all[i], all[j]] = [all[j], all[i]];
  }
  const places = new Set();
  return all.filter(({ file, at }) => places.size < places.add(`${file}:${at}`).size);
}

/** How long each test takes without a mutant; kept until a source changes. */
function baseline(name, tests) {
  const side = sides[name];
  const hash = side.prepare();
  const file = join(root, `build/mutants/times_${name}.json`);
  const kept = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {};
  const times = kept.hash === hash ? kept.times : {};
  for (const test of tests.filter((one) => !(one in times))) {
    const wrong = side.compile(test);
    if (wrong !== undefined) fail(wrong);
    const run = side.runTests(test, limits(1800));
    if (!run.ok) fail(`${test} fails without a mutant\n${run.output}`);
    times[test] = run.seconds;
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, JSON.stringify({ hash, times }));
  }
  return times;
}

/** 'killed by TEST', 'survived' or 'does not compile'. */
function judge({ file, at, from, to }, times) {
  const side = sides[sideOf(file)];
  const text = readFileSync(join(root, file), 'utf8');
  side.write(file, text.slice(0, at) + to + text.slice(at + from.length));
  try {
    for (const test of testsOf(file)) {
      if (side.compile(test) !== undefined) return 'does not compile';
      if (!side.runTests(test, limits(4 * times[test] + 10)).ok) return `killed by ${test}`;
    }
    return side.misTyped?.() === undefined ? 'survived' : 'does not compile';
  } finally {
    side.restore(file, text);
  }
}

const mutants = chooseMutants().slice(Number(options.from), Number(options.from) + Number(options.count));
const columnOf = ({ file, at }) => at - readFileSync(join(root, file), 'utf8').lastIndexOf('\n', at - 1);
const words = (mutant) =>
  `${mutant.file}:${mutant.line}:${columnOf(mutant)}: '${mutant.from.replace(/\s+/g, ' ')}' becomes '${mutant.to}'`;
if (options.list) {
  for (const mutant of mutants) console.log(words(mutant));
  process.exit(0);
}

const times = {};
for (const name of Object.keys(sides)) {
  const own = mutants.filter(({ file }) => sideOf(file) === name);
  if (own.length > 0) times[name] = baseline(name, [...new Set(own.flatMap(({ file }) => testsOf(file)))]);
}

const sum = { killed: 0, survived: 0, not: 0 };
mutants.forEach((mutant, index) => {
  const verdict = judge(mutant, times[sideOf(mutant.file)]);
  sum[verdict === 'survived' ? 'survived' : verdict.startsWith('killed') ? 'killed' : 'not'] += 1;
  console.log(`${Number(options.from) + index} ${verdict.padEnd(20)} ${words(mutant)}`);
  if (verdict !== 'survived') return;
  console.log(`    ${readFileSync(join(root, mutant.file), 'utf8').split('\n')[mutant.line - 1].trim()}`);
});
const score = ((100 * sum.killed) / Math.max(1, sum.killed + sum.survived)).toFixed(0);
console.log(`${sum.killed} killed, ${sum.survived} survived, ${sum.not} did not compile: ${score} % killed`);
