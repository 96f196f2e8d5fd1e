// The name `Index` as pages import it. Its code is loaded when an index is opened.
import type { Index as SearchIndex } from './search_index.js';
import type { IndexOptions } from './types.js';

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
   * Opens an index, or begins one. name: 1 to 200 characters that say which. An `InputError` if its vectors are of another model than `embed` (see
   * `other_model`) or nothing can be stored here, a `ModelFormatError` if what is stored is damaged, an `UnsupportedError` if another version
   * of wattn wrote it. A write that was cut off is as if it had not begun.
   */
  async open(name: string, options: IndexOptions = {}): Promise<Index> {
    return (await import('./search_index.js')).Index.open(name, options);
  },
  /** Removes an index and all that it stores. Open ones of its name become empty. */
  async delete(name: string, options: Pick<IndexOptions, 'store'> = {}): Promise<void> {
    return (await import('./search_index.js')).Index.delete(name, options);
  },
};
