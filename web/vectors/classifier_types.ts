// Public types of the classifier.
import type { Tensor } from '../core/tensor.js';
import type { TensorBase } from '../core/tensor_base.js';
import type { AbortSignalLike, AtLeastOne } from '../core/types.js';
import type { EmbedOptions } from '../engine/types.js';
import type { LabelScore } from './types.js';

/** The part of `pipeline('feature-extraction')` that a classifier uses. */
export type Embedder = (texts: string[], options?: EmbedOptions) => Promise<Tensor<'float32'>>;

/** Texts, or their embeddings `[texts, dim]`. */
export type Examples = readonly string[] | TensorBase<'float32'>;

/** Progress of training a classifier. */
export interface ClassifierProgress {
  /** `'embed'`: embedding texts; `'validate'`: training a fold of `validation`; `'train'`: training the classifier. */
  stage: 'embed' | 'validate' | 'train';
  /** Texts or training steps done in this stage. */
  done: number;
  /** Total texts or training steps of this stage. */
  total: number;
  /** The training loss so far. */
  loss?: number;
}

/** Options of `Classifier.fit`. */
export interface ClassifierOptions {
  /** `'logistic'` (default): logistic regression, with the same optimum as scikit-learn's `LogisticRegression`. `'mlp'`: one hidden layer. */
  kind?: 'logistic' | 'mlp';
  /**
   * Logistic: inverse regularisation strength. Default: the value among 0.0001, 0.0003, 0.001, .. 10,000 with the lowest log loss in cross-validation,
   * each after its own calibration (10 if no label has two examples).
   */
  C?: number;
  /** Logistic: maximum steps. Default 1000. */
  max_iterations?: number;
  /**
   * Logistic: stops when all components of the gradient of the mean loss are within this. Default 1e-4, as in scikit-learn. Products are in f32, so a
   * tolerance below 1e-5 may not be reached.
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
   * The examples for choosing `C`, for calibration and for the report. A number: stratified cross-validation with that many folds, from 2 to the number
   * of examples of the largest label. Or held-out examples for calibration and the report; folds then choose `C`, if it is not set. Default: five folds
   * (fewer if no label has five examples); only as many are trained as hold 2,000 examples. There is no validation if no label has two examples, or if
   * `C` is set (or `kind` is `'mlp'`) and `calibrate` is `false`.
   */
  validation?: number | { texts: Examples; labels: readonly string[] };
  /**
   * `false`: scores are not calibrated. Default: logits are divided by the temperature that maximises the likelihood of the `validation` examples. Each
   * of n examples counts as wrong with weight 1 / (n + 2), so that a few examples do not make every score certain.
   */
  calibrate?: boolean;
  /** Seed for the folds and the MLP. Default 0. */
  seed?: number;
  /** Options of the embedder, such as pooling and prompt, for training and every later call. */
  embed_options?: Omit<EmbedOptions, 'signal'>;
  /** Called during training. An exception from it stops the training. */
  progress_callback?: (progress: ClassifierProgress) => void;
  /** Cancels the training with an `AbortError`. */
  signal?: AbortSignalLike | undefined;
}

/** Results on held-out examples. */
export interface ClassifierReport {
  /** Number of folds that were trained; 0 for separate held-out examples. */
  folds: number;
  /** Number of examples. */
  examples: number;
  /** The fraction of examples whose top label is correct. */
  accuracy: number;
  /** Mean of the labels' F1 scores. */
  macro_f1: number;
  /** Mean of -ln(score of the correct label), after calibration. */
  log_loss: number;
  /** Mean gap between score and accuracy, over ten bins of the score, after calibration. */
  calibration_error: number;
  /** Per label: precision, recall, F1, and number of examples. */
  labels: { label: string; precision: number; recall: number; f1: number; support: number }[];
  /** Counts by `[correct label][predicted label]`. */
  confusion: number[][];
}

/** The contribution of each word to a label. */
export interface Explanation {
  /** The label that is explained. */
  label: string;
  /** Its score for the whole text, from 0 to 1. */
  score: number;
  /** Each word with its weight: how much the label's score drops without the word. */
  words: { word: string; start: number; end: number; weight: number }[];
}

/** A trained classifier: the result of `Classifier.fit` or `Classifier.load`. */
export interface TextClassifier {
  /** Classifies texts or embeddings. One text gives its labels. Several give one label each with `top_k` 1 (default), otherwise a list each. */
  (text: string, options?: { top_k?: number | null; signal?: AbortSignalLike | undefined }): Promise<AtLeastOne<LabelScore>>;
  /** The top label of each text. */
  (texts: Examples, options?: { top_k?: 1; signal?: AbortSignalLike | undefined }): Promise<LabelScore[]>;
  /** The labels of each text, best first; `null`: all of them. */
  (texts: Examples, options: { top_k: number | null; signal?: AbortSignalLike | undefined }): Promise<LabelScore[][]>;
  /** The labels in alphabetical order. */
  readonly labels: readonly string[];
  /** `'logistic'`: logistic regression. `'mlp'`: one hidden layer. */
  readonly kind: 'logistic' | 'mlp';
  /** Logistic: the inverse regularisation strength in use. */
  readonly C: number | undefined;
  /** The divisor of the logits; 1 if not calibrated. */
  readonly temperature: number;
  /** Results on held-out examples. If `C` was chosen, they are from the examples that chose it. */
  readonly report: ClassifierReport | undefined;
  /** The contribution of each word to a label (default: the predicted one), by removing one word at a time. Costs one embedding per word. */
  explain(text: string, options?: { label?: string; signal?: AbortSignalLike | undefined }): Promise<Explanation>;
  /** The files for `Classifier.load`. They do not contain the embedding model. */
  save(): { 'classifier.json': Uint8Array; 'classifier.safetensors': Uint8Array };
}
