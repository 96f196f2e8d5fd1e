// Sets up empty projects (tests/fixtures/consumers) outside the checkout with the packed tarball installed, and opens their pages in Chromium.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { basename, dirname, extname, join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { chromium } from 'playwright-core';
import { capture, root, run } from './shell.mjs';

export const model = join(root, 'tests/goldens/bert-tiny/model');

const kTypes = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.mjs': 'text/javascript',
  '.json': 'application/json',
  '.wasm': 'application/wasm',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
};
export const kPolicy = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; connect-src 'self'";
/** For wattn/inline, whose workers have no file. */
export const kInlinePolicy = `${kPolicy}; worker-src blob:`;

/** The tarball, and the folder of all projects. */
export function pack() {
  const work = mkdtempSync(join(tmpdir(), 'wattn-consumers-'));
  const [packed] = JSON.parse(run('npm', ['pack', '--json', '--pack-destination', work], { cwd: root }));
  return {
    work,
    packed,
    tarball: join(work, packed.filename),
    remove: () => rmSync(work, { recursive: true, force: true, maxRetries: 10, retryDelay: 500 }),
  };
}

/** A project's folder with the package installed; with network: true, its other dependencies too. shared: a folder whose files it also gets. */
export function install({ work, tarball }, name, { shared, network = false, from = 'tests/fixtures/consumers' } = {}) {
  const folder = join(work, name);
  if (existsSync(join(folder, 'node_modules'))) return folder;
  if (shared) cpSync(join(root, 'tests/fixtures/consumers', shared), folder, { recursive: true });
  cpSync(join(root, from, name), folder, { recursive: true });
  run('npm', ['install', ...(network ? [] : ['--offline']), '--no-audit', '--no-fund', tarball], { cwd: folder });
  return folder;
}

/**
 * Moves what a project built for Node to another folder, and removes the project with its node_modules: so it is where it is deployed. programs: paths in
 * the project, each in a folder of its own, which is moved whole. expected: what main.js printed before. files: a folder with
 * wattn's. `run` starts a program; copied: with these beside.
 */
export function moveAway({ work }, project, programs) {
  const expected = run(process.execPath, ['main.js'], { cwd: project });
  const { vector, worker, threads, index } = JSON.parse(expected);
  if (worker !== vector || threads !== 2 || index !== 'bread') throw new Error(`before it is bundled, main.js prints ${expected}`);
  const files = join(work, 'wattn-files');
  cpSync(join(project, 'node_modules/wattn/dist'), files, { recursive: true, filter: (path) => path.endsWith('dist') || basename(path).startsWith('wattn-') }); // prettier-ignore
  const away = join(work, 'away', basename(project));
  // Links as they are: Next's lead to folders beside them.
  const how = { recursive: true, verbatimSymlinks: true };
  for (const program of programs) cpSync(join(project, dirname(program)), join(away, dirname(program)), how);
  rmSync(project, { recursive: true });
  return {
    expected,
    away,
    files,
    run(program, copied = false) {
      if (copied) cpSync(files, join(away, dirname(program)), { recursive: true });
      return capture(process.execPath, [join(away, program)], { cwd: work });
    },
  };
}

