// Packs the tarball, installs it into empty projects (tests/fixtures/consumers) outside the checkout and uses it there:
// in Node, in strict TypeScript, in a page that Vite built and Chromium shows under a strict Content-Security-Policy.
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';
import { chromium } from 'playwright-core';
import { build } from 'vite';
import { root, run } from './lib/shell.mjs';

const model = join(root, 'tests/goldens/bert-tiny/model');
const work = mkdtempSync(join(tmpdir(), 'wattn-consumers-'));
const [packed] = JSON.parse(run('npm', ['pack', '--json', '--pack-destination', work], { cwd: root }));

function install(name) {
  const folder = join(work, name);
  cpSync(join(root, 'tests/fixtures/consumers', name), folder, { recursive: true });
  run('npm', ['install', '--offline', '--no-audit', '--no-fund', join(work, packed.filename)], { cwd: folder });
  return folder;
}

/** What ships, and nothing else. */
function checkContents() {
  const names = packed.files
    .map((file) => file.path)
    .filter((path) => !/^(dist\/|package\.json$|README\.md$|LICENSE$|NOTICE$)/.test(path));
  if (names.length > 0) throw new Error(`unexpected files in the tarball: ${names.join(', ')}`);
  const { dependencies, scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  if (dependencies) throw new Error('the package has run-time dependencies');
  if (scripts.install || scripts.postinstall || scripts.preinstall) throw new Error('the package has an install script');
  return `${packed.files.length} files, ${(packed.size / 1000).toFixed(0)} kB packed, ${(packed.unpackedSize / 1000).toFixed(0)} kB installed`;
}

function nodeProgram() {
  return JSON.parse(run(process.execPath, ['index.mjs', model], { cwd: install('node-esm') }));
}

function strictTypes() {
  run(process.execPath, [join(root, 'node_modules/typescript/bin/tsc')], { cwd: install('typescript-strict') });
}

function commandLine() {
  const said = run('npx', ['--offline', 'wattn', 'tokenize', '--model', model, 'one text'], { cwd: install('node-esm') });
  if (!Array.isArray(JSON.parse(said.trim()).ids)) throw new Error(`wattn tokenize printed ${said}`);
}

async function vitePage(expected) {
  const folder = install('vite-page');
  cpSync(model, join(folder, 'public/model'), { recursive: true });
  await build({ root: folder, logLevel: 'error', base: './' });
  const { server, url } = await serve(join(folder, 'dist'));
  const browser = await chromium.launch({ executablePath: process.env.CHROME, args: ['--no-sandbox'] });
  try {
    const page = await browser.newPage();
    const said = [];
    page.on('console', (message) => said.push(message.text()));
    page.on('pageerror', (error) => said.push(error.message));
    await page.goto(url);
    const vector = JSON.parse(await page.evaluate(() => globalThis.answer));
    if (JSON.stringify(vector) !== JSON.stringify(expected)) throw new Error('the page and Node give different bits');
    if (said.length > 0) throw new Error(`the page said: ${said.join('; ')}`);
  } finally {
    await browser.close();
    server.close();
  }
}

async function serve(folder) {
  const types = { '.html': 'text/html', '.js': 'text/javascript', '.wasm': 'application/wasm', '.json': 'application/json' };
  const server = createServer((request, response) => {
    const path = new URL(request.url, 'http://localhost').pathname;
    try {
      const body = readFileSync(join(folder, path === '/' ? 'index.html' : path));
      const csp = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; connect-src 'self'";
      response.writeHead(200, {
        'content-type': types[extname(path) || '.html'] ?? 'application/octet-stream',
        'content-security-policy': csp,
      });
      response.end(body);
    } catch {
      response.writeHead(path === '/favicon.ico' ? 204 : 404).end();
    }
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { server, url: `http://127.0.0.1:${server.address().port}/` };
}

let failed = 0;
async function check(name, work) {
  try {
    const answer = await work();
    console.log(`ok ${name}${typeof answer === 'string' ? `: ${answer}` : ''}`);
    return answer;
  } catch (error) {
    failed += 1;
    console.log(`FAIL ${name}: ${error.stack}`);
    return undefined;
  }
}

await check('contents', checkContents);
const vector = await check('node-esm', nodeProgram);
await check('npx wattn', commandLine);
await check('typescript-strict', strictTypes);
await check('vite-page', () => vitePage(vector));
rmSync(work, { recursive: true, force: true });
process.exit(failed > 0 ? 1 : 0);
