// The WebAssembly of constraints (bindings/constraints.cpp): plain exports, and instances of a module that the caller's side compiled.
import { createPlain } from './plain_module.js';
import { instantiateWasm, type Instance, type WasmFiles } from './wasm_loader.js';

/** Numbers name constraints and states; 0 is the state of no text. */
export interface ConstraintsSeam {
  build_id(): string;
  /** Where the next call reads what is written. */
  room(bytes: number): number;
  answer(): number;
  answer_bytes(): number;
  set_vocabulary(tokens: number, bytes: number): void;
  define_property(numbers: number, nameBytes: number): void;
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

const files: WasmFiles<ConstraintsSeam> = {
  createModule: createPlain,
  choose: () => ({ kind: 'simd', file: 'constraints' }),
};

/** A separate instance with memory of its own. */
export const constraintsInstance = (module: WebAssembly.Module): Promise<Instance<ConstraintsSeam>> =>
  instantiateWasm({ files, module, kind: 'simd', from: 'wattn-constraints.wasm', shared: false });
