// Makes a machine ready to build and test wattn: npm dependencies, system packages, Emscripten. Installs only what is missing, and prints one line
// for each step, or nothing if everything is there. Node built-ins only.
//
//   node tools/setup.mjs            (every npm script calls it first)
//   WATTN_TOOLCHAIN=DIR             share one private Emscripten between clones
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ensureArmNode } from './lib/arm.mjs';
import { ensureEmscripten, ensureRelaxedNode, hasEmscripten, packagesForEmscripten, recordPath } from './lib/emscripten.mjs';
import { capture, fail, must, root, which } from './lib/shell.mjs';

const log = (line) => console.log(`setup: ${line}`);

/** What the build and the tests need from the system: how to see that it is there, and the Debian package that brings it. */
const buildNeeds = [
  { package: 'cmake', there: () => which('cmake') },
  { package: 'ninja-build', there: () => which('ninja') },
  { package: 'python3', there: () => which('python3') }, // Emscripten is written in it
  { package: 'clang-19', there: () => which('clang++-19') },
  { package: 'libclang-rt-19-dev', there: () => existsSync('/usr/lib/llvm-19/lib/clang/19/lib') }, // sanitizers and libFuzzer
  { package: 'libeigen3-dev', there: () => existsSync('/usr/include/eigen3/Eigen/Core') },
  { package: 'googletest', there: () => existsSync('/usr/src/googletest/CMakeLists.txt') },
  { package: 'rapidjson-dev', there: () => existsSync('/usr/include/rapidjson/reader.h') },
  { package: 'chromium', there: () => findChromium() },
];

/** What `npm run check` needs besides. */
const checkNeeds = [
  { package: 'g++', there: () => which('c++') },
  { package: 'clang-format-19', there: () => which('clang-format-19') },
  { package: 'firefox-esr', there: () => findFirefox() },
  { package: 'webkit2gtk-driver', there: () => findWebKit() },
  { package: 'xvfb', there: () => which('Xvfb') }, // the screen of WebKit
  { package: 'qemu-user-static', there: () => process.arch === 'arm64' || which('qemu-aarch64-static') },
  { package: 'clang-tidy-19', there: () => which('clang-tidy-19') },
];

/** What `npm run coverage` needs besides. */
const coverageNeeds = [
  { package: 'clang-19', there: () => which('clang++-19') },
  { package: 'libclang-rt-19-dev', there: () => existsSync('/usr/lib/llvm-19/lib/clang/19/lib') }, // the run time that counts
  { package: 'llvm-19', there: () => which('llvm-cov-19') },
];

/** What fetching a real checkpoint needs besides. */
const modelNeeds = [{ package: 'python3-pip', there: () => capture('python3', ['-m', 'pip', '--version']).ok }];

/** A Chromium or Chrome for the browser tests; the CHROME environment variable wins. */
export function findChromium() {
  const named = process.env.CHROME;
  if (named) return existsSync(named) ? named : undefined;
  return ['chromium', 'chromium-browser', 'google-chrome-stable', 'google-chrome'].map(which).find(Boolean);
}

/** A Firefox for the same tests; the FIREFOX environment variable wins. */
export function findFirefox() {
  const named = process.env.FIREFOX;
  if (named) return existsSync(named) ? named : undefined;
  return ['firefox-esr', 'firefox'].map(which).find(Boolean);
}

/** The driver of a WebKitGTK, Safari's engine, for the same tests; the WEBKIT environment variable wins. */
export function findWebKit() {
  const named = process.env.WEBKIT;
  if (named) return existsSync(named) ? named : undefined;
  return which('Xvfb') && which('WebKitWebDriver');
}

/** Where the tests find browsers: environment variables, empty where there is none. */
export const browsersInEnv = () => ({ CHROME: findChromium() ?? '', FIREFOX: findFirefox() ?? '', WEBKIT: findWebKit() ?? '' });

/** Where downloads lie. A folder outside the checkout lets several clones share one private toolchain. */
export const home = process.env.WATTN_TOOLCHAIN ?? join(root, '.toolchain');

function installNpmDependencies() {
  const lock = readFileSync(join(root, 'package-lock.json'), 'utf8');
  const stamp = join(root, 'node_modules', '.wattn-lock'); // the lock file that node_modules was made from
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === lock) return;
  log('npm ci');
  must('npm', ['ci', '--no-audit', '--no-fund'], { cwd: root });
  writeFileSync(stamp, lock);
}

function installSystemPackages(needs) {
  const missing = needs.filter((need) => !need.there()).map((need) => need.package);
  const emscriptenIsThere = hasEmscripten();
  if (missing.length === 0 && emscriptenIsThere) return;
  if (!which('apt-get')) {
    if (missing.length === 0) return;
    fail(`missing: ${missing.join(' ')} (names of Debian's packages); install them and run this again`);
  }
  const sudo = process.getuid() === 0 ? [] : ['sudo', '-n'];
  const allowed = sudo.length === 0 || (which('sudo') && capture('sudo', ['-n', 'true']).ok);
  if (allowed) {
    log('apt-get update'); // a fresh container knows no packages yet
    capture(...split([...sudo, 'apt-get', 'update', '-q'])); // an unreachable third-party source need not matter
  }
  if (!emscriptenIsThere) missing.push(...packagesForEmscripten());
  if (missing.length === 0) return;
  const install = ['apt-get', 'install', '-y', '--no-install-recommends', ...missing];
  if (!allowed) fail(`system packages are missing; run: sudo apt-get update && sudo ${install.join(' ')}`);
  log(`installing system packages: ${missing.join(' ')}`);
  must(...split([...sudo, 'env', 'DEBIAN_FRONTEND=noninteractive', ...install]));
}

const split = ([program, ...args]) => [program, args];

/** Everything, in order; cheap when all is there. Returns what the build needs to know, also kept in .toolchain/env.json. */
export function setup({ forCheck = false, forModels = false, forCoverage = false } = {}) {
  if (Number.parseInt(process.versions.node, 10) < 20) fail(`Node 20 or newer is needed, this is ${process.versions.node}`);
  installNpmDependencies();
  installSystemPackages([
    ...buildNeeds,
    ...(forCheck ? checkNeeds : []),
    ...(forModels ? modelNeeds : []),
    ...(forCoverage ? coverageNeeds : []),
  ]);
  const emscripten = ensureEmscripten(home, log);
  if (forCheck) ensureArmNode(home, log);
  const env = { emscripten, node: process.execPath, relaxedNode: ensureRelaxedNode(home, emscripten, log) };
  const text = `${JSON.stringify(env, null, 2)}\n`;
  if (!existsSync(recordPath) || readFileSync(recordPath, 'utf8') !== text) writeFileSync(recordPath, text);
  return env;
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const { emscripten } = setup();
  log(`ready (Node ${process.versions.node}, Emscripten ${emscripten.version})`);
}
