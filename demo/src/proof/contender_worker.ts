// One contender, alone in a fresh worker: wattn with one data type of weights, or transformers.js. Both are loaded, asked and measured by the
// same code. Libraries are imported after the worker has begun to watch WebAssembly, so that their memory is seen.
import type { ModelSpecifier } from 'wattn';

export interface Contender {
  library: 'wattn' | 'transformers.js';
  /** In the library's own words. */
  dtype: string;
  model: ModelSpecifier | null;
  threads: number;
  /** The folder with transformers.js and the files of onnxruntime-web. */
  rival?: string | undefined;
}

export interface Facts {
  /** What is known of the library: its version, its kernels. */
  version: string;
  kernels?: string;
  threads?: number;
  threads_reason?: string | undefined;
  build?: string;
}

export interface Sizes {
  /** All WebAssembly memories of this worker, as large as they ever were. */
  memory: number;
  /** Scripts and WebAssembly, as the server sent them. */
  code: number;
  /** The model's files. */
  files: number;
}

export interface Answer {
  data: Float32Array;
  ms: number;
  /** How the library was asked. */
  way?: string | undefined;
}

type Embed = (texts: string[]) => Promise<Float32Array>;

/** WebAssembly memories only grow, so their sizes at the end are the most they had. */
function watchMemories(): Set<WebAssembly.Memory> {
  const seen = new Set<WebAssembly.Memory>();
  const note = (values: object) => {
    for (const value of Object.values(values)) if (value instanceof WebAssembly.Memory) seen.add(value);
  };
  for (const name of ['instantiate', 'instantiateStreaming'] as const) {
    const original = WebAssembly[name] as (source: never, imports?: WebAssembly.Imports) => Promise<WebAssembly.Instance>;
    const watched = async (source: never, imports: WebAssembly.Imports = {}) => {
      Object.values(imports).forEach(note);
      const result = await original.call(WebAssembly, source, imports);
      note('instance' in result ? (result.instance as WebAssembly.Instance).exports : result.exports);
      return result;
    };
    Object.assign(WebAssembly, { [name]: watched });
  }
  return seen;
}

const memories = watchMemories();
const fileSizes = new Map<string, number>();
let embed: Embed;
let batches: Embed | undefined; // another way to ask transformers.js
let way: string | undefined;

async function loadWattn({ dtype, model, threads }: Contender): Promise<Facts> {
  const { pipeline } = await import('wattn');
  const run = await pipeline('feature-extraction', model, {
    dtype: dtype as 'f32',
    threads,
    progress_callback: (event) => void (event.status === 'progress' && fileSizes.set('model', event.total)),
  });
  const { pooled, wasm, kernels, threads: used, threads_reason, build_id } = run.info();
  const options = pooled ? {} : { pooling: 'mean' as const, normalize: true };
  embed = async (texts) => (await run(texts, options)).data;
  const kind = wasm === 'relaxed' ? 'relaxed SIMD' : 'SIMD';
  const facts = { version: __WATTN_VERSION__, kernels: `${kind} (kernels: ${kernels})`, threads: used, build: build_id };
  return { ...facts, threads_reason };
}

/** What is used here of transformers.js. */
interface Rival {
  pipeline(
    task: string,
    model: string,
    options: object,
  ): Promise<(texts: string[], options: object) => Promise<{ data: Float32Array; dims: number[] }>>;
  env: Record<string, unknown> & { version: string; backends: { onnx: { wasm: Record<string, unknown> } } };
}

/** Files of a folder for transformers.js, which asks a cache for them by path. */
function folderCache(files: ReadonlyMap<string, Blob>) {
  const inFolder = (name: string) => name.replace(/^\/?[^/]*/, ''); // '/MiniLM/onnx/model.onnx': '/onnx/model.onnx'
  const match = (request: string | Request) => {
    const path = decodeURIComponent(typeof request === 'string' ? request : request.url);
    const file = [...files].find(([name]) => path.endsWith(inFolder(name)))?.[1];
    return Promise.resolve(file && new Response(file, { headers: { 'content-length': String(file.size) } }));
  };
  return { match, put: () => Promise.resolve() };
}

