// Chooses the .wasm file, compiles it once, and makes an instance for each model.
import { env } from '../core/env.js';
import { InputError, NetworkError, OutOfMemoryError, StateError, UnsupportedError, describe } from '../core/errors.js';
import { platform } from '../source/platform.js';
import { isHtml, request, Tries } from '../source/request.js';
import type { WireSeam } from './plain_module.js';
import type { Env, WasmKind } from '../core/types.js';

/** Set by tools/bundle.mjs: the build id of the package's .wasm files. */
declare const __WATTN_BUILD_ID__: string;
/** Set by tools/bundle.mjs: the offset of the byte in each .wasm file that marks its memory as shared. */
declare const __WATTN_MEMORY_FLAG__: MemoryFlags;
type MemoryFlags = Record<'simd' | 'relaxed' | 'full-simd' | 'full-relaxed', number>;

// One function () -> v128: i32.const 0, i8x16.splat, i8x16.popcnt.
const kSimdProbe = [
  0, 0x61, 0x73, 0x6d, 1, 0, 0, 0, 1, 5, 1, 0x60, 0, 1, 0x7b, 3, 2, 1, 0, 10, 10, 1, 8, 0, 0x41, 0, 0xfd, 0x0f, 0xfd, 0x62, 0x0b,
];

/** What all .wasm files have. */
export interface Module {
  build_id(): string;
}

/** A file beside the script, wattn-<file>.wasm. file, flag: `kind` if absent. */
interface OwnFile {
  kind: WasmKind;
  url: () => URL;
  flag?: keyof MemoryFlags;
  file?: string;
}

/** A file inside a script: its bytes, or as a module. */
export interface EmbeddedFile {
  kind: WasmKind;
  file: string;
  bytes?: () => Promise<Uint8Array>;
  module?: unknown;
}

/** .wasm files of one kind and what starts them: wasm_files.ts, wasm_files_tokenizer.ts, nn_host.ts. */
export interface WasmFiles<Seam extends Module = WireSeam> {
  createModule: (settings: object) => Promise<Seam>;
  /** The best .wasm file for this engine. */
  choose(): OwnFile | EmbeddedFile;
  /** False: they are in no script that was loaded. Default: they are where `choose` says. */
  isThere?(): boolean;
  /** The caller's replacement. Undefined: `env.wasm` for the entry's own files, none for others. */
  given?: Env['wasm'];
}

let files: WasmFiles<WireSeam>;
let full: WasmFiles<WireSeam> | undefined;

/** Sets and returns the entry's .wasm files (own_files.ts). withAll: those that know more models. */
export function useWasm(own: WasmFiles<WireSeam>, withAll?: WasmFiles<WireSeam>): WasmFiles<WireSeam> {
  files = own;
  full = withAll;
  return own;
}

export interface Compiled<Seam extends Module = WireSeam> {
  files: WasmFiles<Seam>;
  module: WebAssembly.Module;
  kind: WasmKind;
  /** Where it came from, for messages. */
  from: string;
  /** Whether its memory is shared with helper threads. */
  shared: boolean;
}

// The memory that cmake/wattn_module.cmake asks for, in pages of 64 KiB.
const kInitialPages = 64;
/** One page less than there are addresses: C++ counts the bytes of a memory in 32 bits. */
const kMostPages = 65535;
// Flags of a memory's limits: with a maximum; with a maximum and shared.
const kUnshared = 1;
const kShared = 3;

const messageOf = (error: unknown) => String((error as { message?: unknown })?.message ?? error);

function checkMagic(bytes: Uint8Array, from: string, came: string): void {
  if (bytes[0] === 0 && bytes[1] === 0x61 && bytes[2] === 0x73 && bytes[3] === 0x6d) return;
  const begin = new TextDecoder('latin1').decode(bytes.subarray(0, 16)).replace(/[^ -~]/g, '?');
  throw new NetworkError(
    `wasm: expected a WebAssembly file from ${from}, found ${came}${bytes.length} bytes beginning '${begin}'`,
    from,
  );
}

function compileError(from: string, cause: unknown): UnsupportedError {
  const hint = /unsafe-eval|Content Security|CSP/i.test(messageOf(cause))
    ? " (the page's Content-Security-Policy needs script-src 'wasm-unsafe-eval')"
    : '';
  return new UnsupportedError(`wasm: this engine could not compile ${from}: ${messageOf(cause)}${hint}`, { cause });
}

