// `npm run fuzz [-- SECONDS [TARGET]]`: builds the libFuzzer targets of tests/fuzz and runs each for a while (10 s) from its seeds. The targets in
// TypeScript damage files on their own; their seed is the time.
import { cpSync, existsSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { capture, fail, must, root } from './lib/shell.mjs';
import { setup } from './setup.mjs';

const seconds = Number(process.argv[2] ?? 10);
if (!(seconds > 0)) fail(`npm run fuzz -- SECONDS [TARGET]: expected a number of seconds, found ${process.argv[2]}`);
const only = process.argv[3];
const targetsOf = (ending) =>
  readdirSync(join(root, 'tests/fuzz'))
    .filter((name) => name.endsWith(ending))
    .map((name) => name.replace(ending, ''))
    .filter((name) => only === undefined || name === only);
const targets = targetsOf('.cpp');

if (targets.length > 0) {
  setup();
  must('cmake', ['--preset', 'native-debug'], { cwd: root });
  must('cmake', ['--build', '--preset', 'native-debug', '--target', 'fuzz'], { cwd: root });
}

const notes = [];
for (const target of targetsOf('.ts')) {
  const outfile = join(root, 'build/fuzz', `${target}.mjs`);
  const entryPoints = [join(root, 'tests/fuzz', `${target}.ts`)];
  const define = { __WATTN_VERSION__: '"fuzz"', __WATTN_BUILD_ID__: '"none"' };
  await build({ entryPoints, outfile, bundle: true, define, platform: 'node', format: 'esm', logLevel: 'warning' });
  const { fuzz } = await import(pathToFileURL(outfile).href);
  const seed = Date.now() % 2 ** 31;
  const end = performance.now() + 1000 * seconds;
  const { rounds, valid } = await fuzz(seed, () => performance.now() < end);
  notes.push(`${target} ${rounds} runs (${valid} valid)`);
}
for (const target of targets) {
  // libFuzzer adds its findings to its corpus, so it gets a copy and the committed seeds stay unchanged.
  const corpus = join(root, 'build/native-debug/corpus', target);
  const seeds = join(root, 'tests/fuzz/seeds', target);
  mkdirSync(corpus, { recursive: true });
  if (existsSync(seeds)) cpSync(seeds, corpus, { recursive: true });
  const program = join(root, 'build/native-debug/tests', `fuzz_${target}`);
  const artifacts = join(root, 'build/native-debug', `crash-${target}-`);
  const { ok, output } = capture(program, [
    `-max_total_time=${seconds}`,
    '-timeout=10',
    '-rss_limit_mb=2048',
    `-artifact_prefix=${artifacts}`,
    corpus,
  ]);
  if (!ok) {
    console.error(output);
    process.exitCode = 1;
  }
  notes.push(
    `${target} ${/stat::number_of_executed_units: (\d+)|Done (\d+) runs/.exec(output)?.slice(1).find(Boolean) ?? '?'} runs`,
  );
}
console.log(`note: ${notes.join(', ') || 'no targets'}`);
