// Classifier: learns labels from examples, on top of an embedder. The code is loaded when it is first used.
import type { ClassifierOptions, Embedder, Examples, TextClassifier } from './classifier_types.js';
import type { ModelSpecifier, SourceOptions } from '../source/types.js';

/** Trains text classifiers from a few examples per label, on top of an embedding model. */
export const Classifier = {
  /**
   * Trains a text classifier from a few examples per label. `embed`: `pipeline('feature-extraction', ..)`, which computes the embeddings; it is not
   * disposed. Training loads `wattn-nn.wasm`; if that file is not next to this script, call `nn.ready({ wasm })` first. Training runs in short steps, so
   * a page stays responsive.
   *
   * Default: logistic regression. Cross-validation chooses `C`, calibrates the scores, and gives `report`.
   *
   * Throws an `InputError` if labels are not one string per text, or all the same, if vectors are not finite, or if an option is unknown or invalid.
   * Throws an `AbortError` if `signal` fired.
   *
   *     const classifier = await Classifier.fit(embed, ['Where is my parcel?', 'I want my money back', ..], ['delivery', 'refund', ..]);
   *     await classifier('It has not arrived'); // [{ label: 'delivery', score: 0.87 }]
   */
  async fit(embed: Embedder, texts: Examples, labels: readonly string[], options?: ClassifierOptions): Promise<TextClassifier> {
    return (await import('./classifier/classifier.js')).fitClassifier(embed, texts, labels, options ?? {});
  },

  /** Loads a classifier from the files of `save()`. `embed`: an embedder with the same model as in `fit`. `model`: see `ModelSpecifier`. */
  async load(embed: Embedder, model: ModelSpecifier, options?: SourceOptions): Promise<TextClassifier> {
    return (await import('./classifier/load.js')).loadClassifier(embed, model, options ?? {});
  },
};
