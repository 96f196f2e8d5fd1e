// Public types of the classifier.
import type { Tensor } from '../core/tensor.js';
import type { AbortSignalLike } from '../core/types.js';
import type { EmbedOptions } from '../engine/types.js';
import type { LabelScore } from './types.js';

/** What a classifier uses of `pipeline('feature-extraction')`. */
export type Embedder = (texts: string[], options?: EmbedOptions) => Promise<Tensor<'float32'>>;

/** Texts, or their vectors `[texts, dim]`. */
export type Examples = readonly string[] | Tensor<'float32'>;

export interface ClassifierProgress {
  /** Texts become vectors; a fold (of `validation`) is trained; the classifier is trained. */
  stage: 'embed' | 'validate' | 'train';
  /** Of the stage: texts, or steps of training. */
  done: number;
  total: number;
  /** Of training, so far. */
  loss?: number;
}

export interface ClassifierOptions {
  /**
   * `'logistic'` (default): logistic regression, the optimum of scikit-learn's `LogisticRegression`. `'mlp'`: one hidden layer.
   */
  kind?: 'logistic' | 'mlp';
  /** Logistic: how much the examples weigh against small weights. Default 1. */
  C?: number;
  /** Logistic: steps at most. Default 200. */
  max_iterations?: number;
  /** Logistic: it ends when no part of the gradient of the mean loss is over this (scikit-learn: 1e-4). Default 1e-5. */
  tolerance?: number;
  /** MLP: width of the hidden layer. Default 64. */
  hidden_size?: number;
  /** MLP: times that all examples are seen. Default 40. */
  epochs?: number;
  /** MLP: Adam's. Default 0.003. */
  learning_rate?: number;
  /** MLP: pull to small weights. Default 0.0001. */
  weight_decay?: number;
  /** `'balanced'`: labels weigh alike, however many examples each has. Default: examples do. */
  class_weight?: 'balanced';
  /**
   * What `report` is made from. A number: cross-validation with that many folds, 2 at least, each with its share of every label; no more than a label has examples.
   * Examples: those. Default: none, and no report.
   */
  validation?: number | { texts: Examples; labels: readonly string[] };
  /**
   * `false`: scores as they come. Default: with `validation`, a temperature that makes its examples as likely as they can be, each of n
   * taken for wrong by 1 / (n + 2), so that a few do not make every score certain; none where they tell nothing of it.
   */
  calibrate?: boolean;
  /** Of folds and of the MLP: the same gives the same. Default 0. */
  seed?: number;
  /** For the embedder: pooling, prompt, ...; the classifier uses them ever after. */
  embed_options?: Omit<EmbedOptions, 'signal'>;
  progress_callback?: (progress: ClassifierProgress) => void;
  /** Ends the fitting with an `AbortError`. */
  signal?: AbortSignalLike | undefined;
}

/** On examples that were not trained on. */
export interface ClassifierReport {
  /** 0: on examples of their own. */
  folds: number;
  examples: number;
  accuracy: number;
  /** Mean of the labels' F1. */
  macro_f1: number;
  /** Mean of -ln(score of the right label), after calibration. */
  log_loss: number;
  /** Mean gap between score and accuracy, over ten bins of the score, after calibration. */
  calibration_error: number;
  labels: { label: string; precision: number; recall: number; f1: number; support: number }[];
  /** `[right label][label given]`: how often. */
  confusion: number[][];
}

export interface Explanation {
  label: string;
  score: number;
  /** Each word, and by how much the label's score falls when it is left out of the text. */
  words: { word: string; start: number; end: number; weight: number }[];
}

export interface TextClassifier {
  /** One text (or one vector): its labels. Several: with `top_k` 1 (default) one label each, else a list each. */
  (text: string, options?: { top_k?: number | null; signal?: AbortSignalLike | undefined }): Promise<LabelScore[]>;
  (texts: Examples, options?: { top_k?: 1; signal?: AbortSignalLike | undefined }): Promise<LabelScore[]>;
  (texts: Examples, options: { top_k: number | null; signal?: AbortSignalLike | undefined }): Promise<LabelScore[][]>;
  /** In alphabetical order. */
  readonly labels: readonly string[];
  readonly kind: 'logistic' | 'mlp';
  /** What logits are divided by; 1: not calibrated. */
  readonly temperature: number;
  readonly report: ClassifierReport | undefined;
  /**
   * Which words speak for a label (default: the one it gives), by leaving each one out. One embedding a word.
   */
  explain(text: string, options?: { label?: string; signal?: AbortSignalLike | undefined }): Promise<Explanation>;
  /** `classifier.json` and `classifier.safetensors`, which `Classifier.load` reads. The embedder's own model is not in them. */
  save(): { 'classifier.json': Uint8Array; 'classifier.safetensors': Uint8Array };
}
