// Makes dist/, what the package ships: bundles web/ with esbuild, copies the wasm files, emits the types.
// Needs the wasm build (npm run build does it first).
import { build } from 'esbuild';
import { chmodSync, copyFileSync, mkdirSync, readdirSync, readFileSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { fail, must, root } from './lib/shell.mjs';

const dist = join(root, 'dist');
const built = (file) => join(root, 'build/wasm-simd', file);
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const buildId = readFileSync(built('build_id.h'), 'utf8').split('"')[1];

/** The kernels for relaxed SIMD must be in their files. */
function checkRelaxed() {
  for (const folder of ['', 'full/']) {
    if (readFileSync(built(`${folder}wattn.wasm`)).equals(readFileSync(built(`${folder}relaxed/wattn.wasm`))))
      fail(`${folder}relaxed/wattn.wasm in build/wasm-simd has no kernels for relaxed SIMD (cmake/wattn_variants.cmake)`);
  }
}

/** Imports of these files are left to files beside the script. files: the end of an import's path to the file's name. */
const beside = (files) => ({
  name: 'beside',
  setup({ onResolve }) {
    for (const [end, file] of Object.entries(files)) {
      const filter = new RegExp(`/${end.replace(/\./g, '\\.')}$`);
      onResolve({ filter }, () => ({ path: `./${file}`, external: true }));
    }
  },
});
/** wattn/inline and wattn/inline-train read their embedded files from files beside the script, which all importers share. */
const inlineFiles = beside({ 'inline_files.js': 'inline_files.js', 'inline_train_files.js': 'inline_train_files.js' });
/** In Node with the scripts of Node's workers. */
const inlineNodeFiles = beside({
  'inline_files.js': 'inline_files_node.js',
  'inline_train_files.js': 'inline_train_files_node.js',
});
/** The command uses the library beside it instead of a second copy. */
const libraryBeside = beside({ 'entries/index.js': 'node.js', 'entries/train_entry.js': 'train_entry_node.js' });
/** index passes on the exports of two files beside it (web/entries/page.ts, api.ts), and the entries for other libraries import index. */
const pageBeside = beside({ 'page.js': 'chunk-page.js', 'api.js': 'chunk-api.js', 'index.js': 'index.js' });
const nodeBeside = beside({ 'index.js': 'node.js' });
/** wattn/react has one file for all platforms, which imports the package by its name: so it gets the one for the platform that its user is on. */
const packageItself = {
  name: 'package-itself',
  setup({ onResolve }) {
    onResolve({ filter: /\/index\.js$/ }, () => ({ path: 'wattn', external: true }));
  },
};
/** For servers that render components: the hook is for their clients. */
const ofReact = { external: ['react'], banner: { js: '"use client";' } };

/**
 * The classes of errors are those that the first copy of wattn in a realm has (web/core/shared.ts). They are exported as classes, for their types; so
 * the bundler puts this between them and those who import them.
 */
const sharedErrors = {
  name: 'shared-errors',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /\/errors\.js$/ }, ({ path, resolveDir }) => ({
      path: relative(root, join(resolveDir, path.replace(/js$/, 'ts'))), // it is named in a comment
      namespace: 'shared',
    }));
    onLoad({ filter: /./, namespace: 'shared' }, ({ path }) => {
      const names = [...readFileSync(join(root, path), 'utf8').matchAll(/^export (?:class|const|function) (\w+)/gm)].map(
        ([, name]) => name,
      );
      const contents = `import * as own from './errors.ts';
import { shared } from './shared.js';
export const [${names.join(', ')}] = (shared.errors ??= [${names.map((name) => `own.${name}`).join(', ')}]);`;
      return { contents, resolveDir: dirname(join(root, path)), loader: 'ts' };
    });
  },
};

/** An import() of a file of wattn's, which is loaded when it is first needed; not the type of one. */
const kLater = /(?<!typeof )import\('(\.[^']+)'\)(?!\.[A-Z])/g;

