// Packs the tarball, installs it into empty projects (tests/fixtures/consumers) outside the checkout and uses it there, with the tools of
// this checkout. That is in Node as a module and as CommonJS, in strict TypeScript, and in plain and built pages, which Chromium opens
// under a strict Content-Security-Policy. check_fixtures.mjs does it with other tools.
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build as esbuild } from 'esbuild';
import { build, createServer } from 'vite';
import { blocksOf, kOrder, moduleOf } from './docs/examples.mjs';
import { checklist, checkPage, inPage, install, kInlinePolicy, model, moveAway, pack, same } from './lib/consumers.mjs';
import { root, run } from './lib/shell.mjs';

const packing = pack();
const { packed } = packing;
/**
 * Bytes of the tarball, which shows what is in it by mistake. 3.7 MB are the model, 2.3 MB WebAssembly, 1.1 MB wattn/inline and 1.3 MB
 * wattn/inline-train. 3 MB are the code for Node (modules, CommonJS, and the two inline entries) with its chunks. The last grows with every feature,
 * in each of its forms; the words of 25 languages are there four times.
 */
const kMostPacked = 13_300_000;

/** How programs and libraries for Linux, macOS and Windows begin. */
const kNative = ['\x7fELF', '\xcf\xfa\xed\xfe', '\xca\xfe\xba\xbe', 'MZ\x90\x00'];

