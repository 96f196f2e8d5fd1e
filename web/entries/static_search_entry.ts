/**
 * Searches a static site without a server, in the index that `wattn index SITE --static OUT` writes.
 *
 * @module
 */
export { AbortError, InputError, ModelFormatError, NetworkError, UnsupportedError, WattnError } from '../core/errors.js';
export type { AbortSignalLike } from '../core/types.js';
export { openStaticIndex, StaticIndex } from '../static_search/static_index.js';
export type * from '../static_search/types.js';
