// In place of own_files.ts in wattn/tokenizer.
import { createPlain } from './plain_module.js';
import { wasmFiles } from './wasm_files_tokenizer.js';
import { useWasm, type WasmFiles } from './wasm_loader.js';

/** See wasm_files.ts. */
declare const __WATTN_INLINE__: boolean;

/** For folders whose class or other files change what tokenizer.json says. Not on the edge, which compiles nothing later. */
const full: WasmFiles = {
  createModule: createPlain,
  choose: () => ({ kind: 'simd', flag: 'full-simd', url: () => new URL('./wattn-full-simd.wasm', import.meta.url) }),
};

export const ownFiles = useWasm(wasmFiles, __WATTN_INLINE__ ? undefined : full);
