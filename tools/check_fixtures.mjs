// Does the same as check_package.mjs with tools from npm that this checkout does not include: other bundlers, frameworks and runtimes. Takes
// minutes and needs a network, so it runs nightly, not for each change. `node tools/check_fixtures.mjs [NAME...]`
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { dirname, extname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { gzipSync } from 'node:zlib';
import { build as esbuild } from 'esbuild';
import { blocksOf } from './docs/examples.mjs';
import {
  checklist,
  checkPage,
  inPage,
  install,
  kInlinePolicy,
  model,
  moveAway,
  pack,
  same,
  serve,
  withServer,
} from './lib/consumers.mjs';
import { createdChat, createdSearch, createdWorker } from './lib/created.mjs';
import { dockerLayout, electronHalves, vscodeExtension } from './lib/deployed.mjs';
import { fail, root, run } from './lib/shell.mjs';
import { findChromium } from './setup.mjs';

process.env.CHROME ??= findChromium();
const packing = pack();
const vector = JSON.parse(run(process.execPath, ['index.mjs', model], { cwd: install(packing, 'node-esm') }));
const bin = (folder, name) => join(folder, 'node_modules/.bin', name);

async function webpackPage() {
  const folder = install(packing, 'webpack-page', { shared: 'page', network: true });
  run(bin(folder, 'webpack'), ['--entry', './main.js', '--mode', 'production'], { cwd: folder });
  writeFileSync(join(folder, 'dist/index.html'), '<!doctype html><title>consumer</title><script defer src="main.js"></script>');
  await checkPage(join(folder, 'dist'), vector);
}

/** A page in one file, with wattn/inline-train. */
async function rollupPage() {
  const folder = install(packing, 'rollup-page', { shared: 'inline-page', network: true });
  run(bin(folder, 'rollup'), ['main.js', '--dir', 'dist', '--plugin', 'node-resolve', '--failAfterWarnings'], { cwd: folder });
  await checkPage(folder, vector, kInlinePolicy);
}

/** A server component and a client one, in production and in development. */
async function nextApp() {
  const folder = install(packing, 'next-app', { network: true });
  cpSync(model, join(folder, 'public/model'), { recursive: true });
  const env = { ...process.env, NEXT_TELEMETRY_DISABLED: '1' };
  run(bin(folder, 'next'), ['build'], { cwd: folder, env });
  const address = /(http:\/\/127\.0\.0\.1:\d+)[^]*Ready|Ready[^]*(http:\/\/127\.0\.0\.1:\d+)/i;
  for (const mode of ['start', 'dev']) {
    const args = [mode, '--port', '0', '--hostname', '127.0.0.1'];
    await withServer(bin(folder, 'next'), args, { cwd: folder, env, address }, (url) =>
      checkThree(url, '.client >> nth=1', `next ${mode}`),
    );
  }
}

/** A page with three vectors in paragraphs. */
async function checkThree(url, last, what) {
  const texts = await inPage(url, async (page) => {
    await page.waitForSelector(last);
    return page.locator('p').allTextContents();
  });
  if (texts.length !== 3) throw new Error(`${what}: found ${texts}`);
  for (const text of texts) same(JSON.parse(text), vector, what);
}

/** Programs for Node out of bundlers, moved away. webpack and @vercel/nft copy wattn's files, Rollup and rolldown do not. */
function serverBundlers() {
  const folder = install(packing, 'server-bundlers', { shared: 'moved', network: true });
  for (const program of ['main.js', 'main.cjs']) {
    const out = join(folder, `webpack-${extname(program).slice(1)}`);
    const webpack = run(bin(folder, 'webpack'), ['--entry', `./${program}`, '--mode', 'production', '--target', 'node', '-o', out, '--output-filename', 'main.cjs', '--output-chunk-filename', '[id].cjs'], { cwd: folder }); // prettier-ignore
    if (/warning/i.test(webpack)) throw new Error(`webpack: ${webpack}`);
    run(process.execPath, ['trace.js', program, `nft-${extname(program).slice(1)}`], { cwd: folder });
  }
  run(bin(folder, 'rollup'), ['--config', '--failAfterWarnings'], { cwd: folder });
  run(bin(folder, 'rolldown'), ['--config', 'rolldown.config.js'], { cwd: folder });
  const whole = ['webpack-js/main.cjs', 'webpack-cjs/main.cjs', 'nft-js/main.js', 'nft-cjs/main.cjs'];
  const bare = ['rollup-es/main.mjs', 'rollup-cjs/main.cjs', 'rolldown-es/main.mjs', 'rolldown-cjs/main.cjs'];
  const away = moveAway(packing, folder, [...whole, ...bare]);
  for (const program of whole) same(away.run(program).output, away.expected, program);
  for (const program of bare) same(away.run(program, true).output, away.expected, program);
}

const filesUnder = (folder) => (existsSync(folder) ? readdirSync(folder, { recursive: true }) : []);

/** What Next's Docker recipe copies, with the project gone. Next leaves webpack's .wasm files out: that one needs serverExternalPackages or outputFileTracingIncludes. */
async function nextStandalone() {
  const folder = install(packing, 'next-standalone', { shared: 'moved', network: true });
  const ways = { turbopack: [], 'turbopack-external': [], webpack: ['--webpack'], 'webpack-external': ['--webpack'] };
  for (const [DIST, args] of Object.entries(ways)) {
    const own = { DIST, EXTERNAL: DIST.endsWith('external') ? '1' : '', INCLUDE: DIST === 'webpack' ? '1' : '' };
    const env = { ...process.env, NEXT_TELEMETRY_DISABLED: '1', ...own };
    const said = run(bin(folder, 'next'), ['build', ...args], { cwd: folder, env });
    if (/warn/i.test(said)) throw new Error(`next build (${DIST}): ${said}`);
  }
  const { away, expected } = moveAway(packing, folder, Object.keys(ways).map((way) => `${way}/standalone/server.js`)); // prettier-ignore
  for (const way of Object.keys(ways)) {
    // Not every file of the package, which tools copy if a path is one that they cannot foresee.
    const copied = filesUnder(join(away, way, 'standalone/node_modules/wattn'));
    const needless = copied.filter((file) => /\.d\.c?ts$|inline|_edge/.test(file));
    if (needless.length > 0)
      throw new Error(`${way}: copied ${needless.length} files that no server needs, such as ${needless[0]}`);
    const port = await freePort();
    const env = { ...process.env, PORT: String(port), HOSTNAME: '127.0.0.1' };
    const [address, required] = ['answers', 'api/required'].map((path) => `http://127.0.0.1:${port}/${path}`);
    const cwd = join(away, way, 'standalone');
    await withServer(process.execPath, ['server.js'], { cwd, env, address }, async () => {
      for (const each of [address, required]) same(await (await fetch(each)).json(), JSON.parse(expected), `${way}, ${each}`);
    });
  }
}

/** One executable file, alone in a folder: Bun's and Node's, and Deno's where DENORT_BIN names its run time, which npm has not. */
function singleBinary() {
  const folder = install(packing, 'single-binary', { shared: 'moved', network: true });
  cpSync(join(root, 'examples/single-binary/sea.js'), join(folder, 'sea.js'));
  const ways = process.env.DENORT_BIN ? ['bun', 'node', 'deno'] : ['bun', 'node'];
  const away = mkdtempSync(join(packing.work, 'alone-'));
  for (const way of ways) {
    run('npm', ['run', way], { cwd: folder });
    cpSync(join(folder, `out/nearest-${way}`), join(away, way));
  }
  rmSync(folder, { recursive: true });
  const wanted = { threads: 2, worker_threads: 1, index: 'bread' };
  for (const way of ways) {
    const { vector, worker, ...found } = JSON.parse(run(join(away, way), [], { cwd: away }));
    same([found, worker], [wanted, vector], way);
  }
  return ways.join(', ');
}

/** What Cloudflare's plans count of an upload that embeds, classifies and searches, without a model: bytes after gzip. */
const kMostUploaded = 600_000;

/** In Cloudflare's run time, as wrangler bundles it. */
function workerd() {
  const folder = install(packing, 'workerd', { network: true });
  const env = { ...process.env, WRANGLER_SEND_METRICS: 'false' };
  run(bin(folder, 'node'), ['node_modules/wrangler/bin/wrangler.js', 'deploy', '--dry-run', '--outdir', 'out'], {
    cwd: folder,
    env,
  });
  const files = readdirSync(join(folder, 'out')).filter((file) => /\.(js|wasm)$/.test(file));
  const size = files.reduce((sum, file) => sum + gzipSync(readFileSync(join(folder, 'out', file))).length, 0);
  if (size > kMostUploaded) throw new Error(`the upload has ${size} bytes after gzip, more than ${kMostUploaded}`);
  run(bin(folder, 'node'), ['check.mjs'], { cwd: folder, env });
  return `${(size / 1000).toFixed(0)} kB after gzip`;
}

/** A port that nobody listens on. */
async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  return port;
}

