// wattn against transformers.js 4.3.1 on the same checkpoint, from strings to embeddings. 256 texts of 5 to 200 tokens in one call, in a page of
// Chromium, one thread each (the page is not cross-origin isolated), interleaved. Then the peak memory of a Node process. transformers.js runs its
// int8 file on onnxruntime-web in the page and on native onnxruntime in Node. Needs the checkpoint, its ONNX twin (see against_onnxruntime.mjs)
// and a text file to cut texts from: WATTN_BENCH_TEXT.
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import { mixedTexts } from './lib/mixed_texts.mjs';
import { writeRecord } from './lib/record.mjs';
import { checkpoint, kImportMap, kRival, median, prepare, rivals, root, serve } from './lib/rival.mjs';

const corpus = process.env.WATTN_BENCH_TEXT ?? join(root, '../shared/data/text/darwin.txt');
const rounds = Number(process.env.ROUNDS ?? 5);
prepare([[corpus, 'WATTN_BENCH_TEXT names a text file']]);

const server = await serve(() => `<!doctype html>${kImportMap}`);

/** In the page: a function for each engine, and the times of interleaved rounds. */
async function inPage({ texts, rounds }) {
  const { pipeline, env } = await import('/rivals/@huggingface/transformers/dist/transformers.web.min.js');
  const wattn = await import('/wattn/index.js');
  Object.assign(env, { allowRemoteModels: false, allowLocalModels: true, localModelPath: '/models/', useBrowserCache: false });
  env.backends.onnx.wasm.wasmPaths = '/rivals/onnxruntime-web/dist/';
  env.backends.onnx.wasm.numThreads = 1;
  const theirs = await pipeline('feature-extraction', 'minilm', { dtype: 'q8', device: 'wasm' });
  const sorted = texts.toSorted((a, b) => a.length - b.length);
  const how = { pooling: 'mean', normalize: true };
  const engines = {
    'transformers.js q8, one call': () => theirs(texts, how),
    'transformers.js q8, sorted, batches of 16': async () => {
      for (let at = 0; at < sorted.length; at += 16) await theirs(sorted.slice(at, at + 16), how);
    },
    'transformers.js q8, one by one': async () => {
      for (const text of texts) await theirs(text, how);
    },
  };
  const kinds = {};
  for (const options of [{ dtype: 'q8' }, { dtype: 'q16' }, { dtype: 'f32' }, { dtype: 'f32', precision: 'fast' }]) {
    const embed = await wattn.pipeline('feature-extraction', '/model/', options);
    const name = `wattn ${Object.values(options).join(' ')}, one call`;
    kinds[name] = embed.info().kernels;
    engines[name] = () => embed(texts);
  }
  const times = Object.fromEntries(Object.keys(engines).map((name) => [name, []]));
  for (let round = -1; round < rounds; ++round) {
    for (const [name, run] of Object.entries(engines)) {
      const start = performance.now();
      await run();
      if (round >= 0) times[name].push(performance.now() - start);
    }
  }
  return { times, kinds };
}

const texts = mixedTexts(corpus, 256);
const browser = await chromium.launch({
  executablePath: process.env.CHROME || '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu'],
});
const version = browser.version();
const page = await browser.newPage();
page.on('console', (message) => message.type() === 'error' && console.error(message.text()));
await page.goto(server.url);
page.setDefaultTimeout(600_000);
const { times, kinds } = await page.evaluate(inPage, { texts, rounds });
await browser.close();
server.close();

const perSecond = Object.fromEntries(Object.entries(times).map(([name, list]) => [name, (1000 * texts.length) / median(list)]));
const [oneCall, ...otherWays] = Object.keys(perSecond).filter((name) => name.startsWith('transformers.js'));
const best = Math.max(...[oneCall, ...otherWays].map((name) => perSecond[name]));
console.log(`Chromium ${version}: ${texts.length} texts, ${rounds} rounds, kernels ${JSON.stringify(kinds)}`);
const inChromium = Object.entries(perSecond).map(([engine, speed]) => ({
  engine,
  'texts/s': speed.toFixed(1),
  'against one call': (speed / perSecond[oneCall]).toFixed(2),
  'against its best way': (speed / best).toFixed(2),
}));
console.table(inChromium);
writeRecord(
  'transformers-js-chromium',
  inChromium.map((row) => ({ ...row, rival: kRival, rounds, host: `chromium ${version}` })),
);

// A Node process: the most memory it held while it embedded the texts. first_vector.mjs has its start.
const programs = {
  'transformers.js q8': `
    import { pipeline, env } from '@huggingface/transformers';
    Object.assign(env, { allowRemoteModels: false, localModelPath: ${JSON.stringify(`${join(rivals, 'models')}/`)} });
    const embed = await pipeline('feature-extraction', 'minilm', { dtype: 'q8' });
    const how = { pooling: 'mean', normalize: true };
    await embed(texts, how); peak();`,
  ...Object.fromEntries(
    ['q8', 'f32'].map((dtype) => [
      `wattn ${dtype}`,
      `
    import { pipeline } from ${JSON.stringify(join(root, 'dist/node.js'))};
    const embed = await pipeline('feature-extraction', ${JSON.stringify(checkpoint)}, { dtype: '${dtype}' });
    await embed(texts); peak();`,
    ]),
  ),
};
const started = Object.fromEntries(Object.keys(programs).map((name) => [name, []]));
for (let round = 0; round < rounds; ++round) {
  for (const [name, program] of Object.entries(programs)) {
    const source = `${program}
      function peak() { console.log(process.resourceUsage().maxRSS / 1024); process.exit(0); }`.replace(
      'texts',
      JSON.stringify(texts),
    );
    const file = join(rivals, 'program.mjs');
    writeFileSync(file, source);
    started[name].push(Number(execFileSync(process.execPath, [file], { cwd: rivals, encoding: 'utf8' })));
  }
}
console.log(`Node ${process.version}: most memory, MB`);
const inNode = Object.entries(started).map(([engine, peak]) => ({ engine, 'peak memory': Math.round(median(peak)) }));
console.table(inNode);
writeRecord(
  'transformers-js-node',
  inNode.map((row) => ({ ...row, rival: kRival, rounds, host: `node ${process.version}` })),
);
process.exit(0);
