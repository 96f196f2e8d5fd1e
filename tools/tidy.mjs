// clang-tidy over the core, with the flags and precompiled headers of the debug build (compiler warnings are left to the build).
// `npm run tidy [-- FILE...]`.
import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join, relative } from 'node:path';
import { must, root, start } from './lib/shell.mjs';
import { setup } from './setup.mjs';

setup({ forCheck: true });
must('cmake', ['--preset', 'native-debug'], { cwd: root });
must('cmake', ['--build', '--preset', 'native-debug'], { cwd: root }); // makes the precompiled headers
const build = join(root, 'build/native-debug');
const wanted = process.argv.slice(2);
const files = JSON.parse(readFileSync(join(build, 'compile_commands.json'), 'utf8'))
  .map((entry) => relative(root, entry.file))
  .filter((file) => file.startsWith('src/') && !file.endsWith('_tables.cpp') && (wanted.length === 0 || wanted.includes(file)));

let next = 0;
async function worker() {
  while (next < files.length) {
    const file = files[next++];
    const { ok, output } = await start('clang-tidy-19', ['-p', build, '--quiet', '--extra-arg=-w', file]);
    if (ok) continue;
    console.error(output);
    process.exitCode = 1;
  }
}
await Promise.all(Array.from({ length: availableParallelism() }, worker));
console.log(`note: ${files.length} files`);
