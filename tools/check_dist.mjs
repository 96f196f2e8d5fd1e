// What must hold for the files in dist/: their size, and what must not be in them. Prints the numbers.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'acorn';
import { build } from 'esbuild';
import { brotliCompressSync } from 'node:zlib';
import { root } from './lib/shell.mjs';

// What a page downloads, brotli-compressed at the highest level. Scripts of entries that share files with others: what a bundler
// makes of taking one thing from them.
const kImports = {
  pipeline: { from: 'index.js', budget: 40_000 },
  nn: { from: 'nn_entry.js', budget: 32_000 },
  Word2Vec: { from: 'nn_entry.js', budget: 32_000 },
};
const kBudgets = {
  'wattn-simd.wasm': 300_000,
  'wattn-relaxed.wasm': 300_000,
  'tokenizer_entry.js': 28_000,
  'wattn-tokenizer.wasm': 200_000,
  'wattn-nn.wasm': 120_000,
};

// What runs in pages, with the .wasm files that it finds.
const kPages = {
  'index.js': ['simd', 'relaxed', 'nn'],
  'worker.js': ['simd', 'relaxed'],
  'tokenizer_entry.js': ['tokenizer'],
  'nn_entry.js': ['nn'],
};

// The one host that may be named: the hub that a model id without a host means (web/env.ts).
const kHub = /const kHub\w* *= *'([^']+)'|remoteHost\w*\s*[:=]\s*'([^']+)'/;

const read = (file) => readFileSync(join(root, 'dist', file));
const errors = [];
const sizes = [];

for (const [file, budget] of Object.entries(kBudgets)) {
  const size = brotliCompressSync(read(file)).length; // quality 11 is the default
  sizes.push(`${file} ${size} of ${budget}`);
  if (size > budget) errors.push(`dist/${file} is ${size} bytes after brotli, over the budget of ${budget}`);
}

/** `import { name } from 'wattn'` as a page has it after a bundler. */
async function bundled(name, from) {
  const { outputFiles } = await build({
    stdin: { contents: `export { ${name} } from './dist/${from}'`, resolveDir: root },
    bundle: true,
    format: 'esm',
    minify: true,
    write: false,
  });
  return outputFiles[0].text;
}

for (const [name, { from, budget }] of Object.entries(kImports)) {
  const text = await bundled(name, from);
  const size = brotliCompressSync(text).length;
  sizes.push(`${name} of ${from} ${size} of ${budget}`);
  if (size > budget)
    errors.push(`${name} of dist/${from} is ${size} bytes after a bundler and brotli, over the budget of ${budget}`);
  const files = [...text.matchAll(/wattn-\w+\.wasm/g)].map(([file]) => file);
  if (files.includes('wattn-nn.wasm') !== (name !== 'pipeline')) errors.push(`${name} of dist/${from} names ${files}`);
}

/** An entry and the files that it shares with others. */
function withShared(file) {
  const text = read(file).toString();
  const shared = [...text.matchAll(/from ?["']\.\/(shared-\w+\.js)["']/g)].map((match) => match[1]);
  return [...new Set([file, ...shared.flatMap(withShared)])];
}

const env = readFileSync(join(root, 'web/env.ts'), 'utf8');
const hub = (kHub.exec(env) ?? []).slice(1).find(Boolean)?.replace(/\/$/, '');

function checkPage(file, modules) {
  const parts = withShared(file);
  const page = parts.map((part) => read(part).toString()).join('\n');
  const forbid = (pattern, why) => {
    for (const match of page.matchAll(pattern)) {
      const around = page.slice(Math.max(0, match.index - 60), match.index + 60).replace(/\n/g, ' ');
      errors.push(`dist/${file}: ${match[0]} (${why}): ...${around}...`);
    }
  };
  forbid(/new Function\b|\bFunction\(|\beval\(/g, 'forbidden under a strict Content-Security-Policy');
  forbid(/\bimport\(/g, 'nothing is loaded that the caller did not name');
  forbid(/\bfrom ?["'](?!\.)|\bimport ?["'](?!\.)|\brequire\(/g, 'the page needs no other package');
  forbid(/\bnode:/g, 'a page has no Node');
  for (const part of parts) {
    try {
      parse(read(part).toString(), { ecmaVersion: 2022, sourceType: 'module', allowAwaitOutsideFunction: false });
    } catch (error) {
      errors.push(`dist/${part}: top-level await, or no valid module: ${error.message}`);
    }
  }
  for (const match of page.matchAll(/https?:\/\/[^\s"'`)]*/g)) {
    if (!hub || match[0].replace(/\/$/, '') !== hub) errors.push(`dist/${file} names ${match[0]}`);
  }
  if (!page.includes('import.meta.url')) errors.push(`dist/${file} lost its import.meta.url`);
  // Bundlers find the files by this very form, and bring along all that they find.
  const found = [...page.matchAll(/new URL\(["'`]\.\/wattn-(\w+)\.wasm["'`], ?import\.meta\.url\)/g)].map((match) => match[1]);
  if (found.sort().join() !== [...modules].sort().join()) {
    errors.push(`dist/${file} has new URL('./wattn-..wasm', import.meta.url) for ${found}, expected for ${modules}`);
  }
  if (modules.includes('tokenizer'))
    forbid(/last_hidden_state|feature-extraction|new \w+\.Engine/g, 'the tokenizer alone knows no models');
}

for (const [file, modules] of Object.entries(kPages)) checkPage(file, modules);
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
console.log(`note: bytes after brotli: ${sizes.join(', ')}`);
process.exit(errors.length > 0 ? 1 : 0);