/** What ships, and nothing else. No native file: the package runs on musl, and on every processor. */
function checkContents() {
  const names = packed.files
    .map((file) => file.path)
    .filter((path) => !/^(dist\/|package\.json$|README\.md$|LICENSE$|NOTICE$|SECURITY\.md$|CHANGELOG\.md$)/.test(path));
  if (names.length > 0) throw new Error(`unexpected files in the tarball: ${names.join(', ')}`);
  const native = packed.files
    .map(({ path }) => path)
    .filter((path) => kNative.includes(readFileSync(join(root, path)).toString('latin1', 0, 4)));
  if (native.length > 0) throw new Error(`the tarball has native programs: ${native.join(', ')}`);
  const { dependencies, scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  if (dependencies) throw new Error('the package has run-time dependencies');
  if (scripts.install || scripts.postinstall || scripts.preinstall) throw new Error('the package has an install script');
  if (packed.size > kMostPacked) throw new Error(`the tarball has ${packed.size} bytes, more than ${kMostPacked}`);
  return `${packed.files.length} files, ${(packed.size / 1000).toFixed(0)} kB packed, ${(packed.unpackedSize / 1000).toFixed(0)} kB installed`;
}

const nodeProgram = () => JSON.parse(run(process.execPath, ['index.mjs', model], { cwd: install(packing, 'node-esm') }));

/** require(), which Node turns into an import; and the CommonJS file, which Jest uses. */
function commonJs(expected) {
  const cwd = install(packing, 'node-cjs');
  const file = join(cwd, 'node_modules/wattn/dist/node.cjs');
  const own = readFileSync(join(cwd, 'index.cjs'), 'utf8').replaceAll(
    /require\('wattn[^']*'\)/g,
    `require(${JSON.stringify(file)})`,
  );
  writeFileSync(join(cwd, 'own.cjs'), own);
  for (const args of [['index.cjs'], ['index.cjs', 'worker'], ['own.cjs', 'worker']]) {
    same(JSON.parse(run(process.execPath, args.toSpliced(1, 0, model), { cwd })), expected, args[0]);
  }
}

/** Strict types. The examples of README and docs/start.md compile with them and run as written; those of all guides compile. */
function strictTypes() {
  const cwd = install(packing, 'typescript-strict');
  const examples = ['README.md', 'docs/start.md'].map((file, i) => {
    const code = /^```js\n([\s\S]*?)^```/m.exec(readFileSync(join(root, file), 'utf8'))[1];
    writeFileSync(join(cwd, `example_${i}.ts`), code);
    return `example_${i}`;
  });
  const config = JSON.parse(readFileSync(join(cwd, 'tsconfig.json'), 'utf8'));
  config.files = ['index.ts', ...examples.map((name) => `${name}.ts`)];
  writeFileSync(join(cwd, 'tsconfig.json'), JSON.stringify(config));
  run(process.execPath, [join(root, 'node_modules/typescript/bin/tsc')], { cwd });
  for (const name of examples) run(process.execPath, [join(cwd, 'out', `${name}.js`)], { cwd });

  const codes = kOrder.map((name) => blocksOf(readFileSync(join(root, 'docs', `${name}.md`), 'utf8')).filter(({ runs }) => runs));
  const programs = kOrder.map((name, i) => ({ file: `guide_${name}.js`, text: moduleOf(codes[i].map(({ code }) => code)) }));
  for (const { file, text } of programs) writeFileSync(join(cwd, file), text);
  const paths = {
    'wattn-base': [join(root, 'models/base/index.d.ts')],
    'wattn-large': [join(root, 'models/large/index.d.ts')],
    'wattn-story': [join(root, 'models/story/index.d.ts')],
    'wattn-pii': [join(root, 'models/pii/index.d.ts')],
    'wattn-multi': [join(root, 'models/multi/index.d.ts')],
    '@huggingface/jinja': [join(root, 'node_modules/@huggingface/jinja/dist/index.d.ts')],
    ai: [join(root, 'node_modules/ai/dist/index.d.ts')],
    '@langchain/core/documents': [join(root, 'node_modules/@langchain/core/dist/documents/index.d.ts')],
  };
  const lib = ['ES2022', 'DOM', 'DOM.Iterable', 'DOM.AsyncIterable'];
  const types = { types: ['node'], typeRoots: [join(root, 'node_modules/@types')], skipLibCheck: true };
  const ofScripts = { allowJs: true, checkJs: true, noImplicitAny: false, noEmit: true, noUncheckedIndexedAccess: false };
  const options = { ...config.compilerOptions, ...types, ...ofScripts, lib, paths };
  const guides = { compilerOptions: options, files: programs.map(({ file }) => file) };
  writeFileSync(join(cwd, 'tsconfig.guides.json'), JSON.stringify(guides));
  run(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', 'tsconfig.guides.json'], { cwd });
  return `${codes.flat().length} examples of the guides`;
}

function commandLine() {
  const cwd = install(packing, 'node-esm');
  const said = run('npx', ['--offline', 'wattn', 'tokenize', '--model', model, 'one text'], { cwd });
  if (!Array.isArray(JSON.parse(said.trim()).ids)) throw new Error(`wattn tokenize printed ${said}`);
}

/** A model's package beside wattn: its files, its name in Node, its URL in TypeScript. answer: what to ask of a pipeline of the task. */
function modelPackage(folder, task, answer) {
  const name = `wattn-${folder}`;
  const [own] = JSON.parse(
    run('npm', ['pack', '--json', '--pack-destination', packing.work], { cwd: join(root, 'models', folder) }),
  );
  const names = own.files.map(({ path }) => path).sort();
  const expected = ['LICENSE', 'NOTICE', 'README.md', 'SECURITY.md', 'index.d.ts', 'index.js', 'package.json', `${name}.gguf`];
  same(names, expected, `the tarball of ${name}`);
  const cwd = install(packing, 'node-esm');
  run('npm', ['install', '--offline', '--no-audit', '--no-fund', join(packing.work, own.filename)], { cwd });
  writeFileSync(
    join(cwd, 'model.mjs'),
    `import { pipeline } from 'wattn';
import model from '${name}';
const answers = [];
for (const each of ['${name}', model]) answers.push(await (${answer})(await pipeline('${task}', each)));
console.log(JSON.stringify(answers));`,
  );
  const [byName, byUrl] = JSON.parse(run(process.execPath, ['model.mjs'], { cwd }));
  same(byName, byUrl, `${name} by its name`);
  return `${(own.size / 1e6).toFixed(1)} MB packed`;
}

const baseModel = () => modelPackage('base', 'feature-extraction', "async (embed) => [...(await embed('one text')).data]");
const largeModel = () => modelPackage('large', 'feature-extraction', "async (embed) => [...(await embed('one text')).data]");
const storyModel = () =>
  modelPackage('story', 'text-generation', "(generate) => generate('Once upon a time', { max_new_tokens: 8 })");

const piiModel = () => modelPackage('pii', 'token-classification', "(find) => find('Ada Novak lives in Porto.')");

const multiModel = () => modelPackage('multi', 'feature-extraction', "(embed) => embed.encode_query('Wann öffnet die Bäckerei?')");

async function viteBuild(expected) {
  const folder = install(packing, 'vite-page', { shared: 'page' });
  await build({ root: folder, logLevel: 'error', base: './' });
  await checkPage(join(folder, 'dist'), expected);
}

/** The development server, which serves modules one by one and pre-bundles dependencies. */
async function viteDev(expected) {
  const folder = install(packing, 'vite-page', { shared: 'page' });
  cpSync(model, join(folder, 'public/model'), { recursive: true });
  const server = await createServer({ root: folder, logLevel: 'error', server: { host: '127.0.0.1', port: 0, hmr: false } });
  try {
    await server.listen();
    const { port } = server.httpServer.address();
    // It may reload the page when it finds a dependency that it did not expect.
    const vector = await inPage(`http://127.0.0.1:${port}/`, async (page) => {
      await page.waitForFunction('globalThis.answer');
      return page.evaluate(() => globalThis.answer);
    });
    same(JSON.parse(vector), expected, 'the page');
  } finally {
    await server.close();
  }
}

async function esbuildPage(expected) {
  const folder = install(packing, 'esbuild-page', { shared: 'inline-page' });
  const options = { bundle: true, format: 'esm', minify: true, outdir: join(folder, 'dist') };
  await esbuild({ ...options, entryPoints: [join(folder, 'main.js')], logLevel: 'error' });
  await checkPage(folder, expected, kInlinePolicy);
}

const kEndings = { esm: 'mjs', cjs: 'cjs' };

/** Programs for Node out of bundlers that copy no files: they say which, and run with these beside them. */
async function bundlesForNode() {
  const folder = install(packing, 'moved');
  const entryPoints = [join(folder, 'main.js')];
  for (const [format, ending] of Object.entries(kEndings)) {
    const outfile = join(folder, `esbuild-${format}/main.${ending}`);
    const logs = { logLevel: 'error', logOverride: { 'empty-import-meta': 'silent' } };
    await esbuild({ entryPoints, bundle: true, platform: 'node', format, outfile, ...logs });
    const output = { format, entryFileNames: `main.${ending}`, chunkFileNames: `[name].${ending}` };
    const how = { ssr: 'main.js', outDir: `vite-${format}`, rollupOptions: { output } };
    await build({ root: folder, logLevel: 'error', ssr: { noExternal: true }, build: how });
  }
  const programs = ['esbuild', 'vite'].flatMap((tool) => Object.entries(kEndings).map((each) => `${tool}-${each[0]}/main.${each[1]}`)); // prettier-ignore
  const { expected, run: runAway } = moveAway(packing, folder, programs);
  for (const program of programs) {
    const refused = runAway(program).output;
    if (!/UnsupportedError: wattn-default.gguf: found neither beside .*: copy node_modules/.test(refused)) throw new Error(`${program} without wattn's files said ${refused}`); // prettier-ignore
    same(runAway(program, true).output, expected, program);
  }
}

const { check, end } = checklist();
await check('contents', checkContents);
const vector = await check('node-esm', nodeProgram);
await check('node-cjs', () => commonJs(vector));
await check('npx wattn', commandLine);
await check('wattn-base', baseModel);
await check('wattn-large', largeModel);
await check('wattn-story', storyModel);
await check('wattn-pii', piiModel);
await check('wattn-multi', multiModel);
await check('typescript-strict', strictTypes);
await check('plain-page', () => checkPage(install(packing, 'plain-page'), vector));
await check('vite-page built', () => viteBuild(vector));
await check('vite-page in development', () => viteDev(vector));
await check('bundles for Node, moved', bundlesForNode);
await check('esbuild-page', () => esbuildPage(vector));
packing.remove();
process.exit(end());
