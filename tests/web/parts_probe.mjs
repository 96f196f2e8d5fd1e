// Makes calls that need a missing part of wattn's code: node parts_probe.mjs FOLDER MODEL ENTRY. Prints the result of each call as JSON. FOLDER
// has a copy of dist without each part.
import { readdirSync, readFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const [folder, model, entry] = process.argv.slice(2);
const files = readdirSync(model, { recursive: true }).filter((name) => name.includes('.'));
const tiny = Object.fromEntries(files.map((name) => [name, new Uint8Array(readFileSync(join(model, name)))]));
const isPage = !/node|edge|\.cjs$/.test(entry);
const texts = ['a', 'b'];
const vectors = async (all) => all.map((text) => [text.length, 1]);
const added = async (m, rest = {}) => {
  const index = await m.Index.open('a', { store: 'memory', embed: null, ...rest });
  await index.add([{ id: '1', text: 'the boats were waiting' }]);
};

/** What needs a part, by its name, of any entry that has the function. */
const kCalls = {
  text_classification: (m) => m.pipeline('text-classification', tiny),
  token_classification: (m) => m.pipeline('token-classification', tiny),
  zero_shot_ner: (m) => m.pipeline('zero-shot-ner', tiny),
  information_extraction: (m) => m.pipeline('information-extraction', tiny),
  question_answering: (m) => m.pipeline('question-answering', tiny),
  text_generation: (m) => m.pipeline('text-generation', tiny),
  text2text: (m) => m.pipeline('translation', tiny),
  text_ranking: (m) => m.pipeline('text-ranking', tiny),
  sparse_encoding: (m) => m.pipeline('sparse-encoding', tiny),
  late_interaction: (m) => m.pipeline('late-interaction', tiny),
  defaults: (m) => m.pipeline('no-such-task'),
  make_tokenizer: async (m) => (await m.pipeline('feature-extraction', tiny)).tokenizer,
  remote_engine: (m) => m.pipeline('feature-extraction', tiny, { worker: true }),
  adapters: (m) => m.pipeline('feature-extraction', tiny, { adapters: { a: tiny } }),
  accelerated: (m) => m.pipeline('feature-extraction', tiny, { device: 'webgpu' }),
  search_index: (m) => added(m),
  detect: (m) => added(m, { language: 'auto' }),
  en: (m) => added(m, { language: 'en' }),
  tr: (m) => added(m, { language: 'tr' }),
  upkeep: (m) => m.Index.list({ store: 'memory' }),
  redact: (m) => m.redact('a', { rules: ['email'] }),
  rules: (m) => m.redact('a', { rules: ['email'] }),
  phones: (m) => m.redact('a', { rules: ['phone'] }),
  session: (m) => m.redactSession({ rules: ['email'] }),
  packing: (m) => m.packModel(tiny),
  evaluation: async (m) => m.evaluate(await m.pipeline('feature-extraction', tiny), 'sts', [{ a: 'a', b: 'b', score: 1 }]),
  distillation: async (m) => m.distill(await m.pipeline('feature-extraction', tiny)),
  classifier: (m) => m.Classifier.fit(vectors, texts, ['x', 'y']),
  load: (m) => m.Classifier.load(vectors, new Uint8Array(9)),
  extras: (m) => m.AutoTokenizer.from_pretrained(tiny),
  training: (m) => m.trainTokenizer?.(texts, { vocab_size: 9 }) ?? m.AutoTokenizer.train(texts, { vocab_size: 9 }),
  nn_host: (m) => (m.nn ?? m).ready(),
  ai_sdk_chat: (m) => m.wattn(tiny).doGenerate({ prompt: [] }),
  langchain_chat: (m) => m.chatModel({ model: tiny }),
};

const own = process;
// A page's entry asks for WebAssembly by its address.
if (isPage)
  globalThis.fetch = async (url) =>
    new Response(readFileSync(fileURLToPath(url)), { headers: { 'content-type': 'application/wasm' } });
const found = {};
for (const part of readdirSync(folder)) {
  const call = kCalls[part];
  if (!call) {
    found[part] = 'no call needs it';
    continue;
  }
  const entryOf = await import(pathToFileURL(join(folder, part, entry)).href);
  if (isPage) delete globalThis.process;
  found[part] = await Promise.resolve()
    .then(() => call(entryOf))
    .then(
      () => 'nothing failed',
      (error) => `${error.name} ${error.code}: ${error.message}`,
    );
  globalThis.process = own;
}
writeSync(1, JSON.stringify(found));
own.exit(0);
