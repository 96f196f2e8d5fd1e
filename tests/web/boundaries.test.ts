// Failures outside wattn (an address, a request, a worker, a lock, a store) become wattn errors that state the cause, from every entry.
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { env } from 'wattn';
import { root, tiny, tinyFiles } from './support.js';

/** The entries, with what loads a model or a tokenizer: all that has a boundary goes by one of them. */
const kEntries: Record<string, string> = {
  wattn: 'node.js',
  'wattn/inline': 'inline_node.js',
  'wattn/inline-train': 'inline_train_node.js',
  'wattn/tokenizer': 'tokenizer_entry_node.js',
  'wattn, CommonJS': 'node.cjs',
  'wattn/train': 'train_entry_node.js',
  'wattn in a page': 'index.js',
  'wattn/inline in a page': 'inline.js',
  'wattn/inline-train in a page': 'inline_train.js',
  'wattn/tokenizer in a page': 'tokenizer_entry.js',
  'wattn/train in a page': 'train_entry.js',
};

const entryOf = async (file: string) =>
  file.endsWith('.cjs') ? createRequire(import.meta.url)(join(root, 'dist', file)) : import(join(root, 'dist', file));

type Load = (model: unknown, options?: object) => Promise<unknown>;

async function loadOf(file: string): Promise<Load> {
  const { pipeline, Trainer, AutoTokenizer } = await entryOf(file);
  if (pipeline) return (model, options) => pipeline('feature-extraction', model, options);
  if (Trainer) return (model, options) => Trainer.from_pretrained(model, { task: 'text-classification', ...options });
  return (model, options) => AutoTokenizer.from_pretrained(model, options);
}

const kGone = 'the wire is cut';
/** With the code of a fault that is not tried again. */
const gone = () => new TypeError(kGone, { cause: { code: 'ECONNREFUSED', message: kGone } });
const rejects = () => Promise.reject(gone());
const throws = () => {
  throw gone();
};
const brokenBody = () =>
  new Response(new ReadableStream({ pull: (controller) => controller.error(gone()) }), { headers: { 'content-length': '1000' } });

/** What a model and what a tokenizer reads first. */
const bothFiles = (blob: object) => ({ 'config.json': blob, 'tokenizer.json': blob });

/** Each sets a fault, and gives the model to load. says: what the error must say. */
const kFaults: Record<string, { model?: unknown; options?: object; says?: RegExp; set?: () => void }> = {
  'an address that is none': { model: 'http://[' },
  'an address of a file that is none': { model: 'file://host/%' },
  'a folder that is not there': { model: './there/is/none/' },
  'a host of the hub that is none': { set: () => (env.remoteHost = 'nonsense') },
  'a path of the hub that is none': { set: () => (env.remotePathTemplate = 'http://[{model}') },
  'a URL of WebAssembly that is none': { model: tiny, set: () => (env.wasm = { url: 'http://[' }) },
  'WebAssembly that is none': { model: tiny, set: () => (env.wasm = { binary: new Uint8Array(9) }) },
  'requests that fail': { set: () => (env.fetch = rejects), says: /the wire is cut/ },
  'a fetch that throws': { set: () => (env.fetch = throws), says: /the wire is cut/ },
  'a fetch that gives nothing': { set: () => (env.fetch = async () => undefined) },
  'a fetch that gives something else': { set: () => (env.fetch = async () => ({ ok: true })) },
  'a fetch that is none': { set: () => (env.fetch = 5 as never) },
  'a body that breaks off': { set: () => (env.fetch = async () => brokenBody()), says: /the wire is cut/ },
  'a cache that cannot be read': { set: () => Object.assign(env, { useCustomCache: true, customCache: { match: rejects, put: rejects } }), says: /the wire is cut/ },
  'a cache that is none': { set: () => Object.assign(env, { useCustomCache: true, customCache: {} }) },
  'a token that is none': { options: { token: 5 } },
  'a Blob that cannot be read': {
    model: bothFiles({ size: 10, stream: throws, arrayBuffer: rejects }),
    says: /the wire is cut/,
  },
  'a Blob whose stream breaks off': {
    model: bothFiles({ size: 10, stream: () => brokenBody().body, arrayBuffer: rejects }),
    says: /the wire is cut/,
  },
  'a model that is none': { model: 5 },
}; // prettier-ignore

