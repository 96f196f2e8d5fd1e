// The stages that tools/run.mjs strings together. Each has a name and run(), which answers
// { passed, failed, skipped, note, detail, output }; note replaces the counts, detail follows them; output is shown only when something
// failed.
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { browsersInEnv, home } from '../setup.mjs';
import { armNode } from './arm.mjs';
import { modelsDir } from './models.mjs';
import { root, start } from './shell.mjs';

/** A stage that is one command: it passes or it fails. `counts`: whether it is a check to be counted. */
function command(name, program, args, { counts = true, ...options } = {}) {
  return {
    name,
    async run() {
      const { ok, output } = await start(program, args, options);
      const note = ok
        ? (
            output
              .trim()
              .split('\n')
              .findLast((line) => line.startsWith('note: ')) ?? ''
          ).slice(6)
        : '';
      return { passed: ok && counts ? 1 : 0, failed: ok ? 0 : 1, note, output };
    },
  };
}

const kJestNames = { web: 'jest', browser: 'browser', docs: 'documentation', gpu: 'GPU' };
const kCounts = /(\d+) passed, (\d+) failed(?:, (\d+) skipped)?\s*$/;

const node = (script, ...args) => [process.execPath, [join(root, script), ...args]];

/** Configures and builds a target of one CMake preset. Needed by all that follows. */
export function cmakeBuild(preset, target) {
  return {
    name: `build ${preset} ${target}`,
    needed: true,
    async run() {
      const configured = await start('cmake', ['--preset', preset]);
      if (!configured.ok) return { failed: 1, output: configured.output };
      const built = await start('cmake', ['--build', '--preset', preset, '--target', target, '--', '--quiet']);
      return { failed: built.ok ? 0 : 1, output: built.output };
    },
  };
}

/** Runs a preset's GoogleTest programs, or those with a label, and sums what they counted. */
export function ctest(preset, label = '') {
  return {
    name: `test ${preset} ${label}`.trimEnd(),
    async run() {
      const results = join(root, 'build', preset, 'results');
      rmSync(results, { recursive: true, force: true });
      const some = label ? ['-L', label] : ['--no-tests=ignore'];
      const { ok, output } = await start('ctest', ['--preset', preset, '-j2', ...some]);
      const sum = { passed: 0, failed: 0, skipped: 0 };
      for (const file of existsSync(results) ? readdirSync(results) : []) {
        const { testsuites } = JSON.parse(readFileSync(join(results, file), 'utf8'));
        for (const test of testsuites.flatMap((suite) => suite.testsuite)) {
          sum[test.failures ? 'failed' : test.result === 'SKIPPED' ? 'skipped' : 'passed'] += 1;
        }
      }
      if (!ok && sum.failed === 0) sum.failed = 1; // a program that died wrote no counts
      return { ...sum, output };
    },
  };
}

/** How long each browser's tests took, and which browser there is none of: one test file is one browser. */
const timesOf = (results) =>
  results
    .map(({ name, startTime, endTime, assertionResults }) => {
      const ran = assertionResults.some(({ status }) => status !== 'pending');
      return `${basename(name, '.test.ts')} ${ran ? `${((endTime - startTime) / 1000).toFixed(0)} s` : 'not found'}`;
    })
    .sort()
    .join(', ');

/**
 * Runs the Jest tests of one folder: tests/web in Node, tests/browser in Chromium, Firefox and WebKit, tests/docs in the built documentation. files: an
 * expression for the names of some of them.
 */