/** Where such a file cannot be loaded, the error is one of wattn's (web/core/chunk.ts). In a bundle of one file nothing is loaded. */
const laterParts = {
  name: 'later-parts',
  setup({ onLoad }) {
    const web = join(root, 'web');
    onLoad({ filter: /[/\\]web[/\\].*\.ts$/ }, ({ path }) => {
      const text = readFileSync(path, 'utf8');
      const contents = text.replace(kLater, "__loaded(import('$1'))");
      if (contents === text || !path.startsWith(web)) return undefined;
      const chunk = relative(dirname(path), join(web, 'core/chunk.js')).replaceAll('\\', '/');
      return {
        contents: `${contents}\nimport { loaded as __loaded } from '${chunk.startsWith('.') ? chunk : `./${chunk}`}';\n`,
        loader: 'ts',
      };
    });
  },
};

/** In bundles for another platform than a page, `x_node.ts` or `x_edge.ts` replaces `x.ts`. files: an expression for the names x. */
const replaced = (platform, files) => ({
  name: `${platform}-modules`,
  setup({ onResolve }) {
    onResolve({ filter: new RegExp(`/(${files})\\.js$`) }, ({ path, resolveDir }) => ({
      path: join(resolveDir, path.replace('.js', `_${platform}.ts`)),
    }));
  },
});
const nodeModules = replaced('node', 'platform|workers');
const edgeModules = replaced(
  'edge',
  'platform|workers|embedded|language_table|packing|distillation|remote_engine|guide|accelerated',
);

/** wattn/tokenizer has no workers. */
const noWorkers = replaced('none', 'workers');

/** On the edge a program imports its .wasm files, which lie beside the script. */
const importedWasm = {
  name: 'imported-wasm',
  setup({ onResolve }) {
    onResolve({ filter: /^wattn-\w+\.wasm$/ }, ({ path }) => ({ path: `./${path}`, external: true }));
  },
};
/** What a bundle for the edge is. */
const edge = { edge: true, inline: true, split: true };

/** Other .wasm files for an entry: see web/host/own_files.ts. */
const ownFiles = (kind) => ({
  name: 'own-files',
  setup({ onResolve }) {
    onResolve({ filter: /\/own_files\.js$/ }, () => ({ path: join(root, `web/host/own_files_${kind}.ts`) }));
  },
});

/**
 * Tools that copy what a server needs (Turbopack, @vercel/nft) take each URL of a script that they cannot foresee for any file of the package, as all are in CommonJS. There they
 * see the names of the files (web/source/package_files_node.ts) behind __dirname alone.
 */
