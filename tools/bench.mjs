// `npm run bench [-- NAME]`: builds and runs the programs of bench/native, natively and in wasm, then the scripts of bench/web.
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { must, root } from './lib/shell.mjs';
import { setup } from './setup.mjs';

const wanted = process.argv[2] ?? '';
const { relaxedNode } = setup();

function show(title, program, args) {
  console.log(`\n== ${title}`);
  if (spawnSync(program, args, { cwd: root, stdio: 'inherit' }).status !== 0) process.exitCode = 1;
}

function sources(folder, ending) {
  const path = join(root, 'bench', folder);
  return existsSync(path) ? readdirSync(path).filter((name) => name.endsWith(ending) && name.includes(wanted)) : [];
}

const names = sources('native', '.cpp').map((name) => `bench_${name.replace(/\.cpp$/, '')}`);
for (const preset of names.length > 0 ? ['native-release', 'wasm-simd'] : []) {
  const native = preset === 'native-release';
  const programs = native ? names : [...names, ...names.map((name) => `${name}_relaxed`)];
  must('cmake', ['--preset', preset], { cwd: root });
  must('cmake', ['--build', '--preset', preset, '--target', ...programs], { cwd: root });
  for (const program of programs) {
    const path = join(root, 'build', preset, program);
    show(`${program}, ${preset}`, ...(native ? [path, []] : [relaxedNode, [`${path}.cjs`]]));
  }
}
// A Node with correct relaxed SIMD, so that precision "fast" is measured.
for (const name of sources('web', '.mjs')) show(name, relaxedNode, [join(root, 'bench/web', name)]);