/** A framework's page, built: one vector is made by the server, two by the page. assets: its folder of files that are served as they are. */
const frameworkApp = (name, assets) =>
  async function () {
    const folder = install(packing, name, { network: true });
    cpSync(model, join(folder, assets, 'model'), { recursive: true });
    const port = String(await freePort());
    const quiet = { NUXT_TELEMETRY_DISABLED: '1', ASTRO_TELEMETRY_DISABLED: '1' };
    const env = { ...process.env, ...quiet, WATTN_MODEL: model, HOST: '127.0.0.1', PORT: port };
    run('npm', ['run', 'build'], { cwd: folder, env }); // with the Node in its dependencies
    const { scripts } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
    const [, ...args] = scripts.start.split(' ');
    const address = `http://127.0.0.1:${port}/`;
    await withServer(bin(folder, 'node'), args, { cwd: folder, env, address }, () => checkThree(address, '.client >> nth=1', name));
  };

/**
 * A framework's server, whose output is moved away and the project deleted. program: in the output. isBare: it has wattn's code in its own, and wattn's files are put
 * beside it; it runs with the Node of the project's dependencies.
 */
const movedServer = (name, program, isBare = false) =>
  async function () {
    const folder = install(packing, name, { shared: 'moved', network: true });
    run('npm', ['run', 'build'], { cwd: folder });
    if (isBare) cpSync(join(folder, 'node_modules/node/bin/node'), join(folder, dirname(program), 'node'));
    const { away, expected, files } = moveAway(packing, folder, [program]);
    const output = join(away, dirname(program));
    if (isBare) cpSync(files, output, { recursive: true });
    const port = String(await freePort());
    const address = `http://127.0.0.1:${port}/answers`;
    const env = { ...process.env, HOST: '127.0.0.1', PORT: port };
    const node = isBare ? join(output, 'node') : process.execPath;
    await withServer(node, [join(away, program)], { cwd: packing.work, env, address }, async () => {
      same(await (await fetch(address)).json(), JSON.parse(expected), name);
    });
  };

