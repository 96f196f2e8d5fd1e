// What the browser tests of the page share: a static host, a page with an ear on its console, and counting.
import {
  cpSync,
  createReadStream,
  existsSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { spawn } from 'node:child_process';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
export const kModel = here('../../tests/goldens/bert-tiny/model');
const kEar = here('../../tests/browser/page/ear.js');
const kPolicy =
  "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; img-src 'self' data:; connect-src 'self' https:";
const kTypes = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
  '.wasm': 'application/wasm',
  '.gguf': 'application/octet-stream',
};

/** How long anything may take before it counts as never: ms. Far more than a busy machine needs. */
export const kPatience = 120_000;

export const counts = { passed: 0, failed: 0, skipped: 0 };

export async function check(name, run) {
  try {
    const note = await run();
    counts.passed += 1;
    console.log(`ok ${name}${typeof note === 'string' ? `: ${note}` : ''}`);
  } catch (error) {
    counts.failed += 1;
    console.log(`FAIL ${name}: ${error.message}`);
  }
}

export function finish() {
  const { passed, failed, skipped } = counts;
  console.log(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`);
  process.exit(failed > 0 ? 1 : 0);
}

export function expect(what, found, expected) {
  if (JSON.stringify(found) !== JSON.stringify(expected)) {
    throw new Error(`${what}: expected ${JSON.stringify(expected)}, found ${JSON.stringify(found)}`);
  }
}

/** Looks again and again until `read` gives what is expected; what it gave last is the error. */
export async function becomes(what, read, expected) {
  const end = Date.now() + kPatience;
  for (;;) {
    const found = await read();
    if (JSON.stringify(found) === JSON.stringify(expected)) return;
    if (Date.now() > end) expect(what, found, expected);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/**
 * Does `begin`, and clicks the button in the same task in which the page first shows `sign`. What passes quickly cannot be over before,
 * however late this process gets its turn. sign: a selector; says: how the text of what it finds begins.
 */
export async function clickAsSoonAs(page, begin, { sign, says = '', button }) {
  await page.evaluate(
    ({ sign, says, button }) => {
      globalThis.clicked = new Promise((resolve) => {
        const look = () => {
          if (![...document.querySelectorAll(sign)].some(({ textContent }) => textContent.startsWith(says))) return;
          const found = [...document.querySelectorAll('button')].find(({ textContent }) => textContent.trim() === button);
          if (!found) return;
          observer.disconnect();
          found.click();
          resolve();
        };
        const observer = new MutationObserver(look);
        observer.observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
      });
    },
    { sign, says, button },
  );
  await begin();
  await within(
    `'${button}' at ${sign}`,
    page.evaluate(() => globalThis.clicked),
  );
}

/** `work`, or an error when it takes more than all patience. */
export async function within(what, work) {
  let timer;
  const late = new Promise(
    (_, reject) => (timer = setTimeout(() => reject(new Error(`${what}: not in ${kPatience} ms`)), kPatience)),
  );
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Once what was rendered is painted, and the effects that follow a paint have run. */
export const painted = (page) => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => setTimeout(done))));

const rivalFile = (name) => (name.startsWith('wattn/') ? here(`../../dist/${name.slice('wattn/'.length)}`) : here('rival.js'));

/**
 * A static host: the page under /some/folder/, the model under its model/, and under stuck/ a model whose weights never end. asked:
 * the files of the page that were fetched. withModel: whether the page is told of the model. withEar: whether it
 * keeps what a console would show (see kEar). withRival: whether it is told of a rival, which is rival.js.
 */
export async function serve(folder, { withModel = true, withEar = false, withRival = false } = {}) {
  const asked = new Set();
  const server = createServer((request, response) => {
    const path = new URL(request.url, 'http://localhost').pathname.replace(/^\/some\/folder\//, '') || 'index.html';
    const inModel = /^(model|stuck)\/(.*)/.exec(path);
    const inRival = withRival ? /^rival\/(.*)/.exec(path)?.[1] : undefined;
    const own = withEar && path === 'ear.js' ? kEar : join(folder, path);
    const file = inModel ? join(kModel, inModel[2]) : inRival ? rivalFile(inRival) : own;
    if (!existsSync(file) || !statSync(file).isFile()) return response.writeHead(404, { 'content-type': 'text/plain' }).end('none');
    if (!inModel) asked.add(file);
    const type = kTypes[extname(file)] ?? 'application/octet-stream';
    if ((!withModel || withEar || withRival) && file.endsWith('.html')) {
      let page = readFileSync(file, 'utf8');
      if (!withModel) page = page.replace(/<meta name="wattn-model"[^>]*>/, '');
      if (withEar) page = page.replace('<head>', '<head><script src="./ear.js"></script>');
      if (withRival) page = page.replace('<head>', '<head><meta name="wattn-rival" content="./rival/" />');
      return response.writeHead(200, { 'content-type': type, 'content-security-policy': kPolicy }).end(page);
    }
    response.writeHead(200, { 'content-type': type, 'content-length': statSync(file).size, 'content-security-policy': kPolicy });
    if (inModel?.[1] === 'stuck' && file.endsWith('.safetensors')) return response.write(readFileSync(file).subarray(0, 50_000));
    return createReadStream(file).pipe(response);
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const close = () => {
    server.closeAllConnections();
    server.close();
  };
  return { url: `http://127.0.0.1:${server.address().port}/some/folder/`, asked, close };
}

/** Chromium that asks nobody for anything but the page. */
export async function launch(executablePath) {
  const { chromium } = await import('playwright-core');
  const args = [
    '--no-sandbox',
    '--disable-gpu',
    '--disable-quic',
    '--no-first-run',
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync',
  ];
  return chromium.launch({ executablePath, args, timeout: kPatience });
}

/** Opens the page; `said` collects what a console would show, violations of the policy included. */
export async function open(browser, url, options = {}) {
  const context = await browser.newContext({
    viewport: { width: 1280, height: 900 },
    serviceWorkers: 'block', // but where a test is about it
    reducedMotion: 'reduce', // likewise
    ...options,
  });
  await context.addInitScript(() => {
    addEventListener('securitypolicyviolation', (event) => console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`));
  });
  const page = await context.newPage();
  page.setDefaultTimeout(kPatience);
  const said = [];
  page.on(
    'console',
    (message) =>
      ['error', 'warning'].includes(message.type()) &&
      !/Service Worker registration blocked/.test(message.text()) &&
      said.push(`${message.text()} (${message.location().url})`),
  );
  page.on('pageerror', (error) => said.push(error.message));
  await page.goto(url);
  return { page, said, close: () => context.close() };
}

/** Painted, and nothing is on its way to another place or colour. */
export async function settled(page) {
  await painted(page);
  await page.evaluate(() => {
    for (const moves of document.getAnimations()) if (moves.effect.getComputedTiming().endTime < Infinity) moves.finish();
  });
}

/** Findings of axe-core that are serious or critical. */
export async function accessible(page) {
  await page.evaluate(readFileSync(here('../../node_modules/axe-core/axe.min.js'), 'utf8'));
  await settled(page);
  const { violations, passes } = await page.evaluate(() => globalThis.axe.run());
  const bad = violations.filter(({ impact }) => impact === 'serious' || impact === 'critical');
  const lines = bad.flatMap(({ id, nodes }) => nodes.map(({ target, failureSummary }) => `${id} at ${target}: ${failureSummary}`));
  if (bad.length > 0) throw new Error(lines.join('\n'));
  return `${passes.length} rules passed, ${violations.length} minor findings`;
}

export async function narrow(page, width = 390) {
  const found = await page.evaluate(() => document.documentElement.scrollWidth);
  if (found > width) throw new Error(`the page is ${found} wide, the screen ${width}`);
}

/** The package's own entry for Node, to compare with. */
export const nodeEntry = () => import(new URL('../../dist/node.js', import.meta.url));

/** A module of the demo's sources, to be run by Node with the package's own entries. */
export async function demoModule(path) {
  const esbuild = await import('esbuild');
  const folder = mkdtempSync(join(tmpdir(), 'wattn-demo-'));
  const outfile = join(folder, 'module.mjs');
  const alias = { 'wattn/nn': here('../../dist/nn_entry_node.js'), wattn: here('../../dist/node.js') };
  const entryPoints = [here(`../src/${path}`)];
  await esbuild.build({
    entryPoints,
    outfile,
    alias,
    external: [here('../../dist/*')],
    bundle: true,
    format: 'esm',
    platform: 'node',
  });
  return import(pathToFileURL(outfile)).finally(() => rmSync(folder, { recursive: true }));
}

/** A number as the page writes it. */
export const written = (number, digits = 2) => number.toFixed(digits).replace('-', '−');

/** A folder with the tiny encoder and a head of tests/goldens/tasks: 'sequence' (of inference) or 'token'. */
export function headFolder(kind) {
  const folder = mkdtempSync(join(tmpdir(), 'wattn-demo-'));
  const golden = (file) => here(`../../tests/goldens/tasks/${kind}/${file}`);
  cpSync(kModel, folder, { recursive: true });
  for (const file of ['modules.json', '1_Pooling', '2_Normalize']) rmSync(join(folder, file), { recursive: true });
  renameSync(join(folder, 'model.safetensors'), join(folder, 'encoder.safetensors'));
  for (const file of ['config.json', 'head.safetensors']) cpSync(golden(file), join(folder, file));
  const shards = { encoder: 'encoder.safetensors', head: 'head.safetensors' };
  writeFileSync(join(folder, 'model.safetensors.index.json'), JSON.stringify({ weight_map: shards }));
  return { folder, remove: () => rmSync(folder, { recursive: true }) };
}

/** Another model for the page, from a folder of this machine. */
export async function loadFolder(page, folder, panel) {
  const before = await page.evaluate((panel) => {
    const marked = document.querySelector(`[data-panel="${panel}"]`);
    marked.dataset.before = 'yes';
    return marked !== null;
  }, panel);
  await page.getByRole('button', { name: 'Change model' }).click();
  await page.getByLabel('Model folder', { exact: true }).setInputFiles(folder);
  if (before) await page.waitForSelector(`[data-panel="${panel}"]:not([data-before])`);
}

/** What a program of a card prints, run by Node where the package is found by its name. */
export async function runs(code) {
  const child = spawn(process.execPath, ['--input-type=module'], { cwd: here('../..'), stdio: ['pipe', 'pipe', 'pipe'] });
  child.stdin.end(code);
  const read = async (stream) => (await stream.toArray()).join('');
  const [printed, said] = await Promise.all([read(child.stdout), read(child.stderr)]);
  if (said) throw new Error(said);
  return printed;
}
