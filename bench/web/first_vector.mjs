// The first vector, against transformers.js 4.3.1: from the start of a Node process, and from the navigation of a page of Chromium. The page has an
// empty HTTP cache, then a full one. The same checkpoint, as transformers.js's int8 ONNX and as wattn reads it; and the model in the package. In
// turns. Needs what against_transformers_js.mjs needs, without the text. ROUNDS: 9 by default.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import { writeRecord } from './lib/record.mjs';
import { checkpoint, kImportMap, kRival, median, prepare, rivals, root, serve } from './lib/rival.mjs';

const rounds = Number(process.env.ROUNDS ?? 9);
prepare();
const packed = join(root, 'build/bench');
mkdirSync(packed, { recursive: true });
for (const dtype of ['q8', 'native']) {
  const out = join(packed, `minilm-${dtype}.gguf`);
  const how = ['pack', '--model', checkpoint, '--dtype', dtype, '--out', out];
  if (!existsSync(out)) spawnSync(process.execPath, [join(root, 'dist/cli.js'), ...how], { stdio: 'inherit' });
}

const kModels = {
  'wattn q8, checkpoint': { node: checkpoint, page: '/model/' },
  'wattn q8, packed q8': { node: join(packed, 'minilm-q8.gguf'), page: '/packed/minilm-q8.gguf' },
  'wattn q8, packed native': { node: join(packed, 'minilm-native.gguf'), page: '/packed/minilm-native.gguf' },
  'wattn, model in the package': {},
};
const wattnProgram = (library, model) => `
  import { pipeline } from '${library}';
  const embed = await pipeline('feature-extraction', ${JSON.stringify(model)}, { dtype: 'q8' });
  await embed('hello world');`;
const rivalProgram = (library, settings) => `
  import { pipeline, env } from '${library}';
  Object.assign(env, { allowRemoteModels: false, allowLocalModels: true });
  ${settings}
  const embed = await pipeline('feature-extraction', 'minilm', { dtype: 'q8', device: __device });
  await embed('hello world', { pooling: 'mean', normalize: true });`;

const inNode = {
  'transformers.js q8': rivalProgram(
    '@huggingface/transformers',
    `env.localModelPath = ${JSON.stringify(`${join(rivals, 'models')}/`)};`,
  ).replace('__device', "'cpu'"),
  ...Object.fromEntries(
    Object.entries(kModels).map(([name, { node }]) => [name, wattnProgram(`file://${join(root, 'dist/node.js')}`, node)]),
  ),
};
const inPage = {
  'transformers.js q8': rivalProgram(
    '/rivals/@huggingface/transformers/dist/transformers.web.min.js',
    `env.localModelPath = '/models/'; env.backends.onnx.wasm.wasmPaths = '/rivals/onnxruntime-web/dist/'; env.backends.onnx.wasm.numThreads = 1;`,
  ).replace('__device', "'wasm'"),
  ...Object.fromEntries(Object.entries(kModels).map(([name, { page }]) => [name, wattnProgram('/wattn/index.js', page)])),
};

/** The times of each contender in turns, ms; the first round is not counted. */
async function inTurns(contenders, measure) {
  const names = Object.keys(contenders);
  const times = Object.fromEntries(names.map((name) => [name, []]));
  for (let round = -1; round < rounds; ++round) {
    for (const name of names) {
      const time = await measure(name);
      if (round >= 0) times[name].push(time);
    }
  }
  return times;
}

function startNode(name) {
  const begun = Date.now();
  const program = `${inNode[name]} process.stdout.write(String(Date.now())); process.exit(0);`;
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', program], { cwd: rivals, encoding: 'utf8' });
  if (!/^\d+$/.test(stdout)) throw new Error(`${name}: ${stdout}${stderr}`);
  return Number(stdout) - begun;
}

const names = Object.keys(inPage);
const server = await serve((path) => {
  const name = names[Number(path.slice(1))];
  if (name === undefined) return '<!doctype html>';
  return `<!doctype html><link rel="icon" href="data:,">${name.startsWith('wattn') ? '' : kImportMap}<script type="module">${inPage[name]}
    globalThis.firstVector = performance.now();</script>`;
});
const launch = { executablePath: process.env.CHROME || '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu'] };

/** From navigation to the first vector in a new page. No request may fail. */
async function navigate(context, name) {
  const page = await context.newPage();
  const failed = [];
  page.on('requestfailed', (request) => failed.push(request.url()));
  // A 404 is a file that a repository need not have; the model says if it misses one.
  page.on('response', (response) => response.status() > 404 && failed.push(`${response.status()} ${response.url()}`));
  page.on('pageerror', (error) => failed.push(String(error)));
  page.setDefaultTimeout(600_000);
  await page.goto(`${server.url}${names.indexOf(name)}`);
  const time = await (await page.waitForFunction(() => globalThis.firstVector)).jsonValue();
  await page.close();
  if (failed.length > 0 && name.startsWith('wattn')) throw new Error(`${name}: ${failed}`);
  return time;
}

const results = { [`node ${process.version}`]: await inTurns(inNode, startNode) };
const browser = await chromium.launch(launch);
const version = browser.version();
results[`chromium ${version}, empty cache`] = await inTurns(inPage, async (name) => {
  const context = await browser.newContext();
  const time = await navigate(context, name);
  await context.close();
  return time;
});
await browser.close();
const profile = mkdtempSync(join(tmpdir(), 'wattn-first-'));
const kept = await chromium.launchPersistentContext(profile, launch);
for (let visit = 0; visit < 3; ++visit) for (const name of names) await navigate(kept, name); // Chromium keeps compiled code after a few visits
results[`chromium ${version}, full cache`] = await inTurns(inPage, (name) => navigate(kept, name));
await kept.close();
rmSync(profile, { recursive: true, force: true });
server.close();

const rows = Object.entries(results).flatMap(([host, times]) =>
  Object.entries(times).map(([engine, list]) => ({
    host,
    engine,
    'first vector, ms': Math.round(median(list)),
    'least, ms': Math.round(Math.min(...list)),
    'times sooner': (median(times['transformers.js q8']) / median(list)).toFixed(2),
  })),
);
console.table(rows);
writeRecord(
  'first-vector',
  rows.map((row) => ({ ...row, rival: kRival, rounds })),
);
process.exit(0);
