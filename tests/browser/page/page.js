// The functions that page.test.ts calls inside the page. All results are plain data.
import './faults.js'; // before wattn, which may keep functions
import * as wattn from '/dist/index.js';

const names = [
  'config.json', 'tokenizer.json', 'tokenizer_config.json', 'modules.json', '1_Pooling/config.json', 'sentence_bert_config.json',
  'config_sentence_transformers.json', 'model.safetensors',
]; // prettier-ignore

async function bytes() {
  const read = async (name) => [name, await (await fetch(`/model/${name}`)).arrayBuffer()];
  return new Map(await Promise.all(names.map(read)));
}

/** A File as the picker of a directory makes it. */
function fileIn(directory, path, buffer) {
  const file = new File([buffer], path.split('/').at(-1));
  return Object.defineProperty(file, 'webkitRelativePath', { value: `${directory}/${path}` });
}

const kinds = {
  url: async () => new URL('/model/', location.href).href,
  place: async () => '/model/',
  near: async () => './model/',
  bytes,
  blobs: async () => Object.fromEntries([...(await bytes())].map(([name, buffer]) => [name, new Blob([buffer])])),
  picked: async () => document.querySelector('#directory').files,
  files: async () => [...(await bytes())].map(([name, buffer]) => fileIn('model', name, buffer)),
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
  wattn.env.fetch = async (...args) => {
    const response = await fetch(...args);
    controller.abort(new Error('enough')); // the first answer has begun, and never ends
    return response;
  };
  try {
    await wattn.pipeline('feature-extraction', '/slow/', { signal: controller.signal });
    return undefined;
  } catch (error) {
    return [error.name, error.cause.message];
  } finally {
    wattn.env.fetch = undefined;
  }
};

const kTexts = ['the river', 'a boat'];

/** Vectors of a hub's model, as a first and as a second visit get them. The hub is this server. */
globalThis.fromHub = async (options) => {
  wattn.env.remoteHost = location.origin;
  const embed = await wattn.pipeline('feature-extraction', 'org/tiny', options);
  const { data } = await embed(kTexts);
  await embed.dispose();
  return Array.from(data);
};

globalThis.fromHubFailing = (options) =>
  globalThis.fromHub(options).then(
    () => undefined,
    ({ name, message }) => `${name}: ${message}`,
  );

/** What React's strict mode does: an effect begins, is given up, and begins again. */
globalThis.begunTwice = async (options) => {
  const first = new AbortController();
  const progress_callback = ({ status }) => status === 'progress' && first.abort(); // in the middle of it
  const given = globalThis.fromHubFailing({ ...options, signal: first.signal, progress_callback });
  const again = globalThis.fromHub(options);
  return { given: await given, data: await again };
};

/** A model let go of while it runs, and a call after that. */
globalThis.disposedWhileRunning = async (options) => {
  const embed = await wattn.pipeline('feature-extraction', '/model/', options);
  const running = embed(Array.from({ length: 20000 }, (_, i) => `the river of boat ${i}`)).then(
    () => 'it ran to its end',
    ({ name, message }) => `${name}: ${message}`,
  );
  await embed('a short one, which does not wait for the others');
  await embed.dispose();
  const after = await embed('the river').catch(({ name, message }) => `${name}: ${message}`);
  return { running: await running, after };
};

globalThis.listed = async () => (await wattn.cache.list()).map(({ file, complete }) => ({ file, complete }));
globalThis.listedFailing = () =>
  globalThis.listed().then(
    () => undefined,
    ({ name, message }) => `${name}: ${message}`,
  );
globalThis.emptied = () => wattn.cache.delete();

/** Changes or removes a piece of the weights behind the library's back. */
globalThis.damaged = async (how) => {
  const store = await caches.open('wattn');
  const [piece] = (await store.keys()).filter(({ url }) => /safetensors\?wattn=1$/.test(url));
  if (how === 'removed') return store.delete(piece);
  const bytes = new Uint8Array(await (await store.match(piece)).arrayBuffer());
  bytes[100] ^= 1;
  return store.put(piece, new Response(how === 'cut' ? bytes.subarray(0, 1000) : bytes));
};

