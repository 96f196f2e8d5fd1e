// Checks #include lines and imports against the table in HACKING.md: which room may use which, and which words may occur in one room only. It refuses
// import cycles between the files of web/.
import { readdirSync, readFileSync } from 'node:fs';
import { join, normalize } from 'node:path';
import { root } from './lib/shell.mjs';

// Room: what it may include besides itself. The same table as in HACKING.md.
const kMayInclude = {
  core: [],
  io: ['core'],
  tokenizer: ['core'],
  kernels: ['core'],
  ops: ['core', 'kernels'],
  search: ['core', 'kernels'],
  constraints: ['core'],
  generation: ['core', 'ops'],
  nn: ['core', 'ops', 'generation', 'learn'],
  learn: ['core', 'ops'],
  plan: ['core', 'ops'],
  models: ['core', 'io', 'ops', 'plan'],
  pass: ['core', 'ops', 'plan'],
  engine: ['core', 'io', 'tokenizer', 'models', 'plan', 'pass'],
  tasks: ['core', 'ops', 'generation', 'learn', 'models', 'plan', 'pass', 'engine'],
  bindings: ['core', 'io', 'kernels', 'tokenizer', 'search', 'constraints', 'nn', 'learn', 'ops', 'models', 'engine', 'tasks'],
};

// A pattern that may appear only where `allowed` says.
const kWords = [
  {
    what: 'instruction-set macros and intrinsics',
    pattern: /__wasm_(?!atomics__|_)|__(SSE|AVX|ARM_NEON)|<(wasm_simd128|[a-z]*mmintrin|immintrin|arm_neon)\.h>/,
    allowed: /^src\/kernels\//,
  },
  { what: 'emscripten headers', pattern: /<emscripten/, allowed: /^bindings\// },
  { what: 'Eigen', pattern: /#include\s*<(unsupported\/)?Eigen\//, allowed: /^src\/kernels\/.*\.cpp$|^tests\// },
  { what: 'RapidJSON', pattern: /<rapidjson\//, allowed: /^src\/core\/json\.cpp$|^tests\// },
  { what: 'printing', pattern: /\b(printf|puts|fprintf|perror)\s*\(|std::c(out|err)\b|<iostream>/, allowed: /^(tests|bench)\// },
  { what: 'ending the program', pattern: /\b(std::)?(abort|exit|terminate|_Exit)\s*\(\s*\)/, allowed: /^(tests|bench)\// },
];

function filesOf(folder) {
  return readdirSync(join(root, folder), { recursive: true })
    .filter((name) => /\.(cpp|h)$/.test(name))
    .map((name) => join(folder, name));
}

function roomOf(file) {
  const parts = file.split('/');
  return parts[0] === 'bindings' ? 'bindings' : parts[1]; // src/core/utf.h
}

/** The room of an #include, or undefined for a system header. */
function includedRoom(name, file) {
  const first = name.split('/')[0];
  if (first in kMayInclude) return first;
  return name.includes('/') ? undefined : roomOf(file);
}

const errors = [];
const files = ['src', 'bindings'].flatMap(filesOf);
for (const file of files) {
  const room = roomOf(file);
  const may = kMayInclude[room];
  if (!may) errors.push(`${file}: ${room} is no room of the house (tools/check_includes.mjs, HACKING.md)`);
  const lines = readFileSync(join(root, file), 'utf8').split('\n');
  lines.forEach((line, index) => {
    const where = `${file}:${index + 1}`;
    const included = includedRoom(/^\s*#include\s*"([^"]+)"/.exec(line)?.[1] ?? '/', file);
    if (included && included !== room && may && !may.includes(included)) {
      errors.push(`${where}: ${room} may not include ${included}`);
    }
    const code = line.replace(/\/\/.*/, '');
    for (const { what, pattern, allowed } of kWords) {
      if (pattern.test(code) && !allowed.test(file)) errors.push(`${where}: ${what} only in ${allowed.source}`);
    }
  });
}

// The rooms of web/, lowest first: a room may import from itself and from those before it.
const kWebRooms = [
  'core',
  'source',
  'host',
  'tokenizer',
  'gpu',
  'engine',
  'nn',
  'vectors',
  'generation',
  'tasks',
  'automodel',
  'evaluate',
  'redact',
  'distill',
  'pack',
  'search',
  'static_search',
  'search_element',
  'train',
  'entries',
  'serve',
  'cli',
];

/** Which other files each file of web/ imports, types included. */
const imports = new Map();
const webFiles = readdirSync(join(root, 'web'), { recursive: true }).filter((name) => name.endsWith('.ts'));
for (const file of webFiles) {
  const room = file.split('/')[0];
  if (!kWebRooms.includes(room)) errors.push(`web/${file}: ${room} is no room of web/ (tools/check_includes.mjs, HACKING.md)`);
  const text = readFileSync(join(root, 'web', file), 'utf8');
  const paths = [...text.matchAll(/(?:from|import\(|^import) ?'(\.[^']+)\.js'/gm)].map(([, path]) => path);
  const names = paths.map((path) => `${normalize(join(file, '..', path))}.ts`).filter((name) => webFiles.includes(name));
  imports.set(file, names);
  for (const name of names) {
    const above = kWebRooms.indexOf(name.split('/')[0]) > kWebRooms.indexOf(room);
    if (above) errors.push(`web/${file}: ${room} may not import ${name}, a room above it`);
  }
}

/** Follows imports. A file met again on the way down means a cycle. */
const done = new Set();
function findCircles(file, path) {
  const at = path.indexOf(file);
  if (at >= 0) errors.push(`web: a circle of imports: ${[...path.slice(at), file].join(' -> ')}`);
  if (at >= 0 || done.has(file)) return;
  for (const name of imports.get(file)) findCircles(name, [...path, file]);
  done.add(file);
}
for (const file of webFiles) findCircles(file, []);

for (const error of errors) console.error(error);
console.log(`note: ${files.length + webFiles.length} files, ${errors.length} errors`);
process.exit(errors.length > 0 ? 1 : 0);
