// The encoder of all-MiniLM-L6-v2 in every browser there is, one text, one thread: wattn against onnxruntime-web. Chromium runs without and with
// V8's joining of pairs of vectors (--wasm-revectorize). All browsers are open at once and take turns, each engine in them too: medians, ratios, and
// what joining gains. Needs what against_onnxruntime.mjs needs. CHROME, FIREFOX and WEBKIT (the driver) name other programs. ROUNDS: 7 by default.
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import puppeteer from 'puppeteer-core';
import { launchWebKit } from '../../tools/lib/webkit.mjs';
import { writeRecord } from './lib/record.mjs';
import { median, prepare, rivals, serve } from './lib/rival.mjs';

const rounds = Number(process.env.ROUNDS ?? 7);
const kTokens = [8, 32, 128];
const kPatience = 240_000; // ms
const kBrowsers = {
  Chromium: { path: process.env.CHROME ?? '/usr/bin/chromium', args: [] },
  'Chromium, joining': { path: process.env.CHROME ?? '/usr/bin/chromium', args: ['--js-flags=--wasm-revectorize'] },
  Firefox: { path: process.env.FIREFOX ?? '/usr/bin/firefox-esr' },
  WebKit: { path: process.env.WEBKIT ?? '/usr/bin/WebKitWebDriver' },
};
const kAgainst = (engine) => (engine === 'wattn q8' ? 'onnxruntime int8' : 'onnxruntime f32');

prepare();
const rival = `onnxruntime-web@${JSON.parse(readFileSync(join(rivals, 'node_modules/onnxruntime-web/package.json'), 'utf8')).version}`;
const server = await serve(() => '<!doctype html><link rel="icon" href="data:,">');

/** In the page: loads everything and leaves the functions to run. Returns which kernels wattn chose. */
async function load() {
  const ort = await import('/rivals/onnxruntime-web/dist/ort.wasm.min.mjs');
  Object.assign(ort.env.wasm, { numThreads: 1, wasmPaths: '/rivals/onnxruntime-web/dist/' });
  const { AutoModel } = await import('/wattn/index.js');
  const engines = (globalThis.engines = {});
  const kernels = {};
  for (const [name, file] of Object.entries({ f32: 'model', int8: 'model_quantized' })) {
    const session = await ort.InferenceSession.create(`/models/minilm/onnx/${file}.onnx`, { executionProviders: ['wasm'] });
    engines[`onnxruntime ${name}`] = (tokens) => {
      const filled = (value) => new ort.Tensor('int64', new BigInt64Array(tokens).fill(value), [1, tokens]);
      const feeds = { input_ids: filled(2003n), attention_mask: filled(1n), token_type_ids: filled(0n) };
      return () => session.run(feeds);
    };
  }
  const options = {
    'f32 exact': { dtype: 'f32' },
    'f32 fast': { dtype: 'f32', precision: 'fast' },
    q16: { dtype: 'q16' },
    q8: { dtype: 'q8' },
  };
  for (const [name, how] of Object.entries(options)) {
    const model = await AutoModel.from_pretrained('/model/', { threads: 1, ...how });
    kernels[name] = model.info().kernels;
    engines[`wattn ${name}`] = (tokens) => {
      const input_ids = [Array(tokens).fill(2003)];
      return () => model({ input_ids });
    };
  }
  return kernels;
}

/** In the page: ms of a run of each engine. Clocks of pages are coarse, so runs are timed together. warm: for how long each runs before, ms. */
async function measure(tokens, warm) {
  const kSample = 40; // ms
  const times = {};
  for (const [name, make] of Object.entries(globalThis.engines)) {
    const run = make(tokens);
    for (const start = performance.now(); performance.now() - start < warm;) await run();
    const start = performance.now();
    let runs = 0;
    do {
      await run();
      runs += 1;
    } while (performance.now() - start < kSample);
    times[name] = (performance.now() - start) / runs;
  }
  return times;
}

/** A page of that browser: its version, how to call a function in it, and how to end. */
async function open(name) {
  const { path, args } = kBrowsers[name];
  if (name === 'WebKit') {
    const browser = await launchWebKit(path, { patience: kPatience });
    const page = await browser.open(server.url);
    const version = await page.evaluate(() => /Version\/[\d.]+|AppleWebKit\/[\d.]+/.exec(navigator.userAgent)[0]);
    return { version, call: (work, ...args) => page.evaluate(work, ...args), close: () => browser.close() };
  }
  const profile = mkdtempSync(join(tmpdir(), 'wattn-bench-'));
  const browser = await puppeteer.launch({
    browser: args ? 'chrome' : 'firefox',
    executablePath: path,
    userDataDir: profile,
    args: args ? ['--no-sandbox', '--disable-gpu', ...args] : [],
    protocolTimeout: kPatience,
  });
  const page = await browser.newPage();
  await page.goto(server.url);
  const close = async () => {
    await browser.close();
    rmSync(profile, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  };
  return { version: await browser.version(), call: (work, ...args) => page.evaluate(work, ...args), close };
}

const pages = {};
for (const [name, { path }] of Object.entries(kBrowsers)) {
  if (!existsSync(path)) {
    console.log(`skipped: no ${name}, as there is no ${path}`);
    continue;
  }
  pages[name] = await open(name);
  console.log(`${name}: ${pages[name].version}, kernels ${JSON.stringify(await pages[name].call(load))}`);
}

const rows = [];
for (const tokens of kTokens) {
  const times = Object.fromEntries(Object.keys(pages).map((name) => [name, {}]));
  for (let round = -1; round < rounds; ++round) {
    for (const [name, page] of Object.entries(pages)) {
      const measured = await page.call(measure, tokens, round < 0 ? 300 : 0);
      if (round >= 0) for (const [engine, ms] of Object.entries(measured)) (times[name][engine] ??= []).push(ms);
    }
  }
  for (const [browser, engines] of Object.entries(times)) {
    for (const [engine, list] of Object.entries(engines)) {
      const ms = median(list);
      const joined = browser === 'Chromium' && times['Chromium, joining'][engine];
      rows.push({
        browser,
        tokens,
        engine,
        ms: ms.toFixed(2),
        least: Math.min(...list).toFixed(2),
        'times as fast': engine.startsWith('wattn') ? (median(engines[kAgainst(engine)]) / ms).toFixed(2) : '',
        'gain by joining': joined ? (ms / median(joined)).toFixed(2) : '',
      });
    }
  }
}
for (const page of Object.values(pages)) await page.close();
server.close();
console.table(rows);
writeRecord(
  'engines',
  rows.map((row) => ({ ...row, version: pages[row.browser].version, rival, rounds })),
);
process.exit(0);
