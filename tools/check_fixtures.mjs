// Does what check_package.mjs does, with tools from npm that this checkout does not have: other bundlers, frameworks, run times. Takes minutes and
// needs a network, so it runs nightly, not for each change. `node tools/check_fixtures.mjs [NAME...]`
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { extname, join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { blocksOf } from './docs/examples.mjs';
import { checklist, checkPage, inPage, install, kInlinePolicy, model, moveAway, pack, same } from './lib/consumers.mjs';
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
  for (const mode of ['start', 'dev']) {
    const server = spawn(bin(folder, 'next'), [mode, '--port', '0', '--hostname', '127.0.0.1'], { cwd: folder, env });
    try {
      const url = await new Promise((resolve, reject) => {
        let said = '';
        for (const stream of [server.stdout, server.stderr])
          stream.on('data', (part) => {
            said += part;
            const found = /http:\/\/127\.0\.0\.1:\d+/.exec(said);
            if (found && /Ready/i.test(said)) resolve(found[0]);
          });
        server.on('exit', () => reject(new Error(`next ${mode} ended: ${said}`)));
      });
      const texts = await inPage(url, async (page) => {
        await page.waitForSelector('.client');
        return page.locator('p').allTextContents();
      });
      if (texts.length !== 3) throw new Error(`next ${mode}: found ${texts}`);
      for (const text of texts) same(JSON.parse(text), vector, `next ${mode}`);
    } finally {
      server.kill();
      if (server.exitCode === null && server.signalCode === null) await once(server, 'exit');
    }
  }
}

/** Programs for Node out of bundlers, moved away. webpack and @vercel/nft copy wattn's files, Rollup does not. */
function serverBundlers() {
  const folder = install(packing, 'server-bundlers', { shared: 'moved', network: true });
  for (const program of ['main.js', 'main.cjs']) {
    const out = join(folder, `webpack-${extname(program).slice(1)}`);
    const webpack = run(bin(folder, 'webpack'), ['--entry', `./${program}`, '--mode', 'production', '--target', 'node', '-o', out, '--output-filename', 'main.cjs', '--output-chunk-filename', '[id].cjs'], { cwd: folder }); // prettier-ignore
    if (/warning/i.test(webpack)) throw new Error(`webpack: ${webpack}`);
    run(process.execPath, ['trace.js', program, `nft-${extname(program).slice(1)}`], { cwd: folder });
  }
  run(bin(folder, 'rollup'), ['--config', '--failAfterWarnings'], { cwd: folder });
  const whole = ['webpack-js/main.cjs', 'webpack-cjs/main.cjs', 'nft-js/main.js', 'nft-cjs/main.cjs'];
  const bare = ['rollup-es/main.mjs', 'rollup-cjs/main.cjs'];
  const away = moveAway(packing, folder, [...whole, ...bare]);
  for (const program of whole) same(away.run(program).output, away.expected, program);
  for (const program of bare) same(away.run(program, true).output, away.expected, program);
}

