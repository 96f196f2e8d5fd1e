// What page.test.ts calls inside the page. Everything answered is plain data.
import * as wattn from '/dist/index.js';

const names = [
  'config.json', 'tokenizer.json', 'tokenizer_config.json', 'modules.json', '1_Pooling/config.json', 'sentence_bert_config.json',
  'config_sentence_transformers.json', 'model.safetensors',
]; // prettier-ignore

async function bytes() {
  const read = async (name) => [name, await (await fetch(`/model/${name}`)).arrayBuffer()];
  return new Map(await Promise.all(names.map(read)));
}

const kinds = {
  url: async () => new URL('/model/', location.href).href,
  place: async () => '/model/',
  near: async () => './model/',
  bytes,
  blobs: async () => Object.fromEntries([...(await bytes())].map(([name, buffer]) => [name, new Blob([buffer])])),
  files: async () => document.querySelector('#directory').files,
};

globalThis.embed = async (kind, texts) => {
  const events = [];
  const embed = await wattn.pipeline('feature-extraction', await kinds[kind](), { progress_callback: (info) => events.push(info) });
  const out = await embed(texts);
  const answer = { data: Array.from(out.data), dims: out.dims, wasm: embed.info().wasm, events };
  await embed.dispose();
  return answer;
};

globalThis.inMode = async (options, texts) => {
  const embed = await wattn.pipeline('feature-extraction', '/model/', options);
  const { data } = await embed(texts);
  const answer = { info: embed.info(), data: Array.from(data) };
  await embed.dispose();
  return answer;
};

globalThis.inWorker = (texts) =>
  new Promise((resolve, reject) => {
    const worker = new Worker('./worker.js', { type: 'module' });
    worker.onmessage = ({ data }) => resolve(data);
    worker.onerror = (event) => reject(new Error(event.message));
    worker.postMessage({ model: new URL('/model/', location.href).href, texts });
  });

globalThis.failing = async (model, { wasmUrl, ...options } = {}) => {
  wattn.env.wasm = wasmUrl === undefined ? {} : { url: wasmUrl };
  try {
    await wattn.pipeline('feature-extraction', model, options);
    return undefined;
  } catch (error) {
    return { name: error.name, code: error.code, message: error.message, isWattnError: error instanceof wattn.WattnError };
  } finally {
    wattn.env.wasm = {};
  }
};

globalThis.aborted = async () => {
  const controller = new AbortController();
  const work = wattn.pipeline('feature-extraction', '/slow/', { signal: controller.signal });
  setTimeout(() => controller.abort(new Error('enough')), 100);
  return work.then(
    () => undefined,
    (error) => [error.name, error.cause.message],
  );
};

globalThis.ready = true;
