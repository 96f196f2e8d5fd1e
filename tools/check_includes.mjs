// Holds the house's plan against the #include lines: who may know whom, and which words belong to one room alone.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './lib/shell.mjs';

// Room: what it may include beside itself. The same table as in HACKING.md.
const kMayInclude = {
  core: [],
  io: ['core'],
  tokenizer: ['core'],
  kernels: ['core'],
  ops: ['core', 'kernels'],
  nn: ['core', 'ops'],
  learn: ['core', 'ops'],
  generation: ['core', 'ops'],
  models: ['core', 'io', 'ops'],
  engine: ['core', 'io', 'tokenizer', 'models', 'nn', 'learn', 'generation'],
  tasks: ['core', 'io', 'tokenizer', 'models', 'nn', 'learn', 'generation', 'engine', 'ops'],
  bindings: ['core', 'tokenizer', 'nn', 'learn', 'generation', 'engine', 'tasks'],
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

/** The room an #include names, or undefined for one of the system's headers. */
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

for (const error of errors) console.error(error);
console.log(`note: ${files.length} files, ${errors.length} errors`);
process.exit(errors.length > 0 ? 1 : 0);