export function jest(folder, { name = kJestNames[folder], files = '', env = {} } = {}) {
  return {
    name,
    async run() {
      const results = join(root, 'build', `jest-${name.replaceAll(' ', '-')}.json`);
      rmSync(results, { force: true });
      // By itself Jest leaves one core idle, which is half of two.
      const args = [
        '--maxWorkers=100%',
        '--passWithNoTests',
        '--testPathPattern',
        `tests/${folder}/${files}`,
        '--json',
        `--outputFile=${results}`,
      ];
      const { ok, output } = await start(
        process.execPath,
        ['--experimental-vm-modules', join(root, 'node_modules/jest/bin/jest.js'), ...args],
        {
          env: {
            ...process.env,
            NODE_NO_WARNINGS: '1',
            ...browsersInEnv(),
            WATTN_MODELS_DIR: modelsDir,
            ...env,
          },
        },
      );
      if (!existsSync(results)) return { failed: 1, output };
      const report = JSON.parse(readFileSync(results, 'utf8'));
      const failed = report.numFailedTests + report.numRuntimeErrorTestSuites;
      return {
        passed: report.numPassedTests,
        failed: ok ? failed : Math.max(1, failed),
        skipped: report.numPendingTests,
        detail: folder === 'browser' ? timesOf(report.testResults) : '',
        output,
      };
    },
  };
}

/** What takes too long for every check: crashes and writers by the hundred, every call that fails, every byte that is damaged, servers under attack, scores of large encoders. */
export const scale = jest('web', {
  name: 'scale',
  files: '(search_(writers|crash|faults|damage)|(cache|cli|trainer)_faults|saved_files|serve_attacks|encoder_models)',
  env: { WATTN_SCALE: '1', WATTN_KILLS: '100', WATTN_EVERY: '1' },
});

/** The demo page in the same browsers: a program of its own, whose last line counts. */
export const demo = {
  name: 'demo page',
  async run() {
    const { ok, output } = await start(...node('demo/smoke.mjs'), { env: { ...process.env, ...browsersInEnv() } });
    const [passed, failed, skipped] = (kCounts.exec(output) ?? ['', 0, 1]).slice(1).map((count) => Number(count ?? 0));
    return { passed, failed: ok ? failed : Math.max(1, failed), skipped, output };
  },
};

export const bundle = { ...command('bundle', ...node('tools/bundle.mjs'), { counts: false }), needed: true };
export const models = { ...command('fetch models', ...node('tools/fetch_minilm.mjs'), { counts: false }), needed: true };
export const includes = command('check includes', ...node('tools/check_includes.mjs'));
export const wire = command('check wire', ...node('tools/wire.mjs', '--check'));
export const cppFormat = command('check C++ format', ...node('tools/format.mjs', '--check', 'cpp'));
export const webFormat = command('check JS and TS format', ...node('tools/format.mjs', '--check', 'web'));
export const tidy = command('check C++ names', ...node('tools/tidy.mjs'));
export const prose = command('check prose', ...node('tools/prose.mjs'));
export const types = command('check types', ...node('node_modules/typescript/bin/tsc'));
export const rebuild = command('check bytes of a rebuild', ...node('tools/check_rebuild.mjs'));
export const docs = command('build docs', ...node('tools/docs/build.mjs'));
export const dist = command('check dist', ...node('tools/check_dist.mjs'));
export const fuzz = command('fuzz parsers', ...node('tools/fuzz.mjs'));

/** What has the same bits everywhere (tests/engines), by a Node for Arm. */
export const arm = {
  name: 'answers on Arm',
  async run() {
    const command = armNode(home);
    if (!command) return { skipped: 1, note: 'skipped: no QEMU with a Node for Arm (npm run check fetches them on Debian)' };
    const [program, ...args] = command;
    const { ok, output } = await start(program, [...args, join(root, 'tests/engines/run.mjs')]);
    const [passed, failed] = (kCounts.exec(output) ?? ['', 0, 1]).slice(1, 3).map(Number);
    return { passed, failed: ok ? failed : Math.max(1, failed), output };
  },
};

/** One check for each project under tests/fixtures/consumers: the packed tarball, installed and used. */
export const consumers = {
  name: 'check packed tarball',
  async run() {
    const { ok, output } = await start(...node('tools/check_package.mjs'), {
      env: { ...process.env, ...browsersInEnv() },
    });
    const passed = [...output.matchAll(/^ok /gm)].length;
    const failed = [...output.matchAll(/^FAIL /gm)].length;
    return { passed, failed: ok ? failed : Math.max(1, failed), output };
  },
};