function foreseen(script) {
  const beside =
    /(\(0, import_node_fs\d*\.existsSync\)\()\(0, \w+\.join\)\(\(0, \w+\.dirname\)\(\(0, \w+\.fileURLToPath\)\(__wattn_url\)\), "(wattn-[\w.-]+)"\)/g;
  const kinds = [
    [beside, '$1__dirname + "/$2"', 12],
    [/new import_worker_threads\d*\.Worker\(/g, 'new __wattn_Worker(', 3],
    [/new URL\((?="[\w./-]+", __wattn_url\))/g, 'new __wattn_URL(', 13],
  ];
  for (const [form, instead, least] of kinds) {
    const found = script.match(form)?.length ?? 0;
    if (found < least) fail(`node.cjs: expected ${form} at ${least} places or more, found ${found}`);
    script = script.replace(form, instead);
  }
  return script;
}

/** For Jest, which cannot require() an ES module, as Node can since 20.19. It serves all entries. */
const commonJs = {
  format: 'cjs',
  outExtension: { '.js': '.cjs' },
  banner: {
    js: `const __wattn_url = require('node:url').pathToFileURL(__filename).href;
const { Worker: __wattn_Worker, URL: __wattn_URL } = Reflect.get([{ ...require('node:worker_threads'), URL }], 0);`,
  },
  define: { 'import.meta.url': '__wattn_url' },
  inject: [join(root, 'web/host/cjs_globals.ts')],
};

/** Workers are modules wherever a bundle's folder is that they are copied to. */
const nodeScript = { outExtension: { '.js': '.mjs' } };

/** What a worker is started from by its text, without a file: CommonJS, as that needs no URL. */
const evaluated = { format: 'cjs', minify: true, define: { 'import.meta.url': 'undefined' } };

/** Emscripten's glue drops U+FEFF at the beginning of a string as a byte order mark. It may be a part of a text. */
const keepByteOrderMarks = {
  name: 'keep-byte-order-marks',
  setup({ onLoad }) {
    onLoad({ filter: /[/\\]build[/\\]wasm-\w+[/\\]/ }, ({ path }) => {
      const glue = readFileSync(path, 'utf8');
      const decoder = /new TextDecoder(?:\(("[\w-]+")\))?/g;
      if (!decoder.test(glue)) fail(`${path} has no TextDecoder`);
      return { contents: glue.replace(decoder, (_, label = '"utf-8"') => `new TextDecoder(${label},{ignoreBOM:true})`) };
    });
  },
};

/**
 * The bundles: what is built from which entries (web/entries), for which platform. Entries in one bundle share their common code in files of
 * its own. `base`, `source`, `core` and, for Node, `shared` only declare what
 * belongs together in one such file (web/entries/base.ts).
 */
const kGroups = ['base', 'source', 'core', 'shared'];
const bundles = [
  {
    entries: {
      index: 'index',
      'chunk-page': 'page',
      'chunk-api': 'api',
      nn_entry: 'nn_entry',
      train_entry: 'train_entry',
      ai_sdk_entry: 'ai_sdk_entry',
      langchain_entry: 'langchain_entry',
      llamaindex_entry: 'llamaindex_entry',
      languages_entry: 'languages_entry',
      base: 'base',
      source: 'source',
      core: 'core',
    },
    plugins: [pageBeside],
  },
  { entries: { worker: 'worker' }, inWorker: true },
  { entries: { train_worker: 'train_worker' }, inWorker: true, plugins: [ownFiles('full')] },
  { entries: { thread: 'thread' } },
  { entries: { tokenizer_entry: 'tokenizer_entry' }, split: true, plugins: [noWorkers, ownFiles('tokenizer')] },
  { entries: { count_entry: 'count_entry' }, split: true, plugins: [ownFiles('tokenizer')] },
  { entries: { static_search_entry: 'static_search_entry', search_element_entry: 'search_element_entry' } },
  { entries: { inline: 'index' }, inline: true },
  { entries: { inline_train: 'inline_train_entry' }, inline: true },
  {
    entries: {
      node: 'index',
      nn_entry_node: 'nn_entry',
      train_entry_node: 'train_entry',
      ai_sdk_entry_node: 'ai_sdk_entry',
      langchain_entry_node: 'langchain_entry',
      llamaindex_entry_node: 'llamaindex_entry',
      shared: 'shared',
    },
    node: true,
    plugins: [nodeBeside],
  },
  { entries: { 'wattn-worker': 'worker' }, node: true, inWorker: true, own: nodeScript },
  { entries: { 'wattn-train-worker': 'train_worker' }, node: true, inWorker: true, plugins: [ownFiles('full')], own: nodeScript },
  { entries: { 'wattn-thread': 'thread' }, node: true, own: nodeScript },
  { entries: { tokenizer_entry_node: 'tokenizer_entry' }, node: true, split: true, plugins: [noWorkers, ownFiles('tokenizer')] },
  { entries: { count_entry_node: 'count_entry' }, node: true, split: true, plugins: [ownFiles('tokenizer')] },
  { entries: { 'inline-worker': 'worker' }, node: true, inWorker: true, own: evaluated },
  { entries: { 'inline-thread': 'thread' }, node: true, own: evaluated },
  { entries: { 'inline-train-worker': 'train_worker' }, node: true, inWorker: true, plugins: [ownFiles('full')], own: evaluated },
  { entries: { inline_node: 'index' }, node: true, inline: true },
  { entries: { inline_train_node: 'inline_train_entry' }, node: true, inline: true },
  {
    ...edge,
    entries: {
      edge: 'edge/index',
      nn_entry_edge: 'edge/nn_entry',
      ai_sdk_entry_edge: 'ai_sdk_entry',
      langchain_entry_edge: 'langchain_entry',
      llamaindex_entry_edge: 'llamaindex_entry',
    },
    plugins: [beside({ 'index.js': 'edge.js' })],
  },
  { ...edge, entries: { tokenizer_entry_edge: 'edge/tokenizer_entry' }, plugins: [ownFiles('tokenizer')] },
  { ...edge, entries: { count_entry_edge: 'edge/count_entry' }, plugins: [ownFiles('tokenizer')] },
  { entries: { node: 'node_cjs' }, node: true, own: commonJs },
  { entries: { react_entry: 'react_entry' }, plugins: [packageItself], own: ofReact },
  {
    entries: { react_entry: 'react_entry' },
    plugins: [packageItself],
    own: { ...ofReact, format: 'cjs', outExtension: { '.js': '.cjs' } },
  },
  { entries: { cli: '../cli/cli' }, node: true, split: true, plugins: [libraryBeside] },
];

const kImport = /\bimport\s*(?:\{([^}]*)\}\s*from\s*)?"\.\/([\w.-]+)";/g;
const kExport = /\bexport\{([^}]*)\};?\s*$/;
const pairs = (list) => (list ?? '').split(',').map((each) => each.trim()).filter(Boolean).map((each) => each.split(' as ')); // prettier-ignore

