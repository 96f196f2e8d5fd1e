// The .wasm files with models.
import { embedded, isEmbedded } from './embedded.js';
import { hasRelaxedSimd } from './relaxed_simd.js';
import { createPlain as createModule } from './plain_module.js';
import type { WasmFiles } from './wasm_loader.js';

/** Set by tools/bundle.mjs: whether the WebAssembly is inside the program (wattn/inline, the edge). */
declare const __WATTN_INLINE__: boolean;

// Bundlers recognise exactly this form of URL and include the files.
function choose(): ReturnType<WasmFiles['choose']> {
  if (__WATTN_INLINE__) return embedded('simd');
  return hasRelaxedSimd()
    ? { kind: 'relaxed', url: () => new URL('./wattn-relaxed.wasm', import.meta.url) }
    : { kind: 'simd', url: () => new URL('./wattn-simd.wasm', import.meta.url) };
}

export const wasmFiles: WasmFiles = { createModule, choose };

/** The same with all that is rare, and training of models. */
export const fullFiles: WasmFiles = __WATTN_INLINE__
  ? { createModule, choose: () => embedded('full-simd'), isThere: () => isEmbedded('full-simd') }
  : {
      createModule,
      choose: () =>
        hasRelaxedSimd()
          ? { kind: 'relaxed', flag: 'full-relaxed', url: () => new URL('./wattn-full-relaxed.wasm', import.meta.url) }
          : { kind: 'simd', flag: 'full-simd', url: () => new URL('./wattn-full-simd.wasm', import.meta.url) },
    };