const kIsPage = / in a page/;
const own = ['InputError', 'ModelFormatError', 'NetworkError', 'OutOfMemoryError', 'StateError', 'UnsupportedError'];

/** The waits before a request is tried again, which are left out here. A page's entry and Node's take this timer from the global object. */
const kRetryMs = [100, 500, 2500];
const { setTimeout: later } = globalThis;
beforeAll(() => {
  const sooner = (then: () => void, ms?: number, ...rest: []) => later(then, kRetryMs.includes(ms ?? 0) ? 0 : ms, ...rest);
  globalThis.setTimeout = sooner as typeof setTimeout;
});
afterAll(() => void (globalThis.setTimeout = later));

describe.each(Object.entries(kEntries))('%s', (name, file) => {
  const before = { ...env };
  let load: Load;
  beforeAll(async () => void (load = await loadOf(file)));
  afterEach(() => void Object.assign(env, before, { wasm: {} }));

  async function expectTyped(what: string, work: () => Promise<unknown>, says = /./) {
    const error: any = await work().then(
      () => undefined,
      (error) => error,
    );
    if (error === undefined) return `${what}: nothing failed`;
    const isOwn = own.includes(error.name) && typeof error.code === 'string';
    if (!isOwn) return `${what}: raw ${error.stack}`;
    return says.test(error.message) ? undefined : `${what}: ${error.name}: ${error.message} does not say ${says}`;
  }

  it('gives typed errors for each fault', async () => {
    const wrong: (string | undefined)[] = [];
    for (const [what, { model = 'a/model', options = {}, says, set }] of Object.entries(kFaults)) {
      if (/WebAssembly/.test(what) && /page|train/.test(name)) continue; // tiny is a folder; a Trainer has WebAssembly of its own
      env.allowRemoteModels = true;
      env.useCache = false;
      env.fetch = rejects;
      set?.();
      wrong.push(await expectTyped(what, () => Promise.resolve().then(() => load(model, { timeout: 2000, ...options })), says));
      Object.assign(env, before, { wasm: {} });
    }
    expect(wrong.filter(Boolean)).toEqual([]);
  });

  if (!kIsPage.test(name) || /tokenizer/.test(name)) return;

  it('gives typed errors when workers, locks and stores fail', async () => {
    const model = Object.fromEntries(tinyFiles());
    const kGlobals: Record<string, [fields: Record<string, unknown>, model: unknown, options?: object]> = {
      'no workers': [{ Worker: undefined }, model, { worker: true }],
      'a Worker that throws': [{ Worker: class { constructor() { throw gone(); } } }, model, { worker: true }],
      'a Worker that fails': [{ Worker: class { terminate() {} postMessage() {} addEventListener(type: string, tell: (event: object) => void) { if (type === 'error') setTimeout(() => tell({ preventDefault() {} })); } } }, model, { worker: true }],
      'a Worker that ends silently': [{ Worker: class { terminate() {} postMessage() { throw gone(); } addEventListener() {} } }, model, { worker: true }],
      'caches that fail': [{ caches: { open: rejects, delete: rejects } }, 'a/model'],
      'locks that fail': [{ caches: { open: async () => ({ match: async () => undefined, put: rejects, keys: async () => [], delete: rejects }) }, navigator: { locks: { request: rejects } } }, 'a/model'],
    }; // prettier-ignore
    const wrong: (string | undefined)[] = [];
    for (const [what, [fields, given, options]] of Object.entries(kGlobals)) {
      const old = Object.fromEntries(Object.keys(fields).map((key) => [key, Object.getOwnPropertyDescriptor(globalThis, key)]));
      for (const [key, value] of Object.entries(fields))
        Object.defineProperty(globalThis, key, { value, configurable: true, writable: true });
      env.fetch = /Worker|workers/.test(what) ? undefined : rejects;
      env.useCache = true;
      try {
        wrong.push(await expectTyped(what, () => Promise.resolve().then(() => load(given, options))));
      } finally {
        for (const [key, descriptor] of Object.entries(old))
          if (descriptor) Object.defineProperty(globalThis, key, descriptor);
          else Reflect.deleteProperty(globalThis, key);
      }
    }
    expect(wrong.filter(Boolean)).toEqual([]);
  });
});
