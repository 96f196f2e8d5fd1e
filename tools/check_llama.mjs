// Whether llama.cpp reads what `wattn pack` writes: `node tools/check_llama.mjs MODEL.. [--dtype q8] [--save FOLDER]`. Each model (a folder or a hub id) is
// packed, loaded by wllama (llama.cpp in WebAssembly, from npm) in Chromium, and asked for the same texts as wattn, which reads the original in float32. An
// encoder's line has 1 - cosine of llama.cpp's vectors and of the packed file's in wattn, a decoder's the tokens that both continue alike, by greedy search. Exits
// with 1 above LIMIT (2e-3) or where fewer tokens than LEAST (8 of 16) agree. CHROME: the browser. tools/llama_checkpoints.py makes models to check.
import {
  createReadStream,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeSync,
  closeSync,
} from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { basename, extname, join, normalize } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import puppeteer from 'puppeteer-core';
import { folderOfRival, installRivals } from './lib/rivals.mjs';
import { fail, root } from './lib/shell.mjs';
import { findChromium } from './setup.mjs';

const kWllama = '@wllama/wllama@3.13.0';
const kTexts = [
  'The old boat waits below the bridge.',
  'Small birds sing in the wind, and 3.14159 is nearly pi!',
  'A longer sentence, which goes on about the weather of the coast, the harbour and its ships, the people who live there, and what they tell each other.',
  'naïve café  Füße — “quotes” 我想 1234567',
  "I've been told he's there, don't you think?",
];
const kNewTokens = 16;
const limit = Number(process.env.LIMIT ?? 2e-3);
const least = Number(process.env.LEAST ?? 8);

const { values, positionals: models } = parseArgs({
  allowPositionals: true,
  options: { dtype: { type: 'string', default: 'q8' }, save: { type: 'string' } },
});
if (models.length === 0) fail('usage: node tools/check_llama.mjs MODEL.. [--dtype q8] [--save FOLDER]');
const { AutoTokenizer, packTo, pipeline } = await import(pathToFileURL(join(root, 'dist/node.js')));

installRivals(kWllama);
const wllama = folderOfRival('@wllama/wllama');
const folder = values.save ?? mkdtempSync(join(tmpdir(), 'wattn-llama-'));
mkdirSync(folder, { recursive: true });

const kTypes = { '.js': 'text/javascript', '.wasm': 'application/wasm' };
const server = createServer((request, response) => {
  const path = normalize(new URL(request.url, 'http://localhost').pathname);
  if (path === '/') return response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><title>llama.cpp</title>');
  const file = path.startsWith('/packed/') ? join(folder, basename(path)) : join(wllama, path);
  if (!existsSync(file)) return response.writeHead(404).end();
  response.writeHead(200, { 'content-type': kTypes[extname(file)] ?? 'application/octet-stream' });
  return createReadStream(file).pipe(response);
});
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
const browser = await puppeteer.launch({
  executablePath: findChromium() ?? fail('no Chromium; CHROME names one'),
  args: ['--no-sandbox', '--disable-gpu'],
  protocolTimeout: 600_000,
});

/** In the page: llama.cpp's vectors for texts, or what it appends to them. */
async function ask(file, texts, isEncoder, most) {
  const { Wllama } = await import('/esm/index.js');
  const said = [];
  const keep = (...parts) => void said.push(parts.join(' '));
  const logger = { debug: keep, log: keep, warn: keep, error: keep };
  const model = new Wllama({ default: '/esm/wasm/wllama.wasm' }, { logger });
  try {
    const blob = await (await fetch(file)).blob();
    await model.loadModel([blob], {
      embeddings: isEncoder,
      n_ctx: 512,
      n_batch: 512,
      n_ubatch: 512,
      n_threads: 1,
      n_gpu_layers: 0,
      warmup: false,
    });
    if (isEncoder) {
      const vectors = [];
      const tokens = [];
      for (const input of texts) {
        const { data, usage } = await model.createEmbedding({ input });
        vectors.push(data[0].embedding);
        tokens.push(usage.prompt_tokens);
      }
      return { vectors, tokens };
    }
    const answers = [];
    for (const prompt of texts) {
      const { choices } = await model.createCompletion({ prompt, max_tokens: most, temperature: 0, top_k: 1, cache_prompt: false });
      answers.push(choices[0].text);
    }
    return { answers };
  } catch (error) {
    return {
      error: `${error}; ${said
        .filter((line) => /error|fail/i.test(line))
        .slice(-3)
        .join('; ')}`,
    };
  } finally {
    await model.exit().catch(() => {});
  }
}