/** flagAt: the offset of the byte to change for shared memory; undefined: compile as it is. */
async function compileBytes(bytes: Uint8Array, from: string, came = '', flagAt?: number): Promise<WebAssembly.Module> {
  checkMagic(bytes, from, came);
  if (flagAt !== undefined && bytes[flagAt] === kUnshared) bytes[flagAt] = kShared; // otherwise of another build, which is detected later
  try {
    return await WebAssembly.compile(bytes as Uint8Array<ArrayBuffer>);
  } catch (cause) {
    throw compileError(from, cause);
  }
}

async function compileUrl(url: URL, flagAt?: number): Promise<WebAssembly.Module> {
  const compile = (bytes: Uint8Array, came?: string) => compileBytes(bytes, url.href, came, flagAt);
  const { readFileUrl } = platform;
  if (readFileUrl && url.protocol === 'file:') return compile(await readFileUrl(url));
  const response = await request('wasm', url.href, {}, new Tries());
  const type = response.headers.get('content-type') ?? 'no content-type';
  if (!response.ok || isHtml(response)) {
    const found = response.ok ? `HTML (${type})` : `status ${response.status}`;
    throw new NetworkError(
      `wasm: expected a WebAssembly file from ${url.href}, found ${found}; put wattn's .wasm files there or set env.wasm.url`,
      url.href,
      response.status,
    );
  }
  if (flagAt === undefined && /^application\/wasm\b/i.test(type) && typeof WebAssembly.compileStreaming === 'function') {
    try {
      return await WebAssembly.compileStreaming(response);
    } catch (cause) {
      throw compileError(url.href, cause);
    }
  }
  const body = await response.arrayBuffer().catch((cause: unknown) => {
    throw new NetworkError(`wasm: ${url.href} broke off: ${messageOf(cause)}`, url.href, response.status, {
      cause,
    });
  });
  return compile(new Uint8Array(body), `${type}, `);
}

/** What to compile. Equal choices have equal keys. A file given by the caller is used unchanged, without shared memory. */
function chooseFile(
  of: WasmFiles<Module>,
  shared: boolean,
): {
  key: unknown;
  kind: WasmKind;
  from: string;
  shared?: boolean;
  compile: () => Promise<WebAssembly.Module>;
} {
  const { module, binary, url } = of.given ?? (of === files ? env.wasm : {});
  if (module !== undefined) {
    if (Object.prototype.toString.call(module) !== '[object WebAssembly.Module]') {
      throw new InputError(`env.wasm.module: expected a WebAssembly.Module, found ${describe(module)}`);
    }
    return { key: module, kind: 'given', from: 'env.wasm.module', compile: async () => module as WebAssembly.Module };
  }
  if (binary !== undefined) {
    const view = ArrayBuffer.isView(binary)
      ? new Uint8Array(binary.buffer, binary.byteOffset, binary.byteLength)
      : new Uint8Array(binary);
    return { key: binary, kind: 'given', from: 'env.wasm.binary', compile: () => compileBytes(view, 'env.wasm.binary') };
  }
  if (url !== undefined) {
    const given = typeof url === 'string' ? url : url.href;
    let full: URL;
    try {
      full = new URL(given, platform.base());
    } catch (cause) {
      throw new InputError(`env.wasm.url: expected a URL, found '${given}'`, { cause });
    }
    return { key: full.href, kind: 'given', from: full.href, compile: () => compileUrl(full) };
  }
  const own = of.choose();
  const { kind } = own;
  if (!('url' in own)) {
    const { file, module, bytes } = own;
    if (!bytes) return { key: module, kind, from: `wattn-${file}.wasm`, compile: async () => module as WebAssembly.Module };
    const from = `wattn-${file}.wasm inside this script`;
    const flagAt = shared ? __WATTN_MEMORY_FLAG__[file as 'simd'] : undefined;
    return { key: `inline ${shared}`, kind, from, shared, compile: async () => compileBytes(await bytes(), from, '', flagAt) };
  }
  const { flag = kind as 'simd', file = flag } = own;
  const flagAt = shared ? __WATTN_MEMORY_FLAG__[flag] : undefined;
  const at = platform.ownFile(`wattn-${file}.wasm`, own.url);
  return { key: `${at.href} ${shared}`, kind, from: at.href, shared, compile: () => compileUrl(at, flagAt) };
}

const last = new Map<WasmFiles<Module>, { key: unknown; compiled: Promise<Omit<Compiled<Module>, 'files'>> }>();

