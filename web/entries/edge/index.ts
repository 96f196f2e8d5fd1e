// `wattn` on the edge, where WebAssembly must be imported: a platform compiles the modules of a program before it starts. One form of SIMD, as each is uploaded.
import simd from 'wattn-simd.wasm';
import search from 'wattn-search.wasm';
import { shared } from '../../core/shared.js';

export * from '../page.js';
export * from '../api.js';

Object.assign((shared.embedded ??= {}), { simd, search });
