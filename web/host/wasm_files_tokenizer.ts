// The .wasm file of wattn/tokenizer, which has no models. Every entry trains tokenizers with it.
import { embedded } from './embedded.js';
import { createPlain } from './plain_module.js';
import type { WasmFiles } from './wasm_loader.js';

/** See wasm_files.ts. */
declare const __WATTN_INLINE__: boolean;

// Bundlers recognise exactly this form of URL and include the file.
export const wasmFiles: WasmFiles = {
  createModule: createPlain,
  choose: () =>
    __WATTN_INLINE__
      ? embedded('tokenizer')
      : { kind: 'simd', file: 'tokenizer', url: () => new URL('./wattn-tokenizer.wasm', import.meta.url) },
};
