// Classifier: learns labels from examples, on top of an embedder. The code is loaded when it is first used.
import type { ClassifierOptions, Embedder, Examples, TextClassifier } from './classifier_types.js';
import type { ModelSpecifier, SourceOptions } from '../source/types.js';

/** Learns labels from a few examples of each, on top of an embedder. */
export const Classifier = {
  /**
   * Learns to label texts from a few examples per label. embed: `pipeline('feature-extraction', ..)`, which computes the vectors; it still
   * belongs to the caller. Training loads `wattn-nn.wasm`; if that file is not beside this script, call `nn.ready({ wasm })` first. It is
   * done in short steps, so a page stays responsive.
   *
   * Without options it is logistic regression. Cross-validation chooses `C`, calibrates the scores, and gives `report`.
   *
   * InputError: labels are not one string for each text, or all the same; vectors are not finite; an option is unknown or wrong.
   * AbortError: `signal` fired.
   *
   *     const classifier = await Classifier.fit(embed, ['Where is my parcel?', 'I want my money back', ..], ['delivery', 'refund', ..]);
   *     await classifier('It has not arrived'); // [{ label: 'delivery', score: 0.87 }]
   */
  async fit(embed: Embedder, texts: Examples, labels: readonly string[], options?: ClassifierOptions): Promise<TextClassifier> {
    return (await import('./classifier/classifier.js')).fitClassifier(embed, texts, labels, options ?? {});
  },

  /** Loads the files from `save()`. embed: an embedder with the same model as in `fit`. model: see `ModelSpecifier`. */
  async load(embed: Embedder, model: ModelSpecifier, options?: SourceOptions): Promise<TextClassifier> {
    return (await import('./classifier/load.js')).loadClassifier(embed, model, options ?? {});
  },
};
