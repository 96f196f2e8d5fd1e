// A language model of 125 M random weights in Chromium, compared with wllama (llama.cpp in WebAssembly): the same 8-bit GGUF file, one thread
// each. Tokens per second for processing a prompt of CONTEXT words (512) and for generation, as the median of ROUNDS (5) alternating rounds.
// CHROME: the browser. Needs ../shared/data/tokenizers.
//   node bench/web/against_wllama.mjs
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import puppeteer from 'puppeteer-core';
import { folderOfRival, installRivals } from '../../tools/lib/rivals.mjs';
import { packedLlama } from './lib/llama.mjs';
import { writeRecord } from './lib/record.mjs';
import { median, serve } from './lib/rival.mjs';

const { ROUNDS = '5', CONTEXT = '512', LAYERS = '30', CHROME: chromium = '/usr/bin/chromium' } = process.env;
const kWllama = '@wllama/wllama@3.13.0';
const kNew = 24;
if (!existsSync(chromium)) {
  console.log(`skipped: no ${chromium}`);
  process.exit(0);
}
if (packedLlama(Number(LAYERS)) === undefined) process.exit(0);
installRivals(kWllama);

/** In the page: milliseconds of a prompt with one new token and of one with more, in turns, and how many tokens each has read and written. */
async function race({ file, prompt, rounds, most }) {
  const { Wllama } = await import('/rivals/@wllama/wllama/esm/index.js');
  const { pipeline } = await import('/wattn/index.js');
  const wllama = new Wllama({ default: '/rivals/@wllama/wllama/esm/wasm/wllama.wasm' });
  await wllama.loadModel([await (await fetch(file)).blob()], {
    n_threads: 1,
    n_ctx: 1024,
    n_batch: 512,
    n_ubatch: 512,
    n_gpu_layers: 0,
  });
  const generate = await pipeline('text-generation', file, { dtype: 'q8', threads: 1, prefix_cache_bytes: 0 });
  const engines = {
    wllama: async (count) => {
      const { usage } = await wllama.createCompletion({ prompt, max_tokens: count, temperature: 0, top_k: 1, cache_prompt: false });
      return [usage.prompt_tokens, usage.completion_tokens];
    },
    wattn: async (count) => {
      const [{ prompt_tokens, tokens }] = await generate(prompt, {
        max_new_tokens: count,
        do_sample: false,
        return_full_text: false,
      });
      return [prompt_tokens, tokens.length];
    },
  };
  const times = { wllama: [], wattn: [] };
  for (let round = -1; round < rounds; ++round) {
    for (const [name, run] of Object.entries(engines)) {
      const begin = performance.now();
      const [read] = await run(1);
      const between = performance.now();
      const [, wrote] = await run(1 + most);
      const one = between - begin;
      if (round >= 0)
        times[name].push({
          read: (1000 * read) / one,
          write: (1000 * (wrote - 1)) / (performance.now() - between - one),
          tokens: [read, wrote],
        });
    }
  }
  return times;
}

const server = await serve(() => '<!doctype html><link rel="icon" href="data:,">');
const browser = await puppeteer.launch({
  executablePath: chromium,
  args: ['--no-sandbox', '--disable-gpu'],
  protocolTimeout: 1_200_000,
});
try {
  const page = await browser.newPage();
  await page.goto(server.url);
  const prompt = 'river stone '.repeat(Number(CONTEXT) / 2).trim();
  const given = { file: `/packed/llama-${LAYERS}-q8.gguf`, prompt, rounds: Number(ROUNDS), most: kNew };
  const times = await page.evaluate(race, given);
  const { version } = JSON.parse(readFileSync(join(folderOfRival('@wllama/wllama'), 'package.json'), 'utf8'));
  const of = (name, what) => median(times[name].map((one) => one[what]));
  const rows = Object.keys(times).map((name) => ({
    engine: name === 'wllama' ? `wllama ${version}` : name,
    'tokens of the prompt': times[name][0].tokens[0],
    'new tokens': times[name][0].tokens[1],
    'read a second': of(name, 'read').toFixed(1),
    'written a second': of(name, 'write').toFixed(1),
    'reading, times wllama': median(times[name].map((one, i) => one.read / times.wllama[i].read)).toFixed(2),
    'writing, times wllama': median(times[name].map((one, i) => one.write / times.wllama[i].write)).toFixed(2),
  }));
  console.table(rows);
  writeRecord('wllama', rows);
} finally {
  await browser.close();
  server.close();
}