const distance = (a, b) => {
  let [dot, aa, bb] = [0, 0, 0];
  a.forEach((value, i) => {
    dot += value * b[i];
    aa += value * value;
    bb += b[i] * b[i];
  });
  return 1 - dot / Math.sqrt(aa * bb);
};
const worst = (a, b) => Math.max(...a.map((vector, i) => distance(vector, b[i])));

async function vectorsOf(model) {
  const embed = await pipeline('feature-extraction', model, { dtype: 'f32' });
  const out = await embed(kTexts, { normalize: true });
  await embed.dispose();
  return out.tolist();
}

async function continued(model) {
  const generate = await pipeline('text-generation', model, { dtype: 'f32' });
  const out = [];
  for (const text of kTexts) {
    const [{ generated_text }] = await generate(text, { max_new_tokens: kNewTokens, do_sample: false, return_full_text: false });
    out.push(generated_text);
  }
  await generate.dispose();
  return out;
}

/** One line for a model, and whether it is as it should be; undefined: llama.cpp was not asked. */
async function check(model, page) {
  const file = `${basename(model)}.${values.dtype}.gguf`;
  const path = join(folder, file);
  const descriptor = openSync(path, 'w');
  const report = await packTo(model, (chunk) => void writeSync(descriptor, chunk), { dtype: values.dtype });
  closeSync(descriptor);
  const about = `${file} (${(report.bytes / 1e6).toFixed(1)} MB)`;
  if (report.llama_cpp === null) return [`${about}: for wattn alone: ${report.why_not}`, undefined];
  // wllama 3.13.0 refuses T5's two stacks, and its vectors of an encoder alone are others even for the file of llama.cpp's converter.
  if (/^t5/.test(report.llama_cpp)) return [`${about}: ${report.llama_cpp}, which wllama does not run`, undefined];
  const isEncoder = /bert|embedding|encoder/.test(report.llama_cpp) || existsSync(join(model, 'modules.json'));
  const there = await page.evaluate(ask, `/packed/${file}`, kTexts, isEncoder, kNewTokens);
  const kind = `${about}: ${report.llama_cpp}`;
  if (there.error) return [`${kind}: ${there.error}`, false];
  if (!isEncoder) {
    const [here, packed, tokenizer] = [await continued(model), await continued(path), await AutoTokenizer.from_pretrained(model)];
    const same = (other) =>
      here.map((text, i) => {
        const [a, b] = [text, other[i]].map((each) => tokenizer.encode(each, { add_special_tokens: false }));
        const end = a.findIndex((id, at) => id !== b[at]);
        return end < 0 ? a.length : end;
      });
    const lengths = here.map((text) => tokenizer.encode(text, { add_special_tokens: false }).length);
    const counts = same(there.answers);
    const line = `${kind}: tokens alike in llama.cpp ${counts.join(' ')}, in wattn ${same(packed).join(' ')}, of ${lengths.join(' ')}`;
    return [line, counts.every((count, i) => count >= Math.min(least, lengths[i]))];
  }
  const [here, packed, tokenizer] = [await vectorsOf(model), await vectorsOf(path), await AutoTokenizer.from_pretrained(model)];
  const tokens = kTexts.map((text) => tokenizer.encode(text).length);
  const [theirs, ours] = [worst(here, there.vectors), worst(here, packed)];
  const isSame = tokens.every((count, i) => count === there.tokens[i]);
  const line = `${kind}: 1 - cosine ${theirs.toExponential(1)} in llama.cpp, ${ours.toExponential(1)} in wattn`;
  return [`${line}${isSame ? '' : `; tokens ${there.tokens.join(' ')} instead of ${tokens.join(' ')}`}`, theirs <= limit && isSame];
}

const counts = { ok: 0, FAIL: 0, skip: 0 };
try {
  const page = await browser.newPage();
  await page.goto(`http://127.0.0.1:${server.address().port}/`);
  const { version } = JSON.parse(readFileSync(join(wllama, 'package.json'), 'utf8'));
  const llama = await page.evaluate(async () => (await import('/esm/index.js')).Wllama.getLibllamaVersion());
  console.log(`wllama ${version}, llama.cpp ${llama}`);
  for (const model of models) {
    const [line, isGood] = await check(model, page);
    const verdict = isGood === undefined ? 'skip' : isGood ? 'ok' : 'FAIL';
    console.log(`${verdict.padEnd(4)} ${line}`);
    ++counts[verdict];
  }
} finally {
  await browser.close();
  server.close();
  if (!values.save) rmSync(folder, { recursive: true });
}
console.log(`${counts.ok} passed, ${counts.FAIL} failed, ${counts.skip} skipped`);
process.exit(counts.FAIL > 0 ? 1 : 0);
