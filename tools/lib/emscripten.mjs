// Finds an Emscripten that can build wattn, or makes a private one from Debian packages, without touching the system's libraries. Node built-ins
// only.
import { chmodSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { kDonorSuite, unpackPackages } from './debian.mjs';
import { fetchNode, kNewNode, programIn } from './new_node.mjs';
import { capture, fail, must, root, which } from './shell.mjs';

// 3.1.69 is the oldest version tried: older ones lack relaxed SIMD or Embind without `new Function`.
const kOldest = [3, 1, 69];
// The LLVM that the packages of kDonorSuite expect. Any Debian that has it under its own name (12 and later) can host them.
const kLlvm = '/usr/lib/llvm-19/bin';

/** Where the checkout remembers what set-up found; cmake/wasm.cmake reads it. */
export const recordPath = join(root, '.toolchain', 'env.json');

/** What was recorded, when it still holds: same emcc on PATH as then, and the chosen one still there. */
export function recorded() {
  if (!existsSync(recordPath)) return undefined;
  const { emscripten } = JSON.parse(readFileSync(recordPath, 'utf8'));
  const same = emscripten.onPath === (which('emcc') ?? null) && existsSync(join(emscripten.emscriptenRoot, 'emcc.py'));
  return same ? emscripten : undefined;
}

function atLeastOldest(version) {
  const parts = version.split('.').map((part) => Number.parseInt(part, 10));
  for (let i = 0; i < 3; ++i) if (parts[i] !== kOldest[i]) return parts[i] > kOldest[i];
  return true;
}

function describe(emscriptenRoot) {
  const version = readFileSync(join(emscriptenRoot, 'emscripten-version.txt'), 'utf8').replace(/["\s]/g, '');
  return { emscriptenRoot, version, onPath: which('emcc') ?? null };
}

function fromPath() {
  const emConfig = which('em-config');
  if (!which('emcc') || !emConfig) return undefined;
  const asked = capture(emConfig, ['EMSCRIPTEN_ROOT']);
  if (!asked.ok) return undefined;
  const found = describe(asked.stdout.trim());
  return atLeastOldest(found.version) ? found : undefined;
}

/** True when the system's own package is new enough, so that no private folder is needed. */
function packageIsNewEnough() {
  const candidate = /Candidate: (\S+)/.exec(capture('apt-cache', ['policy', 'emscripten']).stdout)?.[1];
  return candidate !== undefined && candidate !== '(none)' && atLeastOldest(candidate);
}

/** True when there is one to use, on PATH or made before. */
export function hasEmscripten() {
  return (recorded() ?? fromPath()) !== undefined;
}

/** The system packages still missing for an Emscripten: the whole of it, or the LLVM under a private one. */
export function packagesForEmscripten() {
  if (packageIsNewEnough()) return ['emscripten'];
  return existsSync(join(kLlvm, 'wasm-ld')) && existsSync(join(kLlvm, 'llvm-ar')) && existsSync(join(kLlvm, 'clang'))
    ? []
    : ['clang-19', 'lld-19', 'llvm-19'];
}

/** Prebuilt libraries for modes that wattn does not use are three quarters of the package. */
const kSkipped = ['*/lto', '*/lto-pic', '*/pic', './usr/share/emscripten/test', './usr/share/doc', './usr/share/man'];

function unpackDonor(work, log) {
  log(`fetching Emscripten from Debian ${kDonorSuite} (240 MB) into a private folder`);
  const tree = unpackPackages(work, ['emscripten', 'binaryen', 'libc6', 'libstdc++6', 'libgcc-s1'], { skipped: kSkipped });
  return (
    tree ??
    fail(
      'no Emscripten >= 3.1.69 found, and this is no Debian whose packages one could be made of: install emsdk and put emcc on PATH',
    )
  );
}

/** Binaryen's programs need a newer libc than the system's: each is started by the loader that was unpacked beside it. */
function wrapBinaryen(tree, place) {
  const triplet = readdirSync(join(tree, 'usr/lib')).find((name) => name.endsWith('-linux-gnu'));
  const loader = readdirSync(join(tree, 'usr/lib', triplet)).find((name) => name.startsWith('ld-linux'));
  mkdirSync(join(place, 'binaryen', 'bin'), { recursive: true });
  for (const program of readdirSync(join(tree, 'usr/bin')).filter((name) => name.startsWith('wasm'))) {
    const wrapper = join(place, 'binaryen', 'bin', program);
    const lib = `"$(dirname "$0")/../../tree/usr/lib/${triplet}`;
    writeFileSync(
      wrapper,
      `#!/bin/sh\nexec ${lib}/${loader}" --library-path ${lib}" "$(dirname "$0")/../../tree/usr/bin/${program}" "$@"\n`,
    );
    chmodSync(wrapper, 0o755);
  }
}

function makePrivate(home, log) {
  const place = join(home, 'emscripten-3.1');
  const emscriptenRoot = join(place, 'tree/usr/share/emscripten');
  if (!existsSync(place)) {
    const work = `${place}.${process.pid}`; // renamed at the end, so that an interrupted set-up leaves nothing half done
    mkdirSync(work, { recursive: true });
    const tree = unpackDonor(work, log);
    wrapBinaryen(tree, work);
    const config = {
      LLVM_ROOT: kLlvm,
      BINARYEN_ROOT: join(place, 'binaryen'),
      NODE_JS: process.execPath,
      CACHE: join(emscriptenRoot, 'cache'),
    };
    // Emscripten reads `.emscripten` in its own folder first, so no environment variable has to be set later.
    writeFileSync(
      join(tree, 'usr/share/emscripten/.emscripten'),
      Object.entries(config)
        .map(([key, value]) => `${key} = ${JSON.stringify(value)}\n`)
        .join('') + 'FROZEN_CACHE = False\n',
    );
    // Ends the search for a package.json, which would find a checkout's `type: module` around .toolchain/.
    writeFileSync(join(tree, 'usr/share/emscripten/package.json'), '{}\n');
    cpSync(join(root, 'node_modules/acorn'), join(tree, 'usr/share/emscripten/node_modules/acorn'), { recursive: true });
    rmSync(place, { recursive: true, force: true });
    renameSync(work, place);
  }
  return describe(emscriptenRoot);
}

/** Compiles a small program with `emscripten` and runs it in `node`. */
function probe(name, { emscriptenRoot }, node, log) {
  log(`checking Emscripten with a small program (${name})`);
  const folder = join(root, '.toolchain', `probe.${process.pid}`);
  mkdirSync(folder, { recursive: true });
  const out = join(folder, `${name}.mjs`);
  const flags = name === 'relaxed' ? ['-msimd128', '-mrelaxed-simd'] : ['-msimd128'];
  must(join(emscriptenRoot, 'em++'), [
    '-O2',
    ...flags,
    '-fno-exceptions',
    '-lembind',
    '-sDYNAMIC_EXECUTION=0',
    join(root, 'tools/toolchain_probe.cpp'),
    '-o',
    out,
  ]);
  const program = `console.log((await (await import(${JSON.stringify(out)})).default()).dot(3));`;
  const said = must(node, ['--input-type=module', '-e', program]).trim();
  if (said !== '48') fail(`the ${name} probe answered ${said} in ${node}, expected 48`);
  rmSync(folder, { recursive: true });
}

/** Makes sure there is a working Emscripten and says which. System packages have been installed by now. */
export function ensureEmscripten(home, log) {
  const known = recorded();
  if (known) return known;
  const found = fromPath() ?? makePrivate(home, log);
  probe('simd', found, process.execPath, log);
  return found;
}

/**
 * Makes sure there is a Node that computes relaxed SIMD rightly and returns its path. Node 20 has it behind a flag, but
 * its relaxed dot product answers twice the sum (V8 11.3). So on an older Node a newer one from npm runs those tests.
 */
export function ensureRelaxedNode(home, emscripten, log) {
  if (Number.parseInt(process.versions.node, 10) >= 22) return process.execPath;
  const before = existsSync(recordPath) ? JSON.parse(readFileSync(recordPath, 'utf8')).relaxedNode : '';
  if (before.includes(`/node-${kNewNode}/`) && existsSync(before)) return before;
  const folder = join(home, `node-${kNewNode}`);
  const program = programIn(folder);
  if (!existsSync(program)) {
    fetchNode(folder, `${process.platform}-${process.arch}`, 'to run the relaxed SIMD tests', log);
    probe('relaxed', emscripten, program, log);
  }
  return program;
}
