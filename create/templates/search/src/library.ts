// The model and the index.
import { Index, pipeline, type IndexDocument, type IndexHit } from 'wattn';
import { kSamples } from './samples.js';

/** The documents stored in this browser, and the model that embeds them. */
export interface Library {
  /** The documents, newest last. */
  all(): IndexDocument[];
  search(query: string): Promise<IndexHit[]>;
  add(documents: IndexDocument[], tell: (done: number) => void): Promise<void>;
  remove(id: string): Promise<void>;
}

/** Frequent words that keyword search ignores. */
const kStopwords =
  'a about an and are as at be but by can do for from has have how i if in is it its my no not of on or our so that the their there these they this to was we what when where which who why will with you your';
const kBegun = 'wattn-app has begun';

/** tell: called with 0 to 1 while the model is loaded. */
export async function openLibrary(tell: (share: number) => void): Promise<Library> {
  // The bundled model, for English. To use another: pipeline('feature-extraction', 'intfloat/multilingual-e5-small', ..)
  const embed = await pipeline('feature-extraction', undefined, {
    worker: true,
    progress_callback: (info) => {
      if (info.status === 'progress') tell(info.progress / 100);
    },
  });
  // Stored in the browser's private file system (OPFS), or in IndexedDB if there is none.
  const index = await Index.open('documents', { embed, words: { stopwords: kStopwords.split(' ') } });
  if (index.size === 0 && localStorage.getItem(kBegun) === null) await index.add(kSamples);
  localStorage.setItem(kBegun, 'yes'); // do not add the samples again after they were removed

  return {
    all: () => index.ids().flatMap((id) => index.get(id) ?? []),
    search: (query) =>
      index.search(query, {
        top_k: 8,
        min_score: { coverage: 0.2, meaning: 0.25 }, // a fifth of the question's words, rare ones counting more, or a cosine of 0.25
      }),
    async add(documents, tell) {
      for await (const { done } of index.add(documents)) tell(done);
      navigator.storage?.persist?.().catch(() => {}); // asks the browser not to delete them when space runs out
    },
    async remove(id) {
      await index.delete([id]);
    },
  };
}