/**
 * Joins the chunks that an entry imports into one, named after it, and removes the entry. esbuild makes a chunk for every set of entries and parts that
 * share code: thirty for `pipeline`, which a page always loads together. One file is a fifth smaller after compression. files: of one bundle, by name.
 */
async function joinChunks(files, entry, how) {
  const joined = `chunk-${entry}`;
  const importsOf = (file) => [...files.get(file).matchAll(kImport)].map(([, list, from]) => ({ names: pairs(list), from }));
  const reached = new Set([entry]);
  for (const file of reached) for (const { from } of importsOf(file)) reached.add(from);
  files.delete(entry);
  const parts = [...reached].filter((file) => file !== entry && !kGroups.some((group) => file.startsWith(`chunk-${group}`)));
  const short = new Map(); // the name in the joined file of each `file name` that others import
  const rewrite = (file) => {
    const taken = [];
    const rest = files.get(file).replace(kImport, (statement, list, from) => {
      if (!list) return ''; // no chunk has effects of its own (package.json)
      if (!parts.includes(from)) return statement;
      for (const [name, own = name] of pairs(list)) {
        const key = `${from} ${name}`;
        if (!short.has(key)) short.set(key, `_${short.size.toString(36)}`);
        taken.push(`${short.get(key)} as ${own}`);
      }
      return '';
    });
    files.set(file, taken.length > 0 ? `import{${taken}}from"./${joined}";${rest}` : rest);
  };
  for (const file of files.keys()) if (!parts.includes(file)) rewrite(file);
  const { outputFiles } = await build({
    stdin: {
      contents: [...short].map(([key, name]) => `export{${key.split(' ')[1]} as ${name}}from"./${key.split(' ')[0]}";`).join('\n'),
    },
    plugins: [
      {
        name: 'joined-parts',
        setup({ onResolve, onLoad }) {
          onResolve({ filter: /./ }, ({ path }) =>
            parts.includes(path.slice(2)) ? { path: path.slice(2), namespace: 'part' } : { path, external: true },
          );
          onLoad({ filter: /./, namespace: 'part' }, ({ path }) => ({ contents: files.get(path) }));
        },
      },
    ],
    bundle: true,
    format: 'esm',
    ...how,
    charset: 'utf8',
    legalComments: 'none',
    write: false,
    logLevel: 'warning',
  });
  for (const part of parts) files.delete(part);
  files.set(joined, outputFiles[0].text);
}

