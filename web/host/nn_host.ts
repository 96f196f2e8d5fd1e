// Instances of the WebAssembly of nn. This file is always imported when it is first needed, never by name at once. So a page that embeds
// loads nothing of it, though a part of the package that the page may load later (the classifier) shares it with nn.
import createModule from '../../build/wasm-simd/wattn-nn.mjs';
import { embedded } from './embedded.js';
import type { NnHost, NnSeam } from './nn_types.js';
import { SeamHost } from './seam_host.js';
import { compileWasm, instantiateWasm, type WasmFiles } from './wasm_loader.js';

/** See wasm_files.ts. */
declare const __WATTN_INLINE__: boolean;

// Bundlers recognise exactly this form of URL and include the file.
const files: WasmFiles<NnSeam> = {
  createModule,
  choose: () =>
    __WATTN_INLINE__ ? embedded('nn') : { kind: 'simd', file: 'nn', url: () => new URL('./wattn-nn.wasm', import.meta.url) },
};

/** A separate instance: training releases it, with all its memory, when it ends. given: where the file is, from now on. */
export async function freshHost(what: string, given?: WasmFiles['given']): Promise<NnHost> {
  if (given) files.given = given;
  const instance = await instantiateWasm(await compileWasm(false, files));
  return new SeamHost(what, instance, instance.seam);
}
