// The .wasm file of wattn/tokenizer, which has no models, and its glue code. Every entry trains tokenizers with it.
import createModule from '../../build/wasm-simd/wattn-tokenizer.mjs';
import { embedded } from './embedded.js';
import type { SeamModule } from './seam.js';
import type { WasmFiles } from './wasm_loader.js';

/** See wasm_files.ts. */
declare const __WATTN_INLINE__: boolean;

// Bundlers recognise exactly this form of URL and include the file.
export const wasmFiles: WasmFiles<SeamModule> = {
  createModule,
  choose: () =>
    __WATTN_INLINE__
      ? embedded('tokenizer')
      : { kind: 'simd', file: 'tokenizer', url: () => new URL('./wattn-tokenizer.wasm', import.meta.url) },
};