/** What Next's Docker recipe copies, with the project gone. webpack's needs serverExternalPackages, as Next leaves its .wasm files out. */
async function nextStandalone() {
  const folder = install(packing, 'next-standalone', { shared: 'moved', network: true });
  const ways = { turbopack: [], 'turbopack-external': [], 'webpack-external': ['--webpack'] };
  for (const [DIST, args] of Object.entries(ways)) {
    const env = { ...process.env, NEXT_TELEMETRY_DISABLED: '1', DIST, EXTERNAL: DIST.endsWith('external') ? '1' : '' };
    const said = run(bin(folder, 'next'), ['build', ...args], { cwd: folder, env });
    if (/warn/i.test(said)) throw new Error(`next build (${DIST}): ${said}`);
  }
  const { away, expected } = moveAway(packing, folder, Object.keys(ways).map((way) => `${way}/standalone/server.js`)); // prettier-ignore
  for (const way of Object.keys(ways)) {
    const port = await freePort();
    const env = { ...process.env, PORT: String(port), HOSTNAME: '127.0.0.1' };
    const server = spawn(process.execPath, ['server.js'], { cwd: join(away, way, 'standalone'), env, stdio: 'ignore' });
    try {
      same(JSON.parse(await firstResponse(server, `http://127.0.0.1:${port}/answers`)), JSON.parse(expected), way);
    } finally {
      server.kill();
      if (server.exitCode === null && server.signalCode === null) await once(server, 'exit');
    }
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

/** What a free plan of Cloudflare's would count of an upload that embeds, classifies and searches, without a model: bytes after gzip. */
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

/** The body of the first response of a server that starts. */
async function firstResponse(server, url) {
  while (server.exitCode === null) {
    const response = await fetch(url).catch(() => undefined);
    if (response) return response.text();
    await setTimeout(50);
  }
  throw new Error(`the server ended with exit code ${server.exitCode}`);
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
    const server = spawn(bin(folder, 'node'), args, { cwd: folder, env });
    let said = '';
    for (const stream of [server.stdout, server.stderr]) stream.on('data', (part) => (said += part));
    const ended = once(server, 'exit').then(() => Promise.reject(new Error(`${name} ended: ${said}`)));
    ended.catch(() => {}); // it ends below, too
    const url = `http://127.0.0.1:${port}/`;
    const isUp = async () => {
      while (!(await fetch(url).then(() => true, () => false))) await setTimeout(50); // prettier-ignore
    };
    try {
      await Promise.race([isUp(), ended]);
      const texts = await inPage(url, async (page) => {
        await page.waitForSelector('.client >> nth=1');
        return page.locator('p').allTextContents();
      });
      if (texts.length !== 3) throw new Error(`${name}: found ${texts}`);
      for (const text of texts) same(JSON.parse(text), vector, name);
    } catch (error) {
      throw new Error(`${error.message}; the server said ${said}`, { cause: error });
    } finally {
      server.kill();
      if (server.exitCode === null && server.signalCode === null) await once(server, 'exit');
    }
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

/** `wattn serve` and `wattn mcp` with the clients that others wrote: for Node, and for Python where it has them (pip install openai). */
async function serveClients() {
  const folder = install(packing, 'serve-clients', { network: true });
  const command = join(folder, 'node_modules/wattn/dist/cli.js');
  mkdirSync(join(folder, 'notes'));
  writeFileSync(join(folder, 'notes/bakery.md'), 'The bakery opens at seven.');
  writeFileSync(join(folder, 'notes/cats.txt'), 'Cats sleep most of the day.');
  const writer = join(root, 'tests/goldens/decoders/llama');
  const servers = [[], ['--model', writer]].map((args) =>
    spawn(process.execPath, [command, 'serve', '--port', '0', ...args], { cwd: root, stdio: ['ignore', 'pipe', 'inherit'] }),
  );
  try {
    const addresses = [];
    for (const server of servers) {
      const ended = once(server, 'exit').then(() => Promise.reject(new Error('wattn serve ended')));
      ended.catch(() => {}); // it ends below, too
      const [line] = await Promise.race([once(server.stdout, 'data'), ended]);
      addresses.push(JSON.parse(String(line)).url);
    }
    run(process.execPath, ['check.js', ...addresses, command], { cwd: folder });
    const python = process.env.WATTN_PYTHON ?? 'python3';
    if (spawnSync(python, ['-c', 'import openai']).status === 0) run(python, ['check.py', ...addresses], { cwd: folder });
    else console.log('note: serve-clients without Python: it has no openai (WATTN_PYTHON names another)');
  } finally {
    for (const server of servers) {
      server.kill();
      if (server.exitCode === null && server.signalCode === null) await once(server, 'exit');
    }
  }
}

/** Runs package linters on the package. */
function linters() {
  const folder = install(packing, 'linters', { network: true });
  run(bin(folder, 'publint'), [packing.tarball, '--strict'], { cwd: folder });
  const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const files = Object.keys(exports).filter((entry) => /\.(wasm|gguf|json)$/.test(entry)).map((entry) => entry.slice(2)); // prettier-ignore
  run(bin(folder, 'attw'), [packing.tarball, '--profile', 'node16', '--exclude-entrypoints', ...files], { cwd: folder });
}

const fixtures = {
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
  workerd,
  'single-binary': singleBinary,
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