/** Whether env.wasm is set. */
export const wasmIsGiven = () => Object.values(env.wasm).some((wanted) => wanted !== undefined);

/** The .wasm files for models that the entry's own do not know; undefined if there are none. */
export const fullWasm = () => (wasmIsGiven() || full?.isThere?.() === false ? undefined : full);

/** Whether the WebAssembly is embedded in the script, so that workers receive it with their first message. */
export const wasmIsInside = () => !('url' in files.choose());

/** The compiled module. It is compiled at the first call, and again only after a failure or with other settings. */
export async function compileWasm<Seam extends Module>(withSharedMemory: boolean, of: WasmFiles<Seam>): Promise<Compiled<Seam>> {
  if (typeof WebAssembly !== 'object' || !WebAssembly.validate(new Uint8Array(kSimdProbe))) {
    throw new UnsupportedError(
      'wasm: this engine has no WebAssembly with SIMD (every browser since 2023 and Node since 16.4 have it)',
    );
  }
  const { key, kind, from, shared = false, compile } = chooseFile(of, withSharedMemory);
  if (last.get(of)?.key !== key) {
    const entry = { key, compiled: compile().then((module) => ({ module, kind, from, shared })) };
    entry.compiled.catch(() => {
      if (last.get(of) === entry) last.delete(of);
    });
    last.set(of, entry);
  }
  return { files: of, ...(await last.get(of)!.compiled) };
}

/** An instance with its memory. */
export interface Instance<Seam = WireSeam> {
  seam: Seam;
  memory: WebAssembly.Memory;
  /** What wire_calls.ts and text_calls.ts call. */
  exports: WebAssembly.Exports;
  /** refused: whether the engine refused to grow the memory during the last call. */
  growth: { refused: boolean };
}

/** Memory that records when the engine refuses to grow it. */
function makeMemory(shared: boolean, growth: Instance['growth']): WebAssembly.Memory {
  let memory: WebAssembly.Memory;
  try {
    memory = new WebAssembly.Memory({ initial: kInitialPages, maximum: kMostPages, shared });
  } catch (cause) {
    throw noMemory(cause);
  }
  const grow = memory.grow.bind(memory);
  memory.grow = (pages) => {
    try {
      return grow(pages);
    } catch (error) {
      growth.refused = true;
      throw error;
    }
  };
  return memory;
}

const noMemory = (cause: unknown) => new OutOfMemoryError(`wasm: no memory for an instance: ${messageOf(cause)}`, { cause });

function otherBuild(from: string, found: string, cause?: unknown): StateError {
  return new StateError(
    `wasm: this script is from build ${__WATTN_BUILD_ID__}, but ${from} is from ${found}: use files of one version of wattn`,
    { cause },
  );
}

function instantiateError(from: string, cause: unknown): Error {
  const name = (cause as { name?: unknown })?.name;
  if (name === 'LinkError' || name === 'TypeError') return otherBuild(from, 'another build', cause);
  if (name === 'RangeError') return noMemory(cause);
  return new StateError(`wasm: ${from} does not start: ${messageOf(cause)}`, { cause });
}

/** A new instance. Each model has its own, so that dispose() can free all its memory. */
export async function instantiateWasm<Seam extends Module>(compiled: Compiled<Seam>): Promise<Instance<Seam>> {
  const { files: of, module, from, shared } = compiled;
  const growth = { refused: false };
  const memory = makeMemory(shared, growth);
  let exports: WebAssembly.Exports = {};
  const ready = new Promise<Seam>((resolve, reject) => {
    const settings = {
      print() {},
      printErr() {},
      wasmMemory: memory,
      instantiateWasm(imports: WebAssembly.Imports, receive: (instance: WebAssembly.Instance) => void) {
        WebAssembly.instantiate(module, imports)
          .then((instance) => {
            exports = instance.exports;
            receive(instance);
          })
          .catch(reject);
        return {};
      },
    };
    of.createModule(settings).then(resolve, reject);
  });
  let seam: Seam;
  try {
    seam = await ready;
  } catch (cause) {
    throw instantiateError(from, cause);
  }
  const build = typeof seam.build_id === 'function' ? seam.build_id() : 'another build';
  if (build !== __WATTN_BUILD_ID__) throw otherBuild(from, build === 'another build' ? build : `build ${build}`);
  return { seam, memory, exports, growth };
}
