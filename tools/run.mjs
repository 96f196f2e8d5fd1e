// The driver behind the npm scripts: `node tools/run.mjs build|test|check|builds|scale|gpu|models`. A passing stage prints one line with its
// time; a failing stage prints all its output. The last line is a summary: N passed, N failed[, N skipped].
import { setup } from './setup.mjs';
import { fail } from './lib/shell.mjs';
import * as stages from './lib/stages.mjs';

const build = [stages.cmakeBuild('wasm-simd', 'modules'), stages.bundle];
const jestTests = [stages.jest('web'), [stages.jest('browser'), stages.demo]];
const nativeTests = (preset, ...beside) => [stages.cmakeBuild(preset, 'all'), [stages.ctest(preset), ...beside]];
const test = [...build, ...nativeTests('native-debug'), ...jestTests];
/** What `test` leaves out: the tests of arithmetic in WebAssembly, static checks, the documentation and the tarball. */
const checks = [
  stages.cmakeBuild('wasm-simd', 'arithmetic'),
  [stages.ctest('wasm-simd', 'arithmetic'), stages.webFormat, stages.types, stages.docs, stages.dist],
  [stages.includes, stages.wire, stages.prose, stages.cppFormat],
  stages.tidy,
  [stages.consumers, stages.jest('docs'), stages.fuzz, stages.arm],
];
/** What rarely differs from `check`: the system's compiler, the rooms without arithmetic in WebAssembly, a second build's bytes. */
const builds = [
  ...build,
  ...nativeTests('native-release'),
  stages.cmakeBuild('native-release', 'bench'),
  ...nativeTests('wasm-simd'),
  stages.rebuild,
];

const commands = {
  build,
  test,
  check: [...test, ...checks],
  builds,
  scale: [...build, stages.scale],
  gpu: [...build, stages.jest('gpu')],
  models: [stages.models, ...build, stages.cmakeBuild('native-release', 'all'), stages.ctest('native-release'), ...jestTests],
};

async function runStage(stage) {
  const start = Date.now();
  const said = await stage.run().catch((error) => ({ failed: 1, output: error.stack })); // the other stages go on
  const result = { passed: 0, failed: 0, skipped: 0, note: '', detail: '', output: '', ...said };
  const seconds = ((Date.now() - start) / 1000).toFixed(1);
  if (result.failed > 0) console.log(`\n${result.output.trimEnd()}\n`);
  const about = [result.note || counts(result), result.detail].filter(Boolean).join('; ');
  const line = `${result.failed > 0 ? 'FAIL' : 'ok  '} ${stage.name.padEnd(30)} ${seconds.padStart(7)} s  ${about}`;
  console.log(line.trimEnd());
  return { ...result, line, stop: result.failed > 0 && stage.needed };
}

/** Runs the stages in turn; those of an inner list run side by side. */
async function run(list) {
  const results = [];
  for (const stagesTogether of list) {
    results.push(...(await Promise.all([stagesTogether].flat().map(runStage))));
    if (results.at(-1).stop) break; // what follows would only repeat it
  }
  return results;
}

function counts({ passed, failed, skipped }) {
  if (passed + failed + skipped === 0) return '';
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`;
}

const begin = Date.now();
const name = process.argv[2];
const list = commands[name] ?? fail(`unknown command ${name}; there are ${Object.keys(commands).join(', ')}`);
setup({ forCheck: name === 'check' || name === 'builds' });
const results = await run(list);
const sum = (field) => results.reduce((total, result) => total + result[field], 0);
const total = { passed: sum('passed'), failed: sum('failed'), skipped: sum('skipped') };
if (name !== 'build') {
  const minutes = ((Date.now() - begin) / 60_000).toFixed(1);
  console.log(`\n${results.map((result) => result.line.trimEnd()).join('\n')}\nin ${minutes} min\n\n${counts(total)}`);
}
process.exit(total.failed > 0 ? 1 : 0);