globalThis.withoutSharedArrayBuffer = () => {
  delete globalThis.SharedArrayBuffer;
};

/** Counts in refusedLocks how often this page asks for a lock that another has. */
globalThis.countRefusedLocks = () => {
  globalThis.refusedLocks = 0;
  const request = navigator.locks.request.bind(navigator.locks);
  navigator.locks.request = (name, options, hold) =>
    request(name, options, (lock) => {
      if (!lock) globalThis.refusedLocks += 1;
      return hold(lock);
    });
};

/** From now on the browser's store refuses, as a full one does. */
globalThis.full = () => {
  Cache.prototype.put = () => Promise.reject(new DOMException('full', 'QuotaExceededError'));
};

const answerOf = (port, message) =>
  new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = ({ data }) => resolve(data);
    port.postMessage(message, [port2]);
  });

globalThis.inSharedWorker = (texts) => {
  const { port } = new SharedWorker('./shared_worker.js', { type: 'module' });
  return answerOf(port, { model: new URL('/model/', location.href).href, texts });
};

/** The page kept for a visit without a network by its own service worker, which holds a model as well. */
globalThis.inServiceWorker = async (texts) => {
  await navigator.serviceWorker.register('./service_worker.js', { type: 'module' });
  const { active } = await navigator.serviceWorker.ready;
  return answerOf(active, { model: new URL('/model/', location.href).href, texts });
};

// Embeds, then generates: the WebAssembly files that were fetched for both.
globalThis.embedAndGenerate = async () => {
  const embed = await wattn.pipeline('feature-extraction', '/model/');
  await embed('one text');
  const generate = await wattn.pipeline('text-generation', '/decoder/');
  const [{ tokens }] = await generate('abc', { max_new_tokens: 3, eos_token_id: [] });
  await Promise.all([embed.dispose(), generate.dispose()]);
  return { tokens: tokens.length, wasm: loadedWasm() };
};

/** The ids of texts, by the tokenizer of the model alone. */
globalThis.encodeBatch = async (texts, options) => {
  const tokenizer = await wattn.AutoTokenizer.from_pretrained('/model/');
  const rows = await tokenizer.encode_batch(texts, options);
  await tokenizer.dispose();
  return rows.map((ids) => [...ids]);
};

/** What a decoder writes under a constraint, in the page or in a worker, and the WebAssembly files that the page fetched. */
globalThis.constrained = async (options, worker) => {
  const generate = await wattn.pipeline('text-generation', '/decoder/', { worker });
  const [{ generated_text }] = await generate('abc', options);
  await generate.dispose();
  return { text: generated_text, wasm: loadedWasm() };
};

/** A vector of a model in one file, and what was requested for it: the place of each request, its status, and how WebAssembly was compiled. */
globalThis.firstVector = async (model, options) => {
  const ways = ['compile', 'compileStreaming', 'instantiate', 'instantiateStreaming'];
  const compiled = [];
  const own = Object.fromEntries(ways.map((way) => [way, WebAssembly[way]]));
  for (const way of ways) {
    WebAssembly[way] = (...args) => {
      if (!(args[0] instanceof WebAssembly.Module)) compiled.push(way);
      return own[way].apply(WebAssembly, args);
    };
  }
  const embed = await wattn.pipeline('feature-extraction', model, options);
  const { data } = await embed('one text');
  await embed.dispose();
  Object.assign(WebAssembly, own);
  const requests = performance
    .getEntriesByType('resource')
    .map(({ name, responseStatus }) => [new URL(name).pathname, responseStatus ?? 0]);
  return { data: Array.from(data), compiled, requests: requests.filter(([place]) => !place.endsWith('.js')) };
};

