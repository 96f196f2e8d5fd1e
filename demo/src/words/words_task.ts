// Beside the page: trains word vectors.
import { Word2Vec } from 'wattn/nn';
import type { Finished, Report } from '../beside/task.js';
import { kWord2Vec } from './options.js';

export interface Trained {
  words: readonly string[];
  /** [words, size] */
  vectors: Float32Array;
  size: number;
}

export async function words({ text, minCount }: { text: string; minCount: number }, report: Report): Promise<Finished<Trained>> {
  const { words, vectors, vector_size } = await Word2Vec.train(text, {
    ...kWord2Vec,
    min_count: minCount,
    progress_callback: ({ status, progress = 0 }) => void (status === 'train' && report(progress)),
  });
  return { first: { words, vectors, size: vector_size } };
}
