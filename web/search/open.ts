// The name `Index` as pages import it. Its code is loaded when an index is opened.
import type { Index as SearchIndex } from './search_index.js';
import type { IndexCheck, IndexListing, IndexOptions, IndexRepair, IndexStoreOptions } from './types.js';

/** An open index: the result of `Index.open`. */
export interface Index extends SearchIndex {}

/**
 * A persistent search index with keyword search (BM25), semantic search (vectors), and hybrid search.
 *
 *     const embed = await pipeline('feature-extraction', undefined, { worker: true });
 *     const index = await Index.open('notes', { embed });
 *     await index.add([{ id: 'a', text: 'The bakery opens at seven.' }]);
 *     const [hit] = await index.search('when can I buy rolls');
 *     console.log(hit?.id, hit?.text, hit?.why);
 */
export const Index = {
  /**
   * Opens an index; a new one is created at the first write. `name` has 1 to 200 characters and is not a path. Throws an `InputError` if its vectors are
   * from another model than `embed` (see `other_model`), or if nothing can be stored here. Throws a `ModelFormatError` if stored data is damaged or
   * missing, and an `UnsupportedError` if a later version of wattn wrote it. An interrupted write has no effect.
   */
  async open(name: string, options: IndexOptions = {}): Promise<Index> {
    return (await import('./search_index.js')).Index.open(name, options);
  },
  /**
   * Deletes an index with its stored data, and no other file. Open indexes of this name become empty. Throws an `InputError` if the folder of this name
   * contains only other files.
   */
  async delete(name: string, options: IndexStoreOptions = {}): Promise<void> {
    return (await import('./upkeep.js')).remove(name, options);
  },
  /** Lists the indexes in a store. Default: in a page, all of its origin; in Node, those in the current folder. */
  async list(options: IndexStoreOptions = {}): Promise<IndexListing[]> {
    return (await import('./upkeep.js')).list(options);
  },
  /**
   * Reads everything that an index stores and reports problems. Changes nothing.
   *
   *     const { sound, problems } = await Index.check('notes');
   */
  async check(name: string, options: IndexStoreOptions = {}): Promise<IndexCheck> {
    return (await import('./upkeep.js')).check(name, options);
  },
  /**
   * Keeps all intact documents of an index and lists what is lost. Nothing is removed before the rest is stored again, so you can repeat it after an
   * interruption. Segments of another index in the same place are merged. Documents that lost their vectors are embedded again at the next `open` with
   * `embed`.
   *
   *     const { documents, lost } = await Index.repair('notes');
   */
  async repair(name: string, options: IndexStoreOptions = {}): Promise<IndexRepair> {
    return (await import('./upkeep.js')).repair(name, options);
  },
};