globalThis.embedRare = async (options) => {
  const embed = await wattn.pipeline('feature-extraction', '/goldens/embedders/embeddinggemma/model/', options);
  const { dims } = await embed('one text');
  await embed.dispose();
  return { dims, wasm: loadedWasm() };
};

/** In the order in which they were requested. */
function loadedWasm() {
  const names = performance.getEntriesByType('resource').map(({ name }) => new URL(name).pathname);
  return [...new Set(names.filter((name) => name.endsWith('.wasm')))];
}

/** Calls functions of this page, one after another, in a frame of it with that sandbox. calls: [name, ...arguments] each. */
globalThis.inFrame = async (sandbox, calls) => {
  const frame = document.createElement('iframe');
  frame.setAttribute('sandbox', sandbox);
  const ready = new Promise((resolve) => addEventListener('message', resolve, { once: true }));
  frame.src = location.href;
  document.body.append(frame);
  await ready;
  const port = { postMessage: (message, ports) => frame.contentWindow.postMessage(message, '*', ports) };
  const answers = [];
  for (const call of calls) answers.push(await answerOf(port, call));
  frame.remove();
  return answers;
};

globalThis.hasTrustedTypes = () => 'trustedTypes' in globalThis;

globalThis.answers = async () => {
  const { answersOf } = await import('/engines/answers.mjs');
  const { Trainer } = await import('/dist/train_entry.js');
  const read = async (path) => new Uint8Array(await (await fetch(`/goldens/${path}`)).arrayBuffer());
  return answersOf({ ...wattn, Trainer }, read, { worker: true });
};

globalThis.ready = true;
if (parent !== globalThis) {
  addEventListener('message', async ({ data: [name, ...args], ports: [port] }) =>
    port.postMessage(await globalThis[name](...args).catch(String)),
  );
  parent.postMessage('ready', '*');
}

/** A vector that says which letters a text has. */
const letters = async (texts) =>
  texts.map((text) =>
    Array.from({ length: 26 }, (_, i) => text.toLowerCase().split(String.fromCharCode(97 + i)).length - 1 + 0.01),
  );

const indexes = new Map();

/** Calls a method of the index of this name, which stays open between calls. */
globalThis.index = async (name, options, method, ...args) => {
  try {
    if (!indexes.has(name)) indexes.set(name, wattn.Index.open(name, { embed: letters, ...options }));
    const opening = indexes.get(name);
    opening.catch(() => indexes.delete(name));
    const index = await opening;
    const answer = method === 'size' ? index.size : await index[method](...args);
    if (method === 'dispose') indexes.delete(name);
    return answer;
  } catch (error) {
    return `${error.name}: ${error.message}`;
  }
};

/** What `Index.check`, `repair`, `list` and `delete` say. */
globalThis.ofIndex = async (method, ...args) => {
  try {
    return await wattn.Index[method](...args);
  } catch (error) {
    return `${error.name}: ${error.message}`;
  }
};

/** The files of an index as its store has them, and how to put others there. */
const raw = {
  async opfs(name) {
    const all = await (await navigator.storage.getDirectory()).getDirectoryHandle('wattn');
    const folder = await all.getDirectoryHandle(encodeURIComponent(name));
    const files = {};
    for await (const [file, handle] of folder) files[file] = new Uint8Array(await (await handle.getFile()).arrayBuffer());
    const put = async (file, bytes) => {
      if (!bytes) return folder.removeEntry(file);
      const writable = await (await folder.getFileHandle(file, { create: true })).createWritable();
      await writable.write(bytes);
      await writable.close();
    };
    return { files, put };
  },
  async indexeddb(name) {
    const heard = (request) =>
      new Promise((resolve, reject) => {
        request.onsuccess = () => resolve(request.result);
        request.onerror = () => reject(request.error);
      });
    const database = await heard(indexedDB.open('wattn-index', 1));
    const store = () => database.transaction('segments', 'readwrite').objectStore('segments');
    const range = IDBKeyRange.bound([name], [name, []]);
    const files = {};
    for (const key of await heard(store().getAllKeys(range))) files[key[1]] = await heard(store().get(key));
    const put = (file, bytes) => heard(bytes ? store().put(bytes, [name, file]) : store().delete([name, file]));
    return { files, put };
  },
};

