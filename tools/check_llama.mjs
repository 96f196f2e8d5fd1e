// Checks that llama.cpp reads the files that `wattn pack` writes: `node tools/check_llama.mjs MODEL.. [--dtype q8] [--vocab N] [--native PYTHON]
// [--save FOLDER]`. Each model (a folder, a .gguf file or a hub id) is packed, loaded by llama.cpp, and asked for the same texts as wattn, which
// reads the original in float32. Compared are vectors of encoders, logits of classifiers, tokens of decoders and encoder-decoders by greedy
// search. llama.cpp is wllama's (in WebAssembly, from npm) in Chromium, or with --native the one of a Python with llama-cpp-python
// (LLAMA_CPP_LIB_PATH: a folder with another build of it). An encoder's line has 1 - cosine to the original in llama.cpp and of the packed file in
// wattn, and between both; a .gguf file is taken as it is. Exits with 1 above LIMIT (2e-3) or where fewer tokens than LEAST (8 of 16) agree.
// CHROME: the browser. tools/llama_checkpoints.py makes models to check.
import {
  copyFileSync,
  createReadStream,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  writeSync,
  closeSync,
} from 'node:fs';
import { spawnSync } from 'node:child_process';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { basename, extname, join, normalize, resolve } from 'node:path';
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
/** A share of the largest logit. */
const kLogits = 0.05;
/** Four bits cost more than LIMIT by themselves: there only the packed file counts, in llama.cpp and in wattn. */
const kCoarse = ['q4', 'mixed'];

const { values, positionals: models } = parseArgs({
  allowPositionals: true,
  options: {
    dtype: { type: 'string', default: 'q8' },
    vocab: { type: 'string' },
    native: { type: 'string' },
    save: { type: 'string' },
  },
});
if (models.length === 0)
  fail('usage: node tools/check_llama.mjs MODEL.. [--dtype q8] [--vocab N] [--native PYTHON] [--save FOLDER]');
const wattn = await import(pathToFileURL(join(root, 'dist/node.js')));
const { AutoTokenizer, packTo, pipeline } = wattn;

const folder = values.save ?? mkdtempSync(join(tmpdir(), 'wattn-llama-'));
mkdirSync(folder, { recursive: true });