async function bundle(memoryFlags) {
  for (const {
    entries,
    node = false,
    edge = false,
    inline = false,
    inWorker = false,
    split = false,
    plugins = [],
    own = {},
  } of bundles) {
    // Node prints the line of an error that nobody catches. A worker's errors reach the thread that started it.
    const how = node && !inWorker ? { minifySyntax: true } : { minify: true };
    const { define = {}, inject = [], ...others } = { ...own };
    const names = Object.entries(entries);
    const isSplit = split || names.length > 1;
    const { outputFiles } = await build({
      entryPoints: Object.fromEntries(names.map(([out, name]) => [out, join(root, 'web/entries', `${name}.ts`)])),
      outdir: dist,
      splitting: isSplit,
      write: false,
      chunkNames: 'chunk-[name]-[hash]', // beside the entry: what a page loads only when it asks for it
      bundle: true,
      format: 'esm',
      platform: node ? 'node' : 'browser',
      target: node ? 'node20' : ['chrome91', 'firefox89', 'safari16.4'], // the first with wasm SIMD
      ...how,
      legalComments: 'none',
      charset: 'utf8',
      define: {
        __WATTN_BUILD_ID__: JSON.stringify(buildId),
        __WATTN_VERSION__: JSON.stringify(version),
        __WATTN_MEMORY_FLAG__: JSON.stringify(memoryFlags),
        __WATTN_INLINE__: String(inline),
        __WATTN_IN_WORKER__: String(inWorker),
        ...define,
      },
      inject: [join(root, 'web/host/shared_array_buffer.ts'), ...inject],
      external: ['@langchain/core/*'], // of wattn/langchain's chat model, for programs that have it
      plugins: [
        keepByteOrderMarks,
        ...(inWorker || 'thread' in entries ? [] : [sharedErrors]),
        ...(edge ? [edgeModules, importedWasm] : inline ? [node ? inlineNodeFiles : inlineFiles] : []),
        ...plugins,
        ...(node ? [nodeModules] : []),
        ...(isSplit ? [laterParts] : []),
      ],
      logLevel: 'warning',
      ...others,
    });
    const files = new Map(outputFiles.map(({ path, text }) => [basename(path), text]));
    for (const group of kGroups) if (group in entries) await joinChunks(files, `${group}.js`, how);
    // Bundlers warn of imports of files without effects for their effects.
    const text = (file) =>
      edge
        ? files.get(file).replace(/\bimport"\.\/chunk-[\w-]+\.js";/g, '')
        : own === commonJs
          ? foreseen(files.get(file))
          : files.get(file);
    for (const file of files.keys()) writeFileSync(join(dist, file), text(file));
  }
  chmodSync(join(dist, 'cli.js'), 0o755);
}

function writeInlineFiles() {
  // With less memory deflate begins a new block, with codes of its own, sooner.
  const packed = (file) => {
    const bytes = readFileSync(join(dist, file));
    const all = [5, 6, 7, 8, 9].map((memLevel) => gzipSync(bytes, { level: 9, memLevel }));
    return all.sort((a, b) => a.length - b.length)[0].toString('base64');
  };
  const textOf = (file) => readFileSync(join(dist, file), 'utf8');
  /** The text of a script that only another one needs. */
  const taken = (file) => {
    const text = textOf(file);
    rmSync(join(dist, file));
    return text;
  };
  const write = (file, text) => writeFileSync(join(dist, file), `${text};\n`);
  const scripts = { engine: textOf('worker.js'), thread: textOf('thread.js') };
  write(
    'inline_files.js',
    `export const models = '${packed('wattn-simd.wasm')}';
export const nn = '${packed('wattn-nn.wasm')}';
export const search = '${packed('wattn-search.wasm')}';
export const constraints = '${packed('wattn-constraints.wasm')}';
export const scripts = ${JSON.stringify(scripts)}`,
  );
  const own = { engine: taken('inline-worker.js'), thread: taken('inline-thread.js') };
  write(
    'inline_files_node.js',
    `export { models, nn, search, constraints } from './inline_files.js';
export const scripts = ${JSON.stringify(own)}`,
  );
  write(
    'inline_train_files.js',
    `export const fullSimd = '${packed('wattn-full-simd.wasm')}';
export const tokenizer = '${packed('wattn-tokenizer.wasm')}';
export const script = ${JSON.stringify(textOf('train_worker.js'))}`,
  );
  write(
    'inline_train_files_node.js',
    `export { fullSimd, tokenizer } from './inline_train_files.js';
export const script = ${JSON.stringify(taken('inline-train-worker.js'))}`,
  );
}