/** Changes, cuts and removes each file of an index. Gives what was silent about documents that are missing, and how often an error told. */
globalThis.damagedIndex = async (name, store, every) => {
  const { files, put } = await raw[store](name);
  const open = async () => {
    const index = await wattn.Index.open(name, { store });
    const ids = index.ids().sort().join();
    await index.dispose();
    return ids;
  };
  const all = await open();
  const result = { silent: [], untyped: [], refused: 0, whole: 0 };
  const judge = async (what) => {
    try {
      if ((await open()) === all) ++result.whole;
      else result.silent.push(what);
    } catch (error) {
      if (error instanceof wattn.ModelFormatError || error instanceof wattn.UnsupportedError) ++result.refused;
      else result.untyped.push(`${what}: ${error}`);
    }
  };
  for (const [file, bytes] of Object.entries(files)) {
    for (let i = 0; i < bytes.length; i += every) {
      const changed = bytes.slice();
      changed[i] ^= 1 << (i % 8);
      await put(file, changed);
      await judge(`byte ${i} of ${file}`);
    }
    for (let length = 0; length < bytes.length; length += 4 * every) {
      await put(file, bytes.slice(0, length));
      await judge(`${length} bytes of ${file}`);
    }
    await put(file);
    await judge(`no ${file}`);
    await put(file, bytes);
  }
  return result;
};

/** As in a page that is not served securely. */
globalThis.forbidLocks = () => Object.defineProperty(navigator, 'locks', { value: undefined });

/** From now on the page may not use these stores, as in some private modes. */
globalThis.forbidStores = (kinds) => {
  const refuse = () => {
    throw new DOMException('The operation is insecure.', 'SecurityError');
  };
  if (kinds.includes('opfs') && navigator.storage) navigator.storage.getDirectory = async () => refuse(); // WebKit's driver has none
  if (kinds.includes('indexeddb')) IDBFactory.prototype.open = refuse;
};

/** Adds documents without an end; globalThis.written counts those that are stored. */
globalThis.written = 0;
globalThis.indexOnAndOn = async (name, options) => {
  const index = await wattn.Index.open(name, { embed: letters, ...options });
  for (let i = 0; ; ++i) {
    await index.add({ id: String(i), text: `text ${i}` });
    globalThis.written = i + 1;
  }
};

/** Adds many documents to an index whose model runs in a worker. Returns the hits of searches meanwhile. */
globalThis.indexInWorker = async (count) => {
  const embed = await wattn.pipeline('feature-extraction', '/model/', { worker: true });
  const index = await wattn.Index.open('worker', { embed, store: 'memory', chunk: { max_tokens: 32 } });
  const texts = Array.from({ length: count }, (_, i) => ({ id: String(i), text: `the old bridge ${i}. `.repeat(1 + (i % 20)) }));
  const meanwhile = [];
  for await (const { done } of index.add(texts)) {
    const [hit] = await index.search(`bridge ${done - 1}`, { mode: 'words' });
    meanwhile.push(hit.id === String(done - 1));
  }
  const { documents, chunks, dim } = index.info();
  const hits = await index.search('bridge 7', { top_k: 3 });
  await index.dispose();
  await embed.dispose();
  return { documents, chunks, dim, meanwhile, ids: hits.map(({ id }) => id) };
};

/** The package from another origin, as from a content network. */
globalThis.fromElsewhere = async (host, options, text) => {
  const { pipeline } = await import(`${host}dist/index.js`);
  const embed = await pipeline('feature-extraction', `${host}model/`, options);
  await embed.ready;
  const out = await embed(text);
  const { threads, threads_reason, workers } = embed.info();
  await embed.dispose();
  return { data: Array.from(out.data), threads, threads_reason, workers };
};