function jestJsdom() {
  const folder = install(packing, 'jest-jsdom', { network: true });
  const env = { ...process.env, WATTN_MODEL: model, WATTN_VECTOR: JSON.stringify(vector) };
  run(bin(folder, 'jest'), [], { cwd: folder, env });
}

/** Another run time, as ESM and as CommonJS. */
const runTime = (name, ...args) =>
  function () {
    const folder = install(packing, name, { shared: 'node-esm', network: true });
    cpSync(join(root, 'tests/fixtures/consumers/node-cjs/index.cjs'), join(folder, 'index.cjs'));
    for (const script of [['index.mjs'], ['index.cjs'], ['index.cjs', 'worker']]) {
      const said = run(bin(folder, name), [...args, ...script.toSpliced(1, 0, model)], { cwd: folder });
      same(JSON.parse(said), vector, `${name} ${script}`);
    }
  };

/** The example of a chapter of docs/integrations.md with the package in the project, with the model in the package, and the project's check.js after it. */
const integration = (name, chapter) =>
  function () {
    const folder = install(packing, name, { network: true });
    const guide = readFileSync(join(root, 'docs/integrations.md'), 'utf8');
    const [, code] = new RegExp(`^## ${chapter}\n[^]*?^\`\`\`js.*\n([^]*?)^\`\`\``, 'm').exec(guide);
    const example = code.replace(/\{ model: '.*' \}/, '');
    writeFileSync(join(folder, 'program.js'), example + readFileSync(join(folder, 'check.js'), 'utf8'));
    run(process.execPath, ['program.js'], { cwd: folder });
    if (!existsSync(join(folder, 'types.ts'))) return;
    const options = ['--noEmit', '--strict', '--skipLibCheck', '--module', 'nodenext', '--target', 'es2022', '--lib', 'es2022,dom'];
    run(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), ...options, 'types.ts'], { cwd: folder });
  };

