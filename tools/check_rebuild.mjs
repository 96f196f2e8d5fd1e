// Builds one WebAssembly module again, in another folder and without a compiler cache, and compares the bytes. It is the smallest module with
// every type of code: kernels, precompiled headers, Embind. check_dist.mjs sees to it that no other names the folder.
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fail, must, root } from './lib/shell.mjs';

const kPreset = 'wasm-simd';
const kModule = 'wattn-nn';
const kSources = ['CMakeLists.txt', 'CMakePresets.json', 'bindings', 'cmake', 'src', 'tools', '.toolchain/env.json'];

const top = mkdtempSync(join(tmpdir(), 'wattn-rebuild-'));
process.on('exit', () => rmSync(top, { recursive: true, force: true })); // fail() exits
const cwd = join(top, 'zz/another-folder'); // of another length, depth and place in the alphabet
mkdirSync(cwd, { recursive: true });
for (const source of kSources) cpSync(join(root, source), join(cwd, source), { recursive: true });

const env = { ...process.env, CCACHE_DISABLE: '1' };
must('cmake', ['--preset', kPreset, '-DBUILD_TESTING=OFF'], { cwd, env });
must('cmake', ['--build', '--preset', kPreset, '--target', kModule], { cwd, env });

for (const file of [`${kModule}.wasm`, `${kModule}.mjs`]) {
  const [here, there] = [root, cwd].map((folder) => readFileSync(join(folder, 'build', kPreset, file)));
  if (here.equals(there)) continue;
  const at = here.findIndex((byte, i) => byte !== there[i]);
  fail(`${file}: built in another folder, it has ${there.length} bytes, not ${here.length}, and differs from byte ${at} on`);
}
console.log(`note: ${kModule} has the same bytes`);