/** Tells transformers.js where the model is, and answers what to call it. */
function nameForRival(model: ModelSpecifier | null, env: Rival['env']): string {
  if (model instanceof Map) {
    const customCache = folderCache(model as ReadonlyMap<string, Blob>);
    Object.assign(env, { allowRemoteModels: false, useBrowserCache: false, useCustomCache: true, customCache });
    return 'folder';
  }
  if (typeof model !== 'string') throw new Error('The bundled model has no ONNX file, which is what transformers.js reads.');
  if (!/^https?:/.test(model)) return model;
  const folder = new URL(model.endsWith('/') ? model : `${model}/`);
  // As if the folder were a hub's: a local path may not be a URL in transformers.js.
  const remoteHost = new URL('..', folder).href;
  Object.assign(env, { allowLocalModels: false, useBrowserCache: false, remoteHost, remotePathTemplate: '{model}/' });
  return folder.pathname.split('/').at(-2) as string;
}

async function loadRival({ dtype, model, threads, rival }: Contender): Promise<Facts> {
  const { pipeline, env } = (await import(/* @vite-ignore */ `${rival}transformers.min.js`)) as Rival;
  Object.assign(env.backends.onnx.wasm, { wasmPaths: rival, numThreads: threads });
  const run = await pipeline('feature-extraction', nameForRival(model, env), {
    dtype,
    device: 'wasm',
    progress_callback: ({ status, file, total }: { status: string; file: string; total: number }) =>
      void (status === 'progress' && fileSizes.set(file, total)),
  });
  // It pads the texts of one call to the longest. Two ways avoid most of that: one by one, and batches of similar lengths.
  const inBatches = (size: number) => async (texts: string[]) => {
    const order = texts.map((_, i) => i).sort((a, b) => (texts[a] as string).length - (texts[b] as string).length);
    let out = new Float32Array();
    for (let at = 0; at < order.length; at += size) {
      const rows = order.slice(at, at + size);
      const { data, dims } = await run(rows.map((row) => texts[row] as string), { pooling: 'mean', normalize: true }); // prettier-ignore
      const dim = dims[1] as number;
      if (at === 0) out = new Float32Array(texts.length * dim);
      rows.forEach((row, i) => out.set(data.subarray(i * dim, (i + 1) * dim), row * dim));
    }
    return out;
  };
  [embed, way] = [inBatches(1), 'one by one'];
  batches = inBatches(16);
  return { version: env.version, threads };
}

const kScripts = /\.(m?js|wasm)(\?|$)/;

const calls = {
  load: (contender: Contender) => (contender.library === 'wattn' ? loadWattn(contender) : loadRival(contender)),

  async embed(texts: string[]): Promise<Answer> {
    const start = performance.now();
    const data = await embed(texts);
    return { data, ms: performance.now() - start, way };
  },

  /** Runs sample texts, until the engine has optimised its code; of two ways to ask, keeps the faster. */
  async warmUp(texts: string[]): Promise<void> {
    const timed = async (run: Embed) => {
      const start = performance.now();
      await run(texts);
      return performance.now() - start;
    };
    await embed(texts);
    if (!batches) return;
    await batches(texts);
    if ((await timed(batches)) < (await timed(embed))) [embed, way] = [batches, 'in batches of 16, sorted by length'];
  },

  sizes(): Promise<Sizes> {
    const code = (performance.getEntriesByType('resource') as PerformanceResourceTiming[])
      .filter(({ name }) => kScripts.test(name))
      .reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0);
    const sum = (numbers: Iterable<number>) => [...numbers].reduce((a, b) => a + b, 0);
    return Promise.resolve({
      memory: sum([...memories].map(({ buffer }) => buffer.byteLength)),
      code,
      files: sum(fileSizes.values()),
    });
  },
};

export type Calls = typeof calls;

addEventListener('message', async ({ data: [name, argument] }: MessageEvent<[keyof Calls, never]>) => {
  try {
    postMessage({ result: await calls[name](argument) });
  } catch (error) {
    postMessage({ error: `${(error as Error).message}` });
  }
});
