// Classifier: learns labels from examples, on top of an embedder. The code is loaded when it is first used.
import type { ClassifierOptions, Embedder, Examples, TextClassifier } from './classifier_types.js';
import type { ModelSpecifier, SourceOptions } from '../source/types.js';

export const Classifier = {
  /**
   * Learns to label texts from a few examples per label. embed: `pipeline('feature-extraction', ..)`, which computes the vectors; it still
   * belongs to the caller.
   */
  async fit(embed: Embedder, texts: Examples, labels: readonly string[], options?: ClassifierOptions): Promise<TextClassifier> {
    return (await import('./classifier/classifier.js')).fitClassifier(embed, texts, labels, options ?? {});
  },

  /** Loads the files from `save()`. embed: an embedder with the same model as in `fit`. model: see `ModelSpecifier`. */
  async load(embed: Embedder, model: ModelSpecifier, options?: SourceOptions): Promise<TextClassifier> {
    return (await import('./classifier/load.js')).loadClassifier(embed, model, options ?? {});
  },
};
