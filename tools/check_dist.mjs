// Checks the files in dist/: their size, and what must not be in them. Prints the numbers.
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { parse } from 'acorn';
import { build } from 'esbuild';
import { brotliCompressSync } from 'node:zlib';
import { root } from './lib/shell.mjs';

// What a page downloads, brotli-compressed at the highest level. For entries that share files with others, this is what a bundler makes of
// one import from them.
const kImports = {
  pipeline: { from: 'index.js', budget: 34_000 },
  nn: { from: 'nn_entry.js', budget: 24_000 },
  Word2Vec: { from: 'nn_entry.js', budget: 24_000 },
  wattn: { from: 'ai_sdk_entry.js', budget: 35_000 },
  WattnEmbeddings: { from: 'langchain_entry.js', budget: 35_000 },
  WattnEmbedding: { from: 'llamaindex_entry.js', budget: 35_000 },
};
const kBudgets = {
  'wattn-simd.wasm': 298_000,
  'wattn-relaxed.wasm': 298_000,
  'tokenizer_entry.js': 31_500,
  'count_entry.js': 22_000,
  'wattn-tokenizer.wasm': 196_000,
  'wattn-nn.wasm': 165_000,
  'wattn-search.wasm': 15_000,
  'wattn-constraints.wasm': 60_500,
  'react_entry.js': 1_000, // with wattn's index beside it
  'static_search_entry.js': 10_000,
  'search_element_entry.js': 7_000, // with `src` also what static_search_entry.js has
  'wattn-full-simd.wasm': 475_500,
  'wattn-full-relaxed.wasm': 482_500,
  'inline.js': 1_070_000, // its .wasm files are gzipped; 40 kB are stemmers
  'inline_train.js': 2_050_000, // and so are these
};

// The scripts that run in pages, with the .wasm files that they load.
const kPages = {
  'index.js': ['simd', 'relaxed'],
  'worker.js': ['simd', 'relaxed'],
  'tokenizer_entry.js': ['tokenizer'],
  'count_entry.js': ['tokenizer'],
  'nn_entry.js': [],
  'ai_sdk_entry.js': ['simd', 'relaxed'],
  'langchain_entry.js': ['simd', 'relaxed'],
  'llamaindex_entry.js': ['simd', 'relaxed'],
  'static_search_entry.js': [],
  'search_element_entry.js': [],
  'inline.js': [],
  'inline_train.js': [],
};

