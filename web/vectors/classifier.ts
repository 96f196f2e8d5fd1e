// Classifier: labels learned from examples, on top of an embedder. Its code is loaded when it is first used.
import type { ClassifierOptions, Embedder, Examples, TextClassifier } from './classifier_types.js';
import type { ModelSpecifier, SourceOptions } from '../source/types.js';

export const Classifier = {
  /**
   * Learns the labels of texts from examples, a few of each label. embed: `pipeline('feature-extraction', ..)`, which texts become
   * vectors by; it stays the caller's.
   */
  async fit(embed: Embedder, texts: Examples, labels: readonly string[], options?: ClassifierOptions): Promise<TextClassifier> {
    return (await import('./classifier/classifier.js')).fitClassifier(embed, texts, labels, options ?? {});
  },

  /** What `save()` gave. embed: the embedder of the same model as when it was fitted. model: see `ModelSpecifier`. */
  async load(embed: Embedder, model: ModelSpecifier, options?: SourceOptions): Promise<TextClassifier> {
    return (await import('./classifier/load.js')).loadClassifier(embed, model, options ?? {});
  },
};
