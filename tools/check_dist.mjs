// What must hold for the files in dist/: their size, and what must not be in them. Prints the numbers.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'acorn';
import { brotliCompressSync } from 'node:zlib';
import { root } from './lib/shell.mjs';

// What a page downloads, brotli-compressed at the highest level.
const kBudgets = {
  'index.js': 40_000,
  'wattn-simd.wasm': 300_000,
  'wattn-relaxed.wasm': 300_000,
  'tokenizer_entry.js': 28_000,
  'wattn-tokenizer.wasm': 200_000,
};

// What runs in pages, with the .wasm files that it finds.
const kPages = { 'index.js': ['simd', 'relaxed'], 'worker.js': ['simd', 'relaxed'], 'tokenizer_entry.js': ['tokenizer'] };

// The one host that may be named: the hub that a model id without a host means (web/env.ts).
const kHub = /const kHub\w* *= *'([^']+)'|remoteHost\w*\s*[:=]\s*'([^']+)'/;

const read = (file) => readFileSync(join(root, 'dist', file));
const errors = [];
const sizes = [];

/** The file and what it imports at once; what it imports later is loaded by those who ask for it. */
function withImports(file, seen = new Set()) {
  if (seen.has(file)) return seen;
  seen.add(file);
  if (!file.endsWith('.js')) return seen;
  for (const [, next] of read(file)
    .toString()
    .matchAll(/(?:\bfrom|\bimport) ?["']\.\/([\w.-]+)["']/g))
    withImports(next, seen);
  return seen;
}

const brotliSize = (file) => brotliCompressSync(read(file)).length; // quality 11 is the default

for (const [file, budget] of Object.entries(kBudgets)) {
  const size = [...withImports(file)].reduce((sum, part) => sum + brotliSize(part), 0);
  sizes.push(`${file} ${size} of ${budget}`);
  if (size > budget) errors.push(`dist/${file} is ${size} bytes after brotli, over the budget of ${budget}`);
}

const env = readFileSync(join(root, 'web/env.ts'), 'utf8');
const hub = (kHub.exec(env) ?? []).slice(1).find(Boolean)?.replace(/\/$/, '');

function checkPage(file, modules) {
  const page = read(file).toString();
  const forbid = (pattern, why) => {
    for (const match of page.matchAll(pattern)) {
      const around = page.slice(Math.max(0, match.index - 60), match.index + 60).replace(/\n/g, ' ');
      errors.push(`dist/${file}: ${match[0]} (${why}): ...${around}...`);
    }
  };
  forbid(/new Function\b|\bFunction\(|\beval\(/g, 'forbidden under a strict Content-Security-Policy');
  forbid(/\bimport\((?!["']\.\/chunk-[\w-]+\.js["']\))/g, 'nothing is loaded but parts of the package that the caller asked for');
  forbid(/\bfrom ?["'](?!\.)|\bimport ?["'](?!\.)|\brequire\(/g, 'the page needs no other package');
  forbid(/\bnode:/g, 'a page has no Node');
  try {
    parse(page, { ecmaVersion: 2022, sourceType: 'module', allowAwaitOutsideFunction: false });
  } catch (error) {
    errors.push(`dist/${file}: top-level await, or no valid module: ${error.message}`);
  }
  for (const match of page.matchAll(/https?:\/\/[^\s"'`)]*/g)) {
    if (!hub || match[0].replace(/\/$/, '') !== hub) errors.push(`dist/${file} names ${match[0]}`);
  }
  if (file.startsWith('chunk-')) return;
  if (!page.includes('import.meta.url')) errors.push(`dist/${file} lost its import.meta.url`);
  // Bundlers find the files by this very form, and bring along all that they find.
  const found = [...page.matchAll(/new URL\(["'`]\.\/wattn-(\w+)\.wasm["'`], ?import\.meta\.url\)/g)].map((match) => match[1]);
  if (found.sort().join() !== [...modules].sort().join()) {
    errors.push(`dist/${file} has new URL('./wattn-..wasm', import.meta.url) for ${found}, expected for ${modules}`);
  }
  if (!modules.includes('simd'))
    forbid(/last_hidden_state|feature-extraction|new \w+\.Engine/g, 'the tokenizer alone knows no models');
}

for (const [file, modules] of Object.entries(kPages)) checkPage(file, modules);
const chunks = readdirSync(join(root, 'dist')).filter((file) => file.startsWith('chunk-'));
for (const file of chunks) checkPage(file, ['simd']);
for (const file of ['index.js', 'worker.js']) {
  for (const script of file === 'index.js' ? ['thread', 'worker'] : ['thread']) {
    const form = new RegExp(
      `new Worker\\(new URL\\(["'\`]\\./${script}\\.js["'\`], ?import\\.meta\\.url\\), ?\\{ ?type: ?["'\`]module["'\`] ?\\}\\)`,
    );
    if (!form.test(read(file).toString()))
      errors.push(`dist/${file} lost new Worker(new URL('./${script}.js', import.meta.url), ..)`);
  }
}
if (read('tokenizer_entry.js').includes('new Worker')) errors.push('dist/tokenizer_entry.js starts workers');
for (const error of errors) console.error(error);
const later = chunks.filter((file) => !withImports('index.js').has(file)).reduce((sum, file) => sum + brotliSize(file), 0);
console.log(`note: bytes after brotli: ${sizes.join(', ')}, loaded with tasks ${later}`);
process.exit(errors.length > 0 ? 1 : 0);
