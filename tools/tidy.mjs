// clang-tidy over the core, with the flags of the debug build (compiler warnings are left to the build): `npm run tidy [-- FILE...]`.
// Most of its time goes into the headers, so it reads many files as one text, each under a #line of its own. Files that do not compile
// together, because names of their anonymous namespaces clash, wait for a next round. Every second round gives each file a namespace.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { basename, join, relative } from 'node:path';
import { must, root, start } from './lib/shell.mjs';
import { setup } from './setup.mjs';

setup({ forCheck: true });
must('cmake', ['--preset', 'native-debug'], { cwd: root });
const build = join(root, 'build/native-debug');
const place = join(build, 'tidy');
mkdirSync(place, { recursive: true });
const wanted = process.argv.slice(2);
const entries = JSON.parse(readFileSync(join(build, 'compile_commands.json'), 'utf8')).filter(({ file }) => {
  const name = relative(root, file);
  return name.startsWith('src/') && !name.endsWith('_tables.cpp') && (wanted.length === 0 || wanted.includes(name));
});
/** The definitions, folders and language of all commands together. */
const kFlags = /(?<= )(-isystem \S+|-[DI]\S+|-std=\S+|-f(?!sanitize)\S+)/g;
const flags = [...new Set(entries.flatMap(({ command }) => command.match(kFlags)))].flatMap((flag) => flag.split(' '));

let batches = 0;

/** Writes files as one. Returns its path, and a function that puts the files' own places into a tool's output. */
function write(files, apart) {
  const path = join(place, `${++batches}.cpp`);
  const lines = [];
  const places = []; // by line of the batch
  for (const file of files) {
    const text = readFileSync(file, 'utf8').split('\n');
    const name = basename(file, '.cpp');
    ['', ...text].forEach((line, number) => {
      if (number === 0) lines.push(`#line 1 "${file}"`);
      else if (apart && line === 'namespace wattn {') lines.push(`${line} namespace ${name} {`);
      else if (apart && line === '}  // namespace wattn') lines.push(`}${line}`);
      else lines.push(line);
      places.push(`${relative(root, file)}:${number}`);
    });
  }
  writeFileSync(path, lines.join('\n'));
  return { path, translate: (output) => output.replaceAll(new RegExp(`${path}:(\\d+)`, 'g'), (_, line) => places[line - 1]) };
}

/** The files that compile together: one that an error names is left for later. */
async function thatCompile(files, apart) {
  for (let left = files; ;) {
    const { path } = write(left, apart);
    const { ok, output } = await start('clang++-19', ['-fsyntax-only', '-w', '-ferror-limit=0', ...flags, path]);
    if (ok) return left;
    if (left.length <= 1) return apart ? [] : left; // by itself: its errors are its own
    const blamed = new Set();
    for (const [, first, ...notes] of output.matchAll(/^(\S+?):\d+:\d+: error: .*((?:\n(?!\S+: (?:fatal )?error: ).*)*)/gm)) {
      const named = files.filter((file) => file === first);
      for (const file of named.length > 0 ? named : left.filter((file) => notes.join().includes(`${file}:`))) blamed.add(file);
    }
    const next = left.filter((file) => !blamed.has(file));
    left = next.length < left.length && next.length > 0 ? next : left.slice(0, 1);
  }
}

async function tidy(files, apart) {
  const { path, translate } = write(files, apart);
  const { ok, output } = await start('clang-tidy-19', ['--quiet', '--extra-arg=-w', path, '--', ...flags]);
  if (ok) return;
  console.error(translate(output));
  process.exitCode = 1;
}

/** Reads as many files at once as compile together; returns the others. */
async function tidyTogether(files, apart) {
  const together = await thatCompile(files, apart);
  if (together.length > 0) await tidy(together, apart);
  return files.filter((file) => !together.includes(file));
}

const files = entries.map(({ file }) => file);
const workers = Array.from({ length: availableParallelism() }, (_, worker) => worker);
let left = files;
for (let apart = false; left.length > 0; apart = !apart) {
  const shares = workers.map((worker) => left.filter((_, i) => i % workers.length === worker));
  left = (await Promise.all(shares.map((share) => tidyTogether(share, apart)))).flat();
}
console.log(`note: ${files.length} files`);
