// Public types of the classifier.
import type { Tensor } from '../core/tensor.js';
import type { TensorBase } from '../core/tensor_base.js';
import type { AbortSignalLike, AtLeastOne } from '../core/types.js';
import type { EmbedOptions } from '../engine/types.js';
import type { LabelScore } from './types.js';

/** The part of `pipeline('feature-extraction')` that a classifier uses. */
export type Embedder = (texts: string[], options?: EmbedOptions) => Promise<Tensor<'float32'>>;

/** Texts, or their vectors `[texts, dim]`. */
export type Examples = readonly string[] | TensorBase<'float32'>;

/** How far the fitting of a classifier is. */
export interface ClassifierProgress {
  /** Embedding the texts; training a fold of `validation`; training the classifier. */
  stage: 'embed' | 'validate' | 'train';
  /** Texts or training steps of the stage. */
  done: number;
  /** All texts or training steps of the stage. */
  total: number;
  /** The training loss so far. */
  loss?: number;
}

/** Options of `Classifier.fit`. */
export interface ClassifierOptions {
  /** `'logistic'` (default): logistic regression, with the optimum of scikit-learn's `LogisticRegression`. `'mlp'`: one hidden layer. */
  kind?: 'logistic' | 'mlp';
  /**
   * Logistic: inverse strength of the regularisation. Default: of 0.0001, 0.0003, 0.001, .. 10,000 the one with the lowest log
   * loss in cross-validation, each after its own calibration (10 if no label has two examples).
   */
  C?: number;
  /** Logistic: maximum steps. Default 1000. */
  max_iterations?: number;
  /**
   * Logistic: stops when all components of the gradient of the mean loss are within this. Default 1e-4, as in scikit-learn. Products are
   * in f32, so the search may end before a tolerance below 1e-5 is reached.
   */
  tolerance?: number;
  /** MLP: width of the hidden layer. Default 64. */
  hidden_size?: number;
  /** MLP: passes over all examples. Default 40. */
  epochs?: number;
  /** MLP: Adam's learning rate. Default 0.003. */
  learning_rate?: number;
  /** MLP: L2 regularisation of the weights. Default 0.0001. */
  weight_decay?: number;
  /** `'balanced'`: all labels have the same weight. Default: all examples have the same weight. */
  class_weight?: 'balanced';
  /**
   * The examples that choose `C`, calibrate and are reported on. A number: stratified cross-validation with that many folds, at least 2
   * and at most the examples of the largest label. Or held-out examples, which calibrate and are reported on; folds then choose `C`, if it
   * is not given. Default: five folds (fewer if no label has five examples), of which only as many are trained as hold 2,000 examples.
   * Nothing is validated if no label has two examples, or if `C` is given (or `kind` is `'mlp'`) and `calibrate` is `false`.
   */
  validation?: number | { texts: Examples; labels: readonly string[] };
  /**
   * `false`: scores are not calibrated. Default: logits are divided by the temperature that maximises the likelihood of the examples of
   * `validation`. Each of n counts as wrong with weight 1 / (n + 2), so that a few examples do not make every score certain.
   */
  calibrate?: boolean;
  /** Seed of the folds and the MLP. Default 0. */
  seed?: number;
  /** Options of the embedder, such as pooling and prompt, for fitting and for every later call. */
  embed_options?: Omit<EmbedOptions, 'signal'>;
  /** Called while the classifier learns. An exception from it ends the fitting. */
  progress_callback?: (progress: ClassifierProgress) => void;
  /** Ends the fitting with an `AbortError`. */
  signal?: AbortSignalLike | undefined;
}

/** Results on held-out examples. */
export interface ClassifierReport {
  /** The folds that were trained; 0: on separate examples. */
  folds: number;
  /** The examples that were judged. */
  examples: number;
  /** The share of examples whose best label is right. */
  accuracy: number;
  /** Mean of the labels' F1. */
  macro_f1: number;
  /** Mean of -ln(score of the correct label), after calibration. */
  log_loss: number;
  /** Mean gap between score and accuracy, over ten bins of the score, after calibration. */
  calibration_error: number;
  /** For each label: the share of its predictions that are right, the share of its examples that were found, F1, and its number of examples. */
  labels: { label: string; precision: number; recall: number; f1: number; support: number }[];
  /** Counts by `[correct label][predicted label]`. */
  confusion: number[][];
}

/** Which words speak for a label. */
export interface Explanation {
  /** The label that is explained. */
  label: string;
  /** Its score for the whole text, from 0 to 1. */
  score: number;
  /** Each word, with the decrease of the label's score if the word is removed. */
  words: { word: string; start: number; end: number; weight: number }[];
}

/** A classifier that `Classifier.fit` or `Classifier.load` made. */
export interface TextClassifier {
  /** One text (or one vector): its labels. Several: with `top_k` 1 (default) one label each, else a list each. */
  (text: string, options?: { top_k?: number | null; signal?: AbortSignalLike | undefined }): Promise<AtLeastOne<LabelScore>>;
  /** The best label of each text. */
  (texts: Examples, options?: { top_k?: 1; signal?: AbortSignalLike | undefined }): Promise<LabelScore[]>;
  /** The labels of each text, best first; `null`: all of them. */
  (texts: Examples, options: { top_k: number | null; signal?: AbortSignalLike | undefined }): Promise<LabelScore[][]>;
  /** In alphabetical order. */
  readonly labels: readonly string[];
  /** `'logistic'`: logistic regression. `'mlp'`: one hidden layer. */
  readonly kind: 'logistic' | 'mlp';
  /** Logistic: the inverse strength of the regularisation in use. */
  readonly C: number | undefined;
  /** The divisor of the logits; 1: not calibrated. */
  readonly temperature: number;
  /** Where `C` was chosen, the report is on the examples that chose it. */
  readonly report: ClassifierReport | undefined;
  /** The contribution of each word to a label (default: the predicted one), by removing each in turn. One embedding per word. */
  explain(text: string, options?: { label?: string; signal?: AbortSignalLike | undefined }): Promise<Explanation>;
  /** The files for `Classifier.load`. They do not contain the embedder's model. */
  save(): { 'classifier.json': Uint8Array; 'classifier.safetensors': Uint8Array };
}
