// `npm run mutate [-- --count 20 --seed 1 --from 0]`: do the tests notice a bug? Changes one operator, constant or statement of src or web at a
// time, in a copy of the tree under build/mutants, and runs the tests that can reach it. Prints each mutant that no test noticed. `--from`
// continues in the list of a seed; `--room ROOM` takes mutants of one room, `--side src` or `--side web` those of one side; `--list` only shows
// them.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { filesOf, limits, randomOf } from './lib/mutants.mjs';
import * as src from './lib/mutate_native.mjs';
import { root } from './lib/shell.mjs';
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

const sideOf = ({ file }) => file.split('/')[0];

function roomFolders() {
  const isWanted = (folder) =>
    options.room.length === 0 || options.room.some((room) => folder === room || folder === `src/${room}`);
  return Object.values(sides)
    .flatMap(({ rooms }) => rooms())
    .filter((folder) => isWanted(folder) && folder.startsWith(options.side));
}

/** All mutants in an order of the seed; of one place only the first stays. */
function chooseMutants() {
  const files = roomFolders().flatMap(filesOf).sort();
  const all = files.flatMap((file) => sides[sideOf({ file })].mutantsOf(file));
  const random = randomOf(Number(options.seed));
  for (let i = all.length - 1; i > 0; --i) {
    const j = Math.floor(random() * (i + 1));
    [all[i], all[j]] = [all[j], all[i]];
  }
  const places = new Set();
  const chosen = all.filter(({ file, at }) => places.size < places.add(`${file}:${at}`).size);
  return chosen.filter(({ from, to }) => from !== to); // e.g. `return undefined;`
}

/** 'killed by TESTS', 'survived' or 'does not compile'. plan: what to run. */
function judge(mutant, plan) {
  const { file, at, from, to } = mutant;
  const side = sides[sideOf(mutant)];
  const text = readFileSync(join(root, file), 'utf8');
  side.write(file, text.slice(0, at) + to + text.slice(at + from.length));
  try {
    for (const { tests, seconds } of plan) {
      if (side.compile(tests) !== undefined) return 'does not compile';
      if (!side.runTests(tests, limits(4 * seconds + 10)).ok) return `killed by ${tests.join(' or ')}`;
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

const sum = { killed: 0, survived: 0, not: 0 };
for (const name of Object.keys(sides)) {
  const own = mutants.filter((mutant) => sideOf(mutant) === name);
  const planOf = own.length > 0 ? sides[name].baseline(own) : undefined;
  own.forEach((mutant, number) => {
    const plan = planOf(number);
    const verdict = judge(mutant, plan);
    sum[verdict === 'survived' ? 'survived' : verdict.startsWith('killed') ? 'killed' : 'not'] += 1;
    console.log(`${Number(options.from) + mutants.indexOf(mutant)} ${verdict.padEnd(20)} ${words(mutant)}`);
    if (verdict !== 'survived') return;
    const line = readFileSync(join(root, mutant.file), 'utf8').split('\n')[mutant.line - 1].trim();
    console.log(`    ${line}${plan.length > 0 ? '' : '   (no test runs it)'}`);
  });
}
const score = ((100 * sum.killed) / Math.max(1, sum.killed + sum.survived)).toFixed(0);
console.log(`${sum.killed} killed, ${sum.survived} survived, ${sum.not} did not compile: ${score} % killed`);
