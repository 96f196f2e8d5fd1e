// The name `Index` as pages import it. Its code is loaded when an index is opened.
import type { Index as SearchIndex } from './search_index.js';
import type { IndexCheck, IndexListing, IndexOptions, IndexRepair, IndexStoreOptions } from './types.js';

/** An open index: what `Index.open` gives. */
export interface Index extends SearchIndex {}

/**
 * Documents that can be searched by words (BM25), by meaning (vectors) and by both, and that stay where they are put.
 *
 *     const embed = await pipeline('feature-extraction', undefined, { worker: true });
 *     const index = await Index.open('notes', { embed });
 *     await index.add([{ id: 'a', text: 'The bakery opens at seven.' }]);
 *     const [hit] = await index.search('when can I buy rolls');
 *     console.log(hit?.id, hit?.text, hit?.why);
 */
export const Index = {
  /**
   * Opens an index, or begins one with the first write. name: 1 to 200 characters that say which, and no path. An `InputError` if its vectors are of
   * another model than `embed` (see `other_model`) or nothing can be stored here. A `ModelFormatError` if anything that was stored is damaged or
   * missing, an `UnsupportedError` if a later version of wattn wrote it. A write that was cut off is as if it had not begun.
   */
  async open(name: string, options: IndexOptions = {}): Promise<Index> {
    return (await import('./search_index.js')).Index.open(name, options);
  },
  /**
   * Removes an index and all that it stores, and no other file. Open ones of its name become empty. An `InputError` if there is a folder of its name
   * with other files alone.
   */
  async delete(name: string, options: IndexStoreOptions = {}): Promise<void> {
    return (await import('./upkeep.js')).remove(name, options);
  },
  /** The indexes that are kept in a store, by name. Default: in a page all of its origin, in Node those in the current folder. */
  async list(options: IndexStoreOptions = {}): Promise<IndexListing[]> {
    return (await import('./upkeep.js')).list(options);
  },
  /**
   * Reads all that an index stores, and says what is sound. Changes nothing.
   *
   *     const { sound, problems } = await Index.check('notes');
   */
  async check(name: string, options: IndexStoreOptions = {}): Promise<IndexCheck> {
    return (await import('./upkeep.js')).check(name, options);
  },
  /**
   * Keeps all documents of an index that are sound, and lists what is lost. Nothing is removed before the rest is stored once more, so it may be
   * called again if it was cut off. Segments of another index that lie there are joined. Documents whose vectors are lost are embedded again at the next `open` with `embed`.
   *
   *     const { documents, lost } = await Index.repair('notes');
   */
  async repair(name: string, options: IndexStoreOptions = {}): Promise<IndexRepair> {
    return (await import('./upkeep.js')).repair(name, options);
  },
};
