// The WebAssembly of constraints (bindings/constraints.cpp): plain exports, and instances of a module that the caller's side compiled.
import { instantiateWasm, type Instance, type WasmFiles } from './wasm_loader.js';

/** Numbers name constraints and states; 0 is the state of no text. */
export interface ConstraintsSeam {
  build_id(): string;
  /** Where the next call reads what is written. */
  room(bytes: number): number;
  answer(): number;
  answer_bytes(): number;
  set_vocabulary(tokens: number, bytes: number): void;
  compile(kind: number, bytes: number, markBytes: number, flags: number): number;
  release(constraint: number): void;
  start(constraint: number): number;
  after(constraint: number, state: number, token: number): number;
  after_bytes(constraint: number, state: number, bytes: number): number;
  may_end(constraint: number, state: number): number;
  mask(constraint: number, state: number): number;
  forced(constraint: number, state: number, most: number): number;
  fitting(constraint: number, state: number, tokens: number): number;
}

interface Settings {
  wasmMemory: WebAssembly.Memory;
  instantiateWasm(imports: WebAssembly.Imports, receive: (instance: WebAssembly.Instance) => void): void;
}

/** What Emscripten's glue is for the other files. */
export function createConstraints(settings: object): Promise<ConstraintsSeam> {
  const { wasmMemory: memory, instantiateWasm } = settings as Settings;
  return new Promise((resolve) => {
    const env = { memory, emscripten_notify_memory_growth: () => {} };
    instantiateWasm({ env }, ({ exports }) => {
      const { build_id, _initialize, ...seam } = exports as any;
      _initialize?.();
      const text = (at: number) => {
        const bytes = new Uint8Array(memory.buffer);
        return new TextDecoder().decode(bytes.slice(at, bytes.indexOf(0, at)));
      };
      resolve({ ...seam, build_id: build_id && (() => text(build_id())) });
    });
  });
}

const files: WasmFiles<ConstraintsSeam> = {
  createModule: createConstraints,
  choose: () => ({ kind: 'simd', file: 'constraints' }),
};

/** A separate instance with memory of its own. */
export const constraintsInstance = (module: WebAssembly.Module): Promise<Instance<ConstraintsSeam>> =>
  instantiateWasm({ files, module, kind: 'simd', from: 'wattn-constraints.wasm', shared: false });
