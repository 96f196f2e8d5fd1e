// Instances of the WebAssembly of search (bindings/search.cpp). This file is always imported when it is first needed, as nn_host.ts.
import { embedded } from './embedded.js';
import { createPlain } from './plain_module.js';
import { compileWasm, instantiateWasm, type Instance, type WasmFiles } from './wasm_loader.js';

/** See wasm_files.ts. */
declare const __WATTN_INLINE__: boolean;

/** Rows, in memory that the caller grows. Addresses are offsets in it; precision is 0 for float32, 1 for int8, 2 for binary. */
export interface SearchSeam {
  build_id(): string;
  /** Where the blocks of rows may begin. */
  base: number;
  make(precision: number, dim: number, memory: number): void;
  block_rows(): number;
  block_bytes(): number;
  query_bytes(): number;
  put(at: number, vectors: number, n: number): number;
  put_stored(at: number, stored: number, n: number): number;
  get_stored(at: number, stored: number, n: number): void;
  copy(to: number, from: number): void;
  num_candidates(count: number, k: number): number;
  search(query: number, count: number, k: number, allowed: number, ranked: number): number;
  scores(query: number, rows: number, n: number, out: number): void;
}

async function createModule(settings: object): Promise<SearchSeam> {
  const { __heap_base, ...seam } = await createPlain<SearchSeam & { __heap_base: WebAssembly.Global | undefined }>(settings);
  return { ...seam, base: Math.ceil((__heap_base?.value ?? 0) / 64) * 64 };
}

// Bundlers recognise exactly this form of URL and include the file.
const files: WasmFiles<SearchSeam> = {
  createModule,
  choose: () =>
    __WATTN_INLINE__
      ? embedded('search')
      : { kind: 'simd', file: 'search', url: () => new URL('./wattn-search.wasm', import.meta.url) },
};

/** A separate instance with memory of its own. given: where the file is, from now on. */
export async function searchInstance(given?: WasmFiles['given']): Promise<Instance<SearchSeam>> {
  if (given) files.given = given;
  return instantiateWasm(await compileWasm(false, files));
}
