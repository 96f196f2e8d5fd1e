// What all copies of one version of wattn in a realm share. Each entry and each format (ES module, CommonJS, inline, tokenizer) is a bundle of its own,
// and a program may load several. A setting must reach all of them, and `instanceof` must hold for the errors of any.
import type { Env } from './types.js';

declare const __WATTN_VERSION__: string; // of package.json

interface Shared {
  env?: Env;
  /** The default hub, once the variables of the environment have been applied. */
  hub?: string;
  /** The texts of warnings that were written. */
  told?: Set<string>;
  /** The exports of errors.ts in their order; tools/bundle.mjs puts them here. */
  errors?: unknown[];
  /** .wasm files that the program's own scripts have inside, by name: packed (host/unpack.ts), or as modules on the edge. */
  embedded?: Record<string, unknown>;
  /** The words of languages that `wattn/languages` brings to the edge. */
  languages?: Readonly<Record<string, () => Promise<unknown>>>;
}

const kKey = Symbol.for(`wattn@${__WATTN_VERSION__}`);

export const shared: Shared = ((globalThis as Record<symbol, Shared>)[kKey] ??= {});