// The only host that may be named: the default hub of model ids (web/core/env.ts).
const kHub = /const kHub\w* *= *'([^']+)'|remoteHost\w*\s*[:=]\s*'([^']+)'/;

const read = (file) => readFileSync(join(root, 'dist', file));
const errors = [];
const sizes = [];

/** The file and its static imports. Dynamic imports are loaded only on demand. */
function withImports(file, seen = new Set(), later = false) {
  if (seen.has(file)) return seen;
  seen.add(file);
  if (!file.endsWith('.js')) return seen;
  for (const [, next] of read(file)
    .toString()
    .matchAll(later ? /(?:\bfrom|\bimport) ?\(?["']\.\/([\w.-]+)["']/g : /(?:\bfrom|\bimport) ?["']\.\/([\w.-]+)["']/g))
    withImports(next, seen, later);
  return seen;
}

const brotliSize = (file) => brotliCompressSync(read(file)).length; // quality 11 is the default

for (const [file, budget] of Object.entries(kBudgets)) {
  const size = [...withImports(file)].reduce((sum, part) => sum + brotliSize(part), 0);
  sizes.push(`${file} ${size} of ${budget}`);
  if (size > budget) errors.push(`dist/${file} is ${size} bytes after brotli, over the budget of ${budget}`);
}

/** `import { name } from 'wattn'` as a bundler gives it to a page, without what is loaded later. */
async function bundled(name, from) {
  const { outputFiles, metafile } = await build({
    stdin: { contents: `export { ${name} } from './dist/${from}'`, resolveDir: root },
    bundle: true,
    splitting: true,
    format: 'esm',
    minify: true,
    write: false,
    metafile: true,
    logOverride: { 'ignored-bare-import': 'silent' }, // what is shared has no effects of its own
    outdir: join(root, 'dist/bundled'),
    absWorkingDir: root,
  });
  const [entry] = Object.keys(metafile.outputs).filter((output) => metafile.outputs[output].entryPoint === '<stdin>');
  const atOnce = new Set([entry]);
  for (const output of atOnce) {
    for (const { path, kind } of metafile.outputs[output].imports) if (kind === 'import-statement') atOnce.add(path);
  }
  return outputFiles.filter(({ path }) => atOnce.has(relative(root, path))).map(({ text }) => text);
}

for (const [name, { from, budget }] of Object.entries(kImports)) {
  const texts = await bundled(name, from);
  const text = texts.join('\n');
  const size = texts.reduce((sum, part) => sum + brotliCompressSync(part).length, 0);
  sizes.push(`${name} of ${from} ${size} of ${budget}`);
  if (size > budget)
    errors.push(`${name} of dist/${from} is ${size} bytes after a bundler and brotli, over the budget of ${budget}`);
  const files = [...text.matchAll(/wattn-\w+\.wasm/g)].map(([file]) => file);
  if (files.includes('wattn-nn.wasm')) errors.push(`${name} of dist/${from} names ${files}, which is loaded when it is first used`);
}

const env = readFileSync(join(root, 'web/core/env.ts'), 'utf8');
const hub = (kHub.exec(env) ?? []).slice(1).find(Boolean)?.replace(/\/$/, '');

function checkPage(file, modules) {
  const parts = [...withImports(file)];
  const page = parts.map((part) => read(part).toString()).join('\n');
  const forbid = (pattern, why) => {
    for (const match of page.matchAll(pattern)) {
      const around = page.slice(Math.max(0, match.index - 60), match.index + 60).replace(/\n/g, ' ');
      errors.push(`dist/${file}: ${match[0]} (${why}): ...${around}...`);
    }
  };
  // eval(){ is the method of nn.Module.
  forbid(/new Function\b|\bFunction\(|\beval\((?!\)\{)/g, 'forbidden under a strict Content-Security-Policy');
  forbid(/\bimport\((?!["']\.\/chunk-[\w-]+\.js["']\))/g, 'nothing is loaded but parts of the package that the caller asked for');
  forbid(/(?<!["'])\bfrom ?["'](?!\.)|\bimport ?["'](?!\.)|\brequire\(/g, 'the page needs no other package');
  forbid(/\bnode:/g, 'a page has no Node');
  for (const part of parts) {
    try {
      parse(read(part).toString(), { ecmaVersion: 2022, sourceType: 'module', allowAwaitOutsideFunction: false });
    } catch (error) {
      errors.push(`dist/${part}: top-level await, or no valid module: ${error.message}`);
    }
  }
  for (const match of page.matchAll(/https?:\/\/[^\s\\"'`)]*/g)) {
    if (!hub || match[0].replace(/\/$/, '') !== hub) errors.push(`dist/${file} names ${match[0]}`);
  }
  if (file.startsWith('chunk-')) return;
  if (modules.length > 0 && !page.includes('import.meta.url')) errors.push(`dist/${file} lost its import.meta.url`);
  // Bundlers recognise exactly this form, and copy every file that they find by it.
  const found = [...page.matchAll(/new URL\(["'`]\.\/wattn-(\w+)\.wasm["'`], ?import\.meta\.url\)/g)].map((match) => match[1]);
  if (found.sort().join() !== [...modules].sort().join()) {
    errors.push(`dist/${file} has new URL('./wattn-..wasm', import.meta.url) for ${found}, expected for ${modules}`);
  }
  if (modules.includes('tokenizer'))
    forbid(/last_hidden_state|feature-extraction|new \w+\.Model\b/g, 'the tokenizer alone knows no models');
}

for (const [file, modules] of Object.entries(kPages)) checkPage(file, modules);
// What names its folder would have other bytes in another one (tools/check_rebuild.mjs builds one module there).
for (const file of readdirSync(join(root, 'dist'), { recursive: true }).filter((file) => /\.\w+$/.test(file)))
  if (read(file).includes(root)) errors.push(`dist/${file} names the folder it was built in, ${root}`);
// The chunks that pages load later. Static imports of an entry were checked with it.
// Only those of pages: Node's entries have chunks of their own.
const chunks = [...withImports('index.js', new Set(), true)].filter((file) => file.startsWith('chunk-'));
const pages = new Set([...withImports('index.js'), ...withImports('nn_entry.js')]);
for (const file of chunks) if (!pages.has(file)) checkPage(file, ['simd']);
// Training of tokenizers, nn, the classifier and search have wasm files of their own, which a page loads when it uses them.
for (const [file, module] of [
  ['index.js', 'tokenizer'],
  ['index.js', 'nn'],
  ['index.js', 'search'],
  ['index.js', 'constraints'],
  ['nn_entry.js', 'nn'],
]) {
  const form = new RegExp(`new URL\\(["'\`]\\./wattn-${module}\\.wasm["'\`], ?import\\.meta\\.url\\)`);
  const parts = [...withImports(file, new Set(), true)].filter((part) => part.startsWith('chunk-'));
  if (!parts.some((part) => form.test(read(part).toString())))
    errors.push(`no chunk of dist/${file} has new URL('./wattn-${module}.wasm', import.meta.url)`);
}
for (const file of ['index.js', 'worker.js']) {
  for (const script of file === 'index.js' ? ['thread', 'worker'] : ['thread']) {
    const form = new RegExp(
      `new Worker\\(new URL\\(["'\`]\\./${script}\\.js["'\`], ?import\\.meta\\.url\\), ?\\{ ?type: ?["'\`]module["'\`] ?\\}\\)`,
    );
    const all = [...withImports(file, new Set(), true)].map((part) => read(part).toString()).join('\n');
    if (!form.test(all)) errors.push(`dist/${file} lost new Worker(new URL('./${script}.js', import.meta.url), ..)`);
  }
}
for (const file of ['worker.js', 'wattn-worker.mjs'])
  if (read(file).includes(`./${file}`)) errors.push(`dist/${file} names itself, a circle on which Turbopack never ends`);
if (read('tokenizer_entry.js').includes('new Worker')) errors.push('dist/tokenizer_entry.js starts workers');
// The rules of redact, and the numbering plans beside them, are chunks of their own.
for (const [name, budget] of [
  ['rules', 13_000],
  ['phones', 7_000],
]) {
  const file = chunks.find((chunk) => chunk.startsWith(`chunk-${name}-`));
  const size = file ? brotliSize(file) : NaN;
  sizes.push(`chunk-${name} ${size} of ${budget}`);
  if (!(size <= budget)) errors.push(`dist/${file ?? `chunk-${name}`} is ${size} bytes after brotli, over the budget of ${budget}`);
}
// What a page loads with `device: 'webgpu'`, beside what it has.
const ofGpu = chunks.filter((file) => read(file).includes('requestAdapter'));
const gpuSize = ofGpu.reduce((sum, file) => sum + brotliSize(file), 0);
sizes.push(`the GPU's chunk ${gpuSize} of 60000`);
if (ofGpu.length === 0 || gpuSize > 60_000)
  errors.push(`the GPU's chunk is ${gpuSize} bytes after brotli, over the budget of 60000`);
for (const error of errors) console.error(error);
const later = chunks.filter((file) => !withImports('index.js').has(file)).reduce((sum, file) => sum + brotliSize(file), 0);
console.log(`note: bytes after brotli: ${sizes.join(', ')}, loaded with tasks ${later}`);
process.exit(errors.length > 0 ? 1 : 0);
