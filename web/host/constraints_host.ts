// Compiles the WebAssembly of constraints, on the caller's side. This file is always imported when it is first needed, as nn_host.ts.
import type { ConstraintsSeam } from './constraints_seam.js';
import { embedded } from './embedded.js';
import { createPlain } from './plain_module.js';
import { compileWasm, type WasmFiles } from './wasm_loader.js';

/** See wasm_files.ts. */
declare const __WATTN_INLINE__: boolean;

// Bundlers recognise exactly this form of URL and include the file.
const files: WasmFiles<ConstraintsSeam> = {
  createModule: createPlain,
  choose: () =>
    __WATTN_INLINE__
      ? embedded('constraints')
      : { kind: 'simd', file: 'constraints', url: () => new URL('./wattn-constraints.wasm', import.meta.url) },
};

export const compileConstraints = async (): Promise<WebAssembly.Module> => (await compileWasm(false, files)).module;
