// The imports of a .wasm file and its start: what Emscripten's glue does for wattn-nn.wasm alone, which has Embind.

/** What bindings/wire.cpp and its kin export. Numbers are addresses and positions; addresses come back signed. */
export interface WireSeam {
  build_id(): string;
  make_room(bytes: number): number;
  call(handle: number, position: number): number;
  clear_answer(handle: number): void;
  release(handle: number): void;
  make_model?(): number;
  make_tokenizer(): number;
  make_training?(): number;
  model_tokenizer?(handle: number): number;
  tokenizer_of(handle: number): number;
}

interface Settings {
  wasmMemory: WebAssembly.Memory;
  instantiateWasm(imports: WebAssembly.Imports, receive: (instance: WebAssembly.Instance) => void): void;
}

const kPage = 65536;
/** Memory grows by a fifth, but by at most this beyond what is wanted. */
const kMostSpare = 96 << 20;

/** Grows a memory to the wanted bytes and some more, or to just those. Returns 1 if there is room for them, else 0. */
function grow(memory: WebAssembly.Memory, wanted: number): number {
  const held = memory.buffer.byteLength;
  for (const bytes of [Math.max(wanted, Math.min(1.2 * held, wanted + kMostSpare)), wanted]) {
    try {
      memory.grow(Math.ceil((bytes - held) / kPage));
      return 1;
    } catch {} // there may be room for less
  }
  return 0;
}

/** The exports of an instance, with its build id as a string. */
export function createPlain<Seam extends { build_id(): string }>(settings: object): Promise<Seam> {
  const { wasmMemory: memory, instantiateWasm } = settings as Settings;
  const env = {
    memory,
    emscripten_resize_heap: (wanted: number) => grow(memory, wanted >>> 0), // sizes come signed
    emscripten_notify_memory_growth() {},
    emscripten_get_now: () => performance.now(),
    _abort_js() {
      throw new WebAssembly.RuntimeError('aborted');
    },
  };
  return new Promise((resolve) => {
    instantiateWasm({ env }, ({ exports }) => {
      const { build_id, _initialize, __wasm_call_ctors, ...seam } = exports as any;
      (_initialize ?? __wasm_call_ctors)?.();
      const text = (at: number) => {
        const bytes = new Uint8Array(memory.buffer);
        return new TextDecoder().decode(bytes.slice(at, bytes.indexOf(0, at)));
      };
      resolve({ ...seam, build_id: build_id && (() => text(build_id() >>> 0)) });
    });
  });
}