/** In the page: llama.cpp's vectors for texts, or what it appends to them. */
async function askWllama(file, texts, isEncoder, most) {
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
      const counts = [];
      for (const input of texts) {
        const { data, usage } = await model.createEmbedding({ input });
        vectors.push(data[0].embedding);
        counts.push(usage.prompt_tokens);
      }
      return { vectors, counts };
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

/** wllama in Chromium. */
async function startWllama() {
  installRivals(kWllama);
  const wllama = folderOfRival('@wllama/wllama');
  const kTypes = { '.js': 'text/javascript', '.wasm': 'application/wasm' };
  const server = createServer((request, response) => {
    const path = normalize(new URL(request.url, 'http://localhost').pathname);
    if (path === '/')
      return response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><title>llama.cpp</title>');
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
  const page = await browser.newPage();
  await page.goto(`http://127.0.0.1:${server.address().port}/`);
  const { version } = JSON.parse(readFileSync(join(wllama, 'package.json'), 'utf8'));
  const llama = await page.evaluate(async () => (await import('/esm/index.js')).Wllama.getLibllamaVersion());
  return {
    name: `wllama ${version}, llama.cpp ${llama}`,
    // wllama 3.13.0 refuses T5's two stacks, and its vectors of an encoder alone are others even for the file of llama.cpp's converter.
    lacks: (kind, architecture) => kind === 'logits' || /^t5/.test(architecture),
    ask: (path, kind) => page.evaluate(askWllama, `/packed/${basename(path)}`, kTexts, kind === 'vectors', kNewTokens),
    async close() {
      await browser.close();
      server.close();
    },
  };
}

/** llama.cpp's own functions: its answers for a file, as JSON. */
const kNative = `
import ctypes, json, os, sys
import numpy as np
import llama_cpp.llama_cpp as L
path, kind, most, texts = sys.argv[1], sys.argv[2], int(sys.argv[3]), json.load(sys.stdin)
said = []
@L.llama_log_callback
def keep(level, text, _):
    said.append((level, text.decode(errors="replace")))
L.llama_log_set(keep, ctypes.c_void_p(0))
if place := os.environ.get("LLAMA_CPP_LIB_PATH"):  # a build whose kernels are libraries beside it
    load = ctypes.CDLL(place + "/libggml.so").ggml_backend_load_all_from_path
    load.argtypes = [ctypes.c_char_p]
    load(place.encode())
L.llama_backend_init()

def errors():
    return {"error": "; ".join(text.strip() for level, text in said if level >= 4)[-500:]}

def answers():
    settings = L.llama_model_default_params()
    settings.n_gpu_layers = 0
    model = L.llama_model_load_from_file(path.encode(), settings)
    if not model:
        return errors()
    own = L.llama_context_default_params()
    own.n_ctx = own.n_batch = own.n_ubatch = 512
    own.n_threads = own.n_threads_batch = 1
    if kind in ("tokens", "pair"):
        own.type_k = own.type_v = own.flash_attn_type = 0  # keys and values in float32, as in wattn: float16 decides near ties otherwise
    own.embeddings = kind in ("vectors", "logits")
    if kind == "logits":
        own.pooling_type = 4
    context = L.llama_init_from_model(model, own)
    if not context:
        return errors()
    vocab = L.llama_model_get_vocab(model)
    out = {"tokens": [], "vectors": [], "ids": []}
    def run(step, ids):
        room = (L.llama_token * len(ids))(*ids)  # the batch only refers to it
        code = step(context, L.llama_batch_get_one(room, len(ids)))
        if code != 0:
            raise RuntimeError("llama.cpp gave the code %d" % code)
    for text in texts:
        raw = text.encode()
        room = (L.llama_token * 2048)()
        ids = list(room[: L.llama_tokenize(vocab, raw, len(raw), room, 2048, True, True)])
        out["tokens"].append(ids)
        memory = L.llama_get_memory(context)
        if memory:
            L.llama_memory_clear(memory, True)
        if own.embeddings:
            run(L.llama_encode if L.llama_model_has_encoder(model) or not memory else L.llama_decode, ids)
            width = L.llama_model_n_cls_out(model) if kind == "logits" else L.llama_model_n_embd_out(model)
            out["vectors"].append(np.ctypeslib.as_array(L.llama_get_embeddings_seq(context, 0), (width,)).astype(float).tolist())
            continue
        if kind == "pair":
            run(L.llama_encode, ids)
            ids = [L.llama_model_decoder_start_token(model)]
        found = []
        for _ in range(most):
            run(L.llama_decode, ids)
            logits = np.ctypeslib.as_array(L.llama_get_logits_ith(context, -1), (L.llama_vocab_n_tokens(vocab),))
            ids = [int(logits.argmax())]
            found += ids
        out["ids"].append(found)
    return out

print(json.dumps(answers()))
`;

/** llama-cpp-python of this interpreter. */
function startNative(python) {
  const { stdout, status } = spawnSync(python, ['-c', 'import llama_cpp; print(llama_cpp.__version__)'], { encoding: 'utf8' });
  if (status !== 0) fail(`${python}: cannot import llama_cpp: pip install llama-cpp-python`);
  return {
    name: `native llama.cpp of llama-cpp-python ${stdout.trim().split('\n').at(-1)}`,
    lacks: () => false,
    ask(path, kind) {
      const input = JSON.stringify(kTexts);
      const run = spawnSync(python, ['-c', kNative, path, kind, String(kNewTokens)], {
        input,
        encoding: 'utf8',
        maxBuffer: 1 << 28,
      });
      if (run.status === 0) return JSON.parse(run.stdout.trim().split('\n').at(-1));
      return { error: `ended with ${run.signal ?? run.status}: ${run.stderr.trim().split('\n').slice(-3).join('; ')}` };
    },
    close() {},
  };
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
const sameIds = (a, b) => a.length === b.length && a.every((id, i) => id === b[i]);
const encoded = (tokenizer, text) => tokenizer.encode(text, { add_special_tokens: false });
const worst = (a, b) => Math.max(...a.map((vector, i) => distance(vector, b[i])));
const shown = (value) => value.toExponential(1);

async function vectorsOf(model) {
  const embed = await pipeline('feature-extraction', model, { dtype: 'f32' });
  const out = await embed(kTexts, { normalize: true });
  await embed.dispose();
  return out.tolist();
}

async function logitsOf(model) {
  const classify = await pipeline('text-classification', model, { dtype: 'f32' });
  const found = await classify(kTexts, { top_k: null, function_to_apply: 'none' });
  await classify.dispose();
  const labels = found[0].map(({ label }) => label).sort();
  return { labels, rows: found.map((row) => labels.map((label) => row.find((each) => each.label === label).score)) };
}

/** What greedy search appends to each text. */
async function continued(model, kind, inputs) {
  const kinds = { tokens: wattn.AutoModelForCausalLM, pair: wattn.AutoModelForSeq2SeqLM };
  const writer = await kinds[kind].from_pretrained(model, { dtype: 'f32' });
  const out = [];
  for (const ids of inputs) {
    const found = await writer.generate({ input_ids: [ids], max_new_tokens: kNewTokens, do_sample: false });
    out.push([...found.data].map(Number).slice(kind === 'pair' ? 1 : ids.length));
  }
  await writer.dispose();
  return out;
}

const jsonOf = (model, name) => (existsSync(join(model, name)) ? JSON.parse(readFileSync(join(model, name), 'utf8')) : undefined);

function kindOf(model, architecture) {
  if (/ForSequenceClassification$/.test(jsonOf(model, 'config.json')?.architectures?.[0] ?? '')) return 'logits';
  if (/bert|embedding|encoder/.test(architecture) || jsonOf(model, 'modules.json')) return 'vectors';
  return architecture === 't5' ? 'pair' : 'tokens';
}

/** The packed file, or the file itself. */
async function pack(model) {
  if (model.endsWith('.gguf')) {
    const path = join(folder, basename(model));
    copyFileSync(model, path);
    return { path, bytes: statSync(path).size, llama_cpp: 'bert' };
  }
  const path = join(folder, `${basename(model)}.${values.dtype}.gguf`);
  const descriptor = openSync(path, 'w');
  const options = { dtype: values.dtype, ...(values.vocab && { vocab: Number(values.vocab), corpus: kTexts }) };
  const report = await packTo(model, (chunk) => void writeSync(descriptor, chunk), options);
  closeSync(descriptor);
  return { ...report, path };
}

/** One line for a model, and whether it is as it should be; undefined: llama.cpp was not asked. */
async function check(model, llama) {
  const packed = await pack(model);
  const { path } = packed;
  const about = `${basename(path)} (${(packed.bytes / 1e6).toFixed(1)} MB)`;
  if (packed.llama_cpp === null) return [`${about}: for wattn alone: ${packed.why_not}`, undefined];
  const isCoarse = kCoarse.includes(values.dtype);
  const kind = kindOf(model, packed.llama_cpp);
  const start = `${about}: ${packed.llama_cpp}`;
  if (llama.lacks(kind, packed.llama_cpp)) return [`${start}, which is not asked there`, undefined];
  const there = await llama.ask(path, kind);
  if (there.error !== undefined) return [`${start}: ${there.error}`, false];
  // With a smaller vocabulary texts have other pieces, so that the packed file is compared instead of the original.
  const original = values.vocab ? path : model;
  const tokenizer = await AutoTokenizer.from_pretrained(original);
  const ids = kTexts.map((text) => tokenizer.encode(text));
  const isSame = ids.every((own, i) =>
    there.tokens ? sameIds(own, there.tokens[i]) : (there.counts?.[i] ?? own.length) === own.length,
  );
  const tail = isSame ? '' : `; tokens ${JSON.stringify(there.tokens ?? there.counts)} instead of ${JSON.stringify(ids)}`;
  if (kind === 'vectors') {
    const [here, again] = [await vectorsOf(original), await vectorsOf(path)];
    const [theirs, ours, between] = [worst(here, there.vectors), worst(here, again), worst(again, there.vectors)];
    const line = `1 - cosine ${shown(theirs)} in llama.cpp, ${shown(ours)} in wattn, ${shown(between)} between both`;
    return [`${start}: ${line}${tail}`, between <= limit && (isCoarse || theirs <= limit) && isSame];
  }
  if (kind === 'logits') {
    const [{ labels, rows }, again] = [await logitsOf(original), await logitsOf(path)];
    const most = Math.max(...rows.flat().map(Math.abs));
    const apart = (a, b) => Math.max(...a.flatMap((row, i) => row.map((logit, j) => Math.abs(logit - b[i][j])))) / most;
    const [theirs, ours, between] = [apart(rows, there.vectors), apart(rows, again.rows), apart(again.rows, there.vectors)];
    const line = `logits of ${labels.length} labels, apart by the largest: ${shown(theirs)} in llama.cpp, ${shown(ours)} in wattn, ${shown(between)} between both`;
    return [`${start}: ${line}${tail}`, between <= kLogits && (isCoarse || theirs <= kLogits) && isSame];
  }
  const [here, again] = [await continued(original, kind, ids), await continued(path, kind, ids)];
  // wllama gives text, which need not have come from the pieces that encoding it gives.
  const plain = (rows) =>
    there.ids ? rows : rows.map((row) => encoded(tokenizer, tokenizer.decode(row, { skip_special_tokens: true })));
  const theirs = there.ids ?? there.answers.map((text) => encoded(tokenizer, text));
  const alike = (a, b) =>
    a.map((row, i) => {
      const end = row.findIndex((id, at) => id !== b[i][at]);
      return end < 0 ? row.length : end;
    });
  const [own, read] = [plain(here), plain(again)];
  const [counts, between] = [alike(own, theirs), alike(read, theirs)];
  const line = `tokens alike in llama.cpp ${counts.join(' ')}, in wattn ${alike(own, read).join(' ')}, in both ${between.join(' ')}, of ${own.map((row) => row.length).join(' ')}`;
  const enough = (list) => list.every((count, i) => count >= Math.min(least, own[i].length));
  return [`${start}: ${line}${tail}`, enough(between) && (isCoarse || enough(counts)) && isSame];
}

const llama = values.native ? startNative(values.native) : await startWllama();
const counts = { ok: 0, FAIL: 0, skip: 0 };
try {
  console.log(llama.name);
  for (const model of models.map((each) => (existsSync(each) ? resolve(each) : each))) {
    const [line, isGood] = await check(model, llama).catch((error) => [`${basename(model)}: ${error.message}`, false]);
    const verdict = isGood === undefined ? 'skip' : isGood ? 'ok' : 'FAIL';
    console.log(`${verdict.padEnd(4)} ${line}`);
    ++counts[verdict];
  }
} finally {
  await llama.close();
  if (!values.save) rmSync(folder, { recursive: true });
}
console.log(`${counts.ok} passed, ${counts.FAIL} failed, ${counts.skip} skipped`);
process.exit(counts.FAIL > 0 ? 1 : 0);