/** Serves a folder under a strict Content-Security-Policy; the tiny model is under /model/. */
export async function serve(folder, policy = kPolicy) {
  const server = createServer((request, response) => {
    const path = new URL(request.url, 'http://localhost').pathname;
    const file = path.startsWith('/model/') ? join(model, path.slice(7)) : join(folder, path === '/' ? 'index.html' : path);
    try {
      const body = readFileSync(file);
      const type = kTypes[extname(file)] ?? 'application/octet-stream';
      response.writeHead(200, { 'content-type': type, 'content-security-policy': policy });
      response.end(body);
    } catch {
      response.writeHead(path === '/favicon.ico' ? 204 : 404).end();
    }
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}/`,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** How long anything may take before it counts as never: ms. */
export const kPatience = 240_000;

export const launch = () => chromium.launch({ executablePath: process.env.CHROME, args: ['--no-sandbox'], timeout: kPatience });

/** Opens the page, waits for what `read` finds in it, and expects nothing on the console. */
export async function inPage(url, read) {
  const browser = await launch();
  try {
    const page = await browser.newPage();
    page.setDefaultTimeout(kPatience);
    const said = [];
    page.on('console', (message) => {
      const { url } = message.location();
      if (/error|warning/.test(message.type()) && !url.endsWith('/favicon.ico')) said.push(`${message.text()} ${url}`);
    });
    page.on('pageerror', (error) => said.push(error.message));
    await page.goto(url);
    const answer = await read(page).catch(async (error) => {
      const shown = await page.textContent('body').catch(() => 'nothing');
      throw new Error(`${error.message}; the page shows '${shown.trim()}' and said: ${said.join('; ')}`, { cause: error });
    });
    if (said.length > 0) throw new Error(`the page said: ${said.join('; ')}`);
    return answer;
  } finally {
    await browser.close();
  }
}

export const same = (found, expected, what) => {
  if (JSON.stringify(found) !== JSON.stringify(expected))
    throw new Error(`${what} and Node give different bits: ${JSON.stringify(found)}, not ${JSON.stringify(expected)}`);
};

/** Calls `use` with a page of a folder at a size in a scheme of colours; nothing may be wider than the page, or be said on the console. */
export async function eachSize(url, use) {
  for (const [width, height] of [
    [1280, 800],
    [390, 844],
  ]) {
    // prettier-ignore
    for (const colorScheme of ['light', 'dark']) {
      await inPage('about:blank', async (page) => {
        await page.setViewportSize({ width, height });
        await page.emulateMedia({ colorScheme });
        await page.goto(url);
        await use(page);
        same(await page.evaluate(() => document.documentElement.scrollWidth), width, `the page's width in ${colorScheme} and`);
      });
    }
  }
}

/**
 * Starts a server, calls `use` with its address, and ends it. address: an expression that finds it in what the server writes, or the address, which is asked until it
 * answers.
 */
export async function withServer(program, args, { address, ...options }, use) {
  const server = spawn(program, args, options);
  let said = '';
  let isOver = false;
  const heard = new Promise((resolve) => {
    for (const stream of [server.stdout, server.stderr])
      stream.on('data', (part) => {
        said += part;
        const found = typeof address === 'string' ? undefined : address.exec(said);
        if (found) resolve(found.slice(1).find((each) => each !== undefined));
      });
  });
  const answers = async () => {
    while (!isOver && !(await fetch(address).then(() => true, () => false))) await setTimeout(50); // prettier-ignore
    return address;
  };
  const ended = once(server, 'exit').then(([code]) => Promise.reject(new Error(`it ended with ${code}`)));
  ended.catch(() => {}); // it ends below, too
  try {
    return await use(await Promise.race([typeof address === 'string' ? answers() : heard, ended]));
  } catch (error) {
    throw new Error(`${error.message}; the server ${args.join(' ')} said: ${said}`, { cause: error });
  } finally {
    isOver = true;
    server.kill();
    if (server.exitCode === null && server.signalCode === null) await once(server, 'exit');
  }
}

/** The page of a folder, which puts the vector of one text into `answer`. */
export async function checkPage(folder, expected, policy) {
  const server = await serve(folder, policy);
  try {
    const vector = await inPage(server.url, (page) => page.evaluate(() => globalThis.answer));
    same(JSON.parse(vector), expected, 'the page');
  } finally {
    server.close();
  }
}

/** Runs checks in order, with one line for each; `end` returns the exit status. */
export function checklist() {
  let failed = 0;
  return {
    async check(name, work) {
      const start = Date.now();
      try {
        const answer = await work();
        const seconds = ((Date.now() - start) / 1000).toFixed(1);
        console.log(`ok ${name} (${seconds} s)${typeof answer === 'string' ? `: ${answer}` : ''}`);
        return answer;
      } catch (error) {
        failed += 1;
        console.log(`FAIL ${name}: ${error.stack}`);
        return undefined;
      }
    },
    end: () => (failed > 0 ? 1 : 0),
  };
}