/** The recipes of docs/search.md for other databases find what the index finds. `node` is one that has node:sqlite. */
function databases() {
  const folder = install(packing, 'databases', { network: true });
  const blocks = blocksOf(readFileSync(join(root, 'docs/search.md'), 'utf8'));
  const recipes = blocks.filter(({ code }) => /pglite|sqlite/.test(code));
  if (recipes.length !== 2) throw new Error(`expected 2 recipes in docs/search.md, found ${recipes.length}`);
  for (const { code, needs } of recipes) {
    const program = [...needs.map((at) => blocks[at].code), code.replace('idb://notes', './postgres')].join('\n');
    const compare = `
      const wanted = await index.search('when can I buy rolls', { mode: 'meaning', top_k: 5 });
      const told = (all) => all.map(({ id, score }) => [id, Number(score.toFixed(2))]);
      console.log(JSON.stringify({ found: told(rows), wanted: told(wanted) }));
      process.exit();`;
    writeFileSync(join(folder, 'recipe.mjs'), `${program}\n${compare}`);
    const said = run(bin(folder, 'node'), ['recipe.mjs'], { cwd: folder }).trim().split('\n').at(-1);
    const { found, wanted } = JSON.parse(said);
    if (wanted.length !== 2) throw new Error(`expected two hits, found ${JSON.stringify(wanted)}`);
    if (JSON.stringify(found) !== JSON.stringify(wanted)) throw new Error(`found ${JSON.stringify(found)}, expected ${JSON.stringify(wanted)}`); // prettier-ignore
  }
}

/** The protocol's own inspector, which checks what it gets against the schemas of the tools. */
function inspect(folder, command) {
  const ask = (...args) => {
    const server = [process.execPath, command, 'mcp', 'notes'];
    return JSON.parse(run(bin(folder, 'mcp-inspector'), ['--cli', ...server, '--method', ...args], { cwd: folder }));
  };
  const { tools } = ask('tools/list');
  same(tools.map(({ name }) => name), ['search', 'embed', 'redact'], 'tools/list'); // prettier-ignore
  const { structuredContent } = ask('tools/call', '--tool-name', 'search', '--tool-arg', 'query=when can I buy rolls');
  same(structuredContent.hits[0].id, 'notes/bakery.md', 'search');
  const { content, isError } = ask('tools/call', '--tool-name', 'search', '--tool-arg', 'top_k=5');
  same([content[0].text, isError], ['search: query: expected a text, found undefined', true], 'search without a query');
}

/** The tests' tiny decoder that can spell JSON and calls of tools, in a folder. */
async function spellingModel(folder) {
  const source = join(root, 'tests/web/structured_models.ts');
  const outfile = join(folder, 'models.mjs');
  const define = { 'import.meta.url': JSON.stringify(pathToFileURL(source).href) };
  await esbuild({ entryPoints: [source], bundle: true, platform: 'node', format: 'esm', external: ['wattn'], define, outfile });
  const { callingModel, callingTemplate } = await import(pathToFileURL(outfile).href);
  const model = join(folder, 'writer');
  mkdirSync(model);
  const files = callingModel(callingTemplate('<tool_call>'), ['<tool_call>', '</tool_call>']);
  for (const [name, bytes] of files) writeFileSync(join(model, name), bytes);
  return model;
}

/** `wattn serve` and `wattn mcp` with the clients that others wrote: for Node, and for Python where it has them (pip install openai langchain-openai llama-index-llms-openai-like
 * llama-index-embeddings-text-embeddings-inference). */