/** tsc writes a file for each module to dist/types. Only those that the entries reach are kept. */
function emitTypes() {
  must(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', 'tsconfig.types.json'], { cwd: root });
  const types = join(dist, 'types');
  const kept = new Set(
    [
      'index',
      'tokenizer_entry',
      'nn_entry',
      'train_entry',
      'inline_train_entry',
      'ai_sdk_entry',
      'langchain_entry',
      'llamaindex_entry',
      'react_entry',
      'languages_entry',
      'count_entry',
      'static_search_entry',
      'search_element_entry',
    ].map((name) => join(types, 'entries', `${name}.d.ts`)),
  );
  for (const file of kept) {
    const text = readFileSync(file, 'utf8');
    for (const [, path] of text.matchAll(/['"](\.{1,2}\/[\w/.]+)\.js['"]/g)) kept.add(join(dirname(file), `${path}.d.ts`));
  }
  for (const entry of readdirSync(types, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath ?? entry.path, entry.name);
    if (entry.isFile() && !kept.has(path)) rmSync(path);
  }
  for (const entry of readdirSync(types, { withFileTypes: true })) {
    if (readdirSync(join(types, entry.name)).length === 0) rmdirSync(join(types, entry.name));
  }
  // The same for CommonJS, whose types must not claim to be those of ES modules.
  for (const file of kept) {
    const text = readFileSync(file, 'utf8').replace(/(['"]\.{1,2}\/[\w/.]+)\.js(?=['"])/g, '$1.cjs');
    writeFileSync(file.replace(/\.ts$/, '.cts'), text);
  }
}

function brotliSize(file) {
  return `${file} ${(brotliCompressSync(readFileSync(join(dist, file))).length / 1000).toFixed(1)} kB`;
}

/** The bytes of a wasm file of this build. */
function builtWasm(name) {
  const bytes = readFileSync(built(name));
  if (!bytes.includes(buildId)) fail(`build/wasm-simd/${name} is of another build than build_id.h; build it again`);
  return bytes;
}

/**
 * The wasm is linked for shared memory, which a page that is not cross-origin isolated cannot create. So it ships with that flag cleared, as
 * WebAssembly with ordinary memory, and the page sets the flag again when it starts threads. Returns the flag's position.
 */
function copyUnshared(from, to = from) {
  const bytes = builtWasm(from);
  let at = 8;
  const number = () => {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = bytes[at++];
      value += (byte & 127) * 2 ** shift;
      if (byte < 128) return value;
    }
  };
  const skipName = () => {
    const length = number(); // moves at
    at += length;
  };
  for (;;) {
    const section = bytes[at++];
    const length = number();
    if (section === 2) break; // imports
    if (at + length >= bytes.length) fail(`${to} imports nothing`);
    at += length;
  }
  for (let left = number(); left > 0; --left) {
    skipName();
    skipName();
    const kind = bytes[at++];
    if (kind === 2) {
      if (bytes[at] !== 3) fail(`${to}: its memory is not shared`);
      bytes[at] = 1;
      writeFileSync(join(dist, to), bytes);
      return at;
    }
    if (kind !== 0) fail(`${to}: an import of kind ${kind} before the memory`);
    number(); // a function's type
  }
  return fail(`${to} imports no memory`);
}

checkRelaxed();
rmSync(dist, { recursive: true, force: true });
mkdirSync(dist);
const memoryFlags = {
  simd: copyUnshared('wattn.wasm', 'wattn-simd.wasm'),
  relaxed: copyUnshared('relaxed/wattn.wasm', 'wattn-relaxed.wasm'),
  'full-simd': copyUnshared('full/wattn.wasm', 'wattn-full-simd.wasm'),
  'full-relaxed': copyUnshared('full/relaxed/wattn.wasm', 'wattn-full-relaxed.wasm'),
};
copyUnshared('wattn-tokenizer.wasm');
copyFileSync(join(root, 'models/default/wattn-default.gguf'), join(dist, 'wattn-default.gguf'));
copyUnshared('wattn-nn.wasm');
for (const file of ['wattn-search.wasm', 'wattn-constraints.wasm']) writeFileSync(join(dist, file), builtWasm(file));
await bundle(memoryFlags).catch(() => process.exit(1)); // esbuild has said why
writeInlineFiles();
if (process.env.WATTN_TYPES !== 'none') emitTypes(); // tools/mutate.mjs asks the type checker itself
if (!process.env.FAST)
  console.log(
    `note: brotli: ${['index.js', 'wattn-simd.wasm', 'wattn-relaxed.wasm', 'tokenizer_entry.js', 'wattn-tokenizer.wasm', 'wattn-nn.wasm', 'wattn-search.wasm', 'wattn-constraints.wasm', 'wattn-full-simd.wasm', 'wattn-full-relaxed.wasm'].map(brotliSize).join(', ')}`,
  );