async function serveClients() {
  const folder = install(packing, 'serve-clients', { network: true });
  const command = join(folder, 'node_modules/wattn/dist/cli.js');
  mkdirSync(join(folder, 'notes'));
  writeFileSync(join(folder, 'notes/bakery.md'), 'The bakery opens at seven.');
  writeFileSync(join(folder, 'notes/cats.txt'), 'Cats sleep most of the day.');
  const writer = await spellingModel(folder);
  inspect(folder, command);
  const key = 'a-key';
  const commands = {
    embeddings: ['serve'],
    chats: ['serve', '--model', writer],
    busy: ['serve', '--max-concurrent-requests', '1', '--api-key', key],
    tools: ['mcp', 'notes', '--http'],
  };
  const python = process.env.WATTN_PYTHON ?? 'python3';
  const check = (about) => {
    const told = JSON.stringify(about);
    run(process.execPath, ['check.js', told], { cwd: folder });
    if (spawnSync(python, ['-c', 'import openai']).status !== 0)
      return `without Python's clients: ${python} (WATTN_PYTHON) cannot import openai`;
    return `with Python's clients ${run(python, ['check.py', told], { cwd: folder }).trim().replaceAll('\n', ', ')}`.trim();
  };
  const started = ([[name, args], ...others], about) =>
    withServer(process.execPath, [command, ...args, '--port', '0'], { cwd: folder, address: /"url":"([^"]*)"/ }, (url) => {
      const all = { ...about, [name]: url };
      return others.length > 0 ? started(others, all) : check(all);
    });
  return started(Object.entries(commands), { command, key });
}

/** The recipe of docs/site_search.md: a site that searches itself. */
async function vitepressSearch() {
  const folder = install(packing, 'vitepress', { network: true });
  const recipe = readFileSync(join(root, 'docs/site_search.md'), 'utf8').match(
    /```js sketch\n(import \{ defineComponent[^]*?)```/,
  )[1];
  mkdirSync(join(folder, 'docs/.vitepress/theme'), { recursive: true });
  writeFileSync(join(folder, 'docs/.vitepress/theme/index.js'), recipe);
  run('npm', ['run', 'build'], { cwd: folder });
  const server = await serve(join(folder, 'docs/.vitepress/dist'), "default-src 'self' 'unsafe-inline' data:");
  try {
    const first = await inPage(server.url, async (page) => {
      await page.locator('wattn-search input').fill('train to Berlin');
      return page.locator('wattn-search a').first().getAttribute('href');
    });
    same(new URL(first, server.url).pathname, '/trains.html', 'the first hit');
  } finally {
    server.close();
  }
}

/** Entries for pages, which are modules alone. */
const kOfPages = ['static-search', 'search-element'];

/** Runs package linters on the package. */
function linters() {
  const folder = install(packing, 'linters', { network: true });
  run(bin(folder, 'publint'), [packing.tarball, '--strict'], { cwd: folder });
  const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const files = Object.keys(exports).filter((entry) => /\.(wasm|gguf|json)$/.test(entry)).map((entry) => entry.slice(2)); // prettier-ignore
  const attw = (...args) => run(bin(folder, 'attw'), [packing.tarball, ...args], { cwd: folder });
  attw('--profile', 'node16', '--exclude-entrypoints', ...files, ...kOfPages);
  attw('--profile', 'esm-only', '--entrypoints', ...kOfPages);
}

const fixtures = {
  'create-search': () => createdSearch(packing),
  'create-chat': () => createdChat(packing),
  'create-worker': () => createdWorker(packing),
  databases,
  linters,
  'serve-clients': serveClients,
  webpack: webpackPage,
  rollup: rollupPage,
  next: nextApp,
  'next-standalone': nextStandalone,
  'server-bundlers': serverBundlers,
  sveltekit: frameworkApp('sveltekit', 'static'),
  nuxt: frameworkApp('nuxt', 'public'),
  astro: frameworkApp('astro', 'public'),
  nitro: movedServer('nitro', '.output/server/index.mjs'),
  'sveltekit-moved': movedServer('sveltekit-moved', 'build/index.js', true),
  vitepress: vitepressSearch,
  workerd,
  'single-binary': singleBinary,
  vscode: () => vscodeExtension(packing),
  docker: () => dockerLayout(packing),
  electron: () => electronHalves(packing),
  jest: jestJsdom,
  llamaindex: integration('llamaindex', 'LlamaIndex.TS'),
  orama: integration('orama', 'Orama'),
  bun: runTime('bun', 'run'),
  deno: runTime('deno', 'run', '-A', '--node-modules-dir=manual'),
};

const names = process.argv.length > 2 ? process.argv.slice(2) : Object.keys(fixtures);
const { check, end } = checklist();
for (const name of names) {
  if (!Object.hasOwn(fixtures, name)) fail(`no fixture ${name}; there are ${Object.keys(fixtures).join(', ')}`);
  await check(name, fixtures[name]);
}
packing.remove();
process.exit(end());
