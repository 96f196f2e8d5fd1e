// Public types of training.
import type { LoadOptions } from '../engine/types.js';
import type { AbortSignalLike } from '../core/types.js';
import type { Tensor } from '../core/tensor.js';
import type { TrainLoss } from '../host/wire.js';
import type { Tensor as NnTensor } from '../nn/tensor.js';
import type { Chat } from '../tokenizer/types.js';

/** Losses of sentence-transformers, and SetFit's `SupConLoss`. */
export type SentenceLoss = Exclude<TrainLoss, HeadLoss | `own_${string}`>;

/** Losses of torch, over a head's logits. */
export type HeadLoss = 'CrossEntropyLoss' | 'BCEWithLogitsLoss' | 'MSELoss';

/** The model's outputs that a custom loss reads, for the rows of an update or a part of it. */
export interface LossOutputs {
  /**
   * Sentence embeddings, as returned by `embed`, `[rows, dim]`: one tensor per column of texts, such as anchors and positives. Only for models without a
   * head. The type has three, so a loss can destructure as many as its rows have.
   */
  embeddings: [NnTensor, NnTensor, NnTensor];
  /** A head's logits: `[rows, labels]`; for token heads `[tokens, labels]`, for language models `[tokens to learn, vocabulary]`. */
  logits: NnTensor;
  /** The target of each token, `[tokens]`; -100 for tokens that do not count. Only for token heads and language models. */
  labels: Tensor<'int32'>;
}

/**
 * A custom loss: a function, written with `nn`, of the model's outputs and of the rows passed to `fit`, with all their members. It returns one number,
 * whose gradient flows back into the model. Modules of `nn` inside it need their own optimizer.
 *
 * @example
 * // Cosines become what a teacher says.
 * const { cosine_similarity, mse_loss } = nn.functional;
 * const trainer = await Trainer.from_pretrained('./models/bert', {
 *   task: 'feature-extraction',
 *   loss: ({ embeddings: [a, b] }, rows) => mse_loss(cosine_similarity(a, b), nn.tensor(rows.map(({ teacher }) => teacher))),
 * });
 */
export type OwnLoss = (outputs: LossOutputs, rows: any[]) => NnTensor | Promise<NnTensor>;

/** Options of `Trainer.from_pretrained`: what to train, and how. */
export interface TrainerOptions extends Omit<LoadOptions, 'dtype' | 'worker' | 'context_length'> {
  /**
   * `'text-classification'`: rows `{ text[, text_pair], label }`, `{ text, labels }` (any number of labels) or with a number as label
   * (regression). A sentence-embedding model learns labelled texts by SetFit's recipe (arXiv 2209.11055): steps that pull texts of one label
   * together, then a classifier on the vectors. Other rows, `loss: 'CrossEntropyLoss'` and checkpoints that have a head train a head.
   *
   * `'token-classification'`: rows `{ tokens, ner_tags }`, words with a tag each.
   *
   * `'text-generation'`: a decoder as a language model. Rows `{ messages }`, of which the assistant's answers are learned, or `{ text }`, of which
   * all is.
   *
   * `'text2text-generation'`: an encoder-decoder (T5, BART, Marian). Rows `{ text, target }`; the text may also be called `source`, `input`,
   * `document` or `article`, the target `summary`, `output` or `highlights`.
   *
   * `'feature-extraction'`: sentence vectors, from pairs, scored pairs, triplets or labelled texts.
   */
  task: 'text-classification' | 'token-classification' | 'text-generation' | 'text2text-generation' | 'feature-extraction';
  /** Trains in a Web Worker (in Node, a worker thread), so that a page is never blocked. Default `false`. */
  worker?: boolean;
  /**
   * Which weights to train. `'lora'` (default): low-rank adapters of some matrices (arXiv 2106.09685), saved as a small file. `'full'`: all layers and,
   * unless `freeze_embeddings` is set, the embeddings. `'last_layers'`: the last `last_layers` layers. `'head'`: only the head. Every method also trains
   * the head, if there is one.
   */
  method?: 'lora' | 'full' | 'last_layers' | 'head';
  /** LoRA: the rank. Default 8. */
  r?: number;
  /** LoRA: the product is multiplied by `lora_alpha / r`. Default `2 * r`. */
  lora_alpha?: number;
  /** LoRA: multiplies by `lora_alpha / sqrt(r)` instead (arXiv 2312.03732). Default `false`. */
  use_rslora?: boolean;
  /** LoRA: trains the length of each weight row separately from its direction (DoRA, arXiv 2402.09353). Default `false`. */
  use_dora?: boolean;
  /** LoRA: the fraction of a module's inputs that the adapter drops at random in each update, as in PEFT. Default 0. */
  lora_dropout?: number;
  /** LoRA: which biases are trained and saved with the adapter: `'none'` (default), `'all'`, or `'lora_only'`, those of the target modules. */
  bias?: 'none' | 'all' | 'lora_only';
  /**
   * LoRA: the modules that get an adapter, by the last parts of their names in the checkpoint, as in PEFT, or `'all-linear'`. Default: queries and
   * values (`['query', 'value']` for BERT, `['q_proj', 'v_proj']` for Llama).
   */
  target_modules?: readonly string[] | 'all-linear';
  /**
   * LoRA: modules that are fully trained and saved with the adapter, by the ends of their names in the checkpoint, as in PEFT: `['pooler']`,
   * `['embed_tokens', 'lm_head']`, `['LayerNorm']`. A new head, or a classifier's, is always trained. Tied embeddings stay tied. If no module matches,
   * an `InputError` names similar ones.
   */
  modules_to_save?: readonly string[];
  /** With `method: 'last_layers'`: the number of layers to train; for an encoder-decoder, those of the decoder. Default 2. */
  last_layers?: number;
  /**
   * The loss. Default: `'SupConLoss'` for labelled texts, `'MultipleNegativesRankingLoss'` for `{ anchor, positive[, negative] }`, `'CoSENTLoss'` for `{
   * sentence1, sentence2, score }`. For a head: `'CrossEntropyLoss'`, `'BCEWithLogitsLoss'` for `labels`, `'MSELoss'` for numbers. A checkpoint with a
   * head is trained on its own labels; for other labels, `'SupConLoss'` ignores that head.
   *
   * A function: a custom loss over the sentence embeddings, or over the logits of a checkpoint's head (see `OwnLoss`). Rows then only need texts, and
   * may have any other members. It always runs on the caller's thread, even with a worker, and also evaluates the validation set.
   */
  loss?: SentenceLoss | HeadLoss | OwnLoss;
  /** Factor of cosines in MultipleNegativesRankingLoss and CoSENTLoss. Default 20. */
  scale?: number;
  /** Margin of the loss. Default 0.5 for ContrastiveLoss, 5 for TripletLoss and BatchAllTripletLoss. */
  margin?: number;
  /** Temperature of SupConLoss. Default 0.1. */
  temperature?: number;
  /**
   * The fraction of a label that CrossEntropyLoss spreads evenly over all labels, from 0 to 1 (arXiv 1512.00567), as in transformers. Not used for
   * validation. Default 0.
   */
  label_smoothing_factor?: number;
  /** Number of passes over all rows. Default 1; for a head 3; for few labelled texts, as many as `max_steps` needs. */
  epochs?: number;
  /** Number of updates, instead of `epochs`. Default for labelled texts: 40, more with more rows. */
  max_steps?: number;
  /** Rows per update. Default 24, or 64 with more than 24 labels; for a head 16. */
  batch_size?: number;
  /**
   * Splits a batch into this many parts that run one after another, to save memory. Parts are weighted by their number of texts (for language models and
   * tags: tokens), so the gradient equals that of the whole batch. Losses that compare texts only compare texts within a part. Default 1.
   */
  gradient_accumulation_steps?: number;
  /** Learning rate of AdamW. Default 2e-3 for LoRA, 1e-4 otherwise; with a head 1e-3 for LoRA, 5e-5 for layers, 1e-2 for `'head'`. */
  learning_rate?: number;
  /** The learning rate after the warm-up. `'linear'` (default): falls linearly to 0. `'cosine'`: falls to 0 along a half cosine. */
  lr_scheduler_type?: 'linear' | 'cosine' | 'constant' | 'constant_with_warmup';
  /** Number of updates of the warm-up. Default: a tenth of all updates. */
  warmup_steps?: number;
  /** Weight decay of AdamW, for matrices. Default 0.01. */
  weight_decay?: number;
  /** Decay rate of AdamW's average of gradients. Default 0.9. */
  adam_beta1?: number;
  /** Decay rate of AdamW's average of squared gradients. Default 0.999. */
  adam_beta2?: number;
  /** Added to AdamW's denominator. Default 1e-8. */
  adam_epsilon?: number;
  /** Maximum gradient norm; gradients are clipped to it. 0: no clipping. Default 1. */
  max_grad_norm?: number;
  /** Maximum tokens of a text. Default: the model's own limit, for a language model at most 1024. */
  max_length?: number;
  /** `true` applies dropout where transformers does, with the rates in config.json. Default `false`. */
  dropout?: boolean;
  /** `true` recomputes a layer's activations instead of keeping them, to save memory. The results are the same. Default `false`. */
  checkpointing?: boolean;
  /**
   * With `method: 'full'`: does not train the embeddings of words, positions and token types, nor a language model's head. They are most of a small
   * model's weights, and training them takes memory for each word in the rows, and for all of a language model's head. Default `false`.
   */
  freeze_embeddings?: boolean;
  /** Seed for the order of rows and LoRA's initial values. Default 0. */
  seed?: number;
}

/** A text and its label. */
export interface LabelledText {
  /** The text, or the first of a pair. */
  text: string;
  /** A second text, for models that classify pairs. */
  text_pair?: string;
  /** The label. A number means regression. */
  label: string | number;
}
/** A text with any number of labels. */
export interface ManyLabels {
  /** The text, or the first of a pair. */
  text: string;
  /** The second text of a pair. */
  text_pair?: string;
  /** The labels that apply. */
  labels: readonly string[];
}
/** Words with tags, under the usual names of data sets. Tags are names such as `'B-LOC'`, or their indices. */
export interface TaggedWords {
  /** The words of a sentence. */
  tokens: readonly string[];
  /** A tag for each word. */
  ner_tags: readonly string[] | readonly number[];
}
/** Texts that belong together, such as a question and its answer. */
export interface AnchorRow {
  /** A text, such as a question. */
  anchor: string;
  /** A text that belongs to the anchor, such as the answer. */
  positive: string;
  /** A text that does not belong to the anchor, though it may look similar. */
  negative?: string;
}
/** Two sentences with a human similarity score. */
export interface ScoredPair {
  /** The first sentence. */
  sentence1: string;
  /** The second sentence. */
  sentence2: string;
  /** The score, from 0 to 1; for ContrastiveLoss 0 or 1. */
  score: number;
}
/** A row for a language model. */
export type LanguageRow =
  | {
      /** A text to learn. */
      text: string;
    }
  | {
      /** A chat, which the model's template formats. */
      messages: Chat;
    };
/** A row for an encoder-decoder: an input and a target, each under one of these names. */
export type TransformedText = (
  | {
      /** The input text. */
      text: string;
    }
  | {
      /** Another name for `text`. */
      source: string;
    }
  | {
      /** Another name for `text`. */
      input: string;
    }
  | {
      /** Another name for `text`. */
      document: string;
    }
  | {
      /** Another name for `text`. */
      article: string;
    }
) &
  (
    | {
        /** The expected output. */
        target: string;
      }
    | {
        /** Another name for `target`. */
        summary: string;
      }
    | {
        /** Another name for `target`. */
        output: string;
      }
    | {
        /** Another name for `target`. */
        highlights: string;
      }
  );
/** A row for a custom loss: texts, and any other members that the loss reads. */
export type OwnRow = (
  | {
      /** A single text. */
      text: string;
    }
  | {
      /** The first of two texts. */
      sentence1: string;
      /** The second of two texts. */
      sentence2: string;
    }
) &
  Readonly<Record<string, unknown>>;
/** A row of a training set. All rows of a set must have the same form. */
export type TrainingRow = OwnRow | LabelledText | LanguageRow | TransformedText | ManyLabels | TaggedWords | AnchorRow | ScoredPair;

/** Options of `Trainer.fit`. */
export interface FitOptions {
  /** Rows of the same form for evaluation only. The weights of the best evaluation are kept. */
  validation?: readonly TrainingRow[];
  /** Number of updates between two evaluations. Default: an epoch, at most a fifth of all updates. */
  eval_steps?: number;
  /** Stops training after this many evaluations in a row without improvement. Default: never. */
  early_stopping_patience?: number;
  /**
   * Bytes from `trainer.state()` of a run with the same rows, options and model. Resumes that run, with identical results. Throws a `StateError` if
   * something differs.
   */
  resume_from_checkpoint?: Uint8Array;
  /** Stops training after the current update. The weights so far are kept. */
  signal?: AbortSignalLike | undefined;
}

/** The report of one update. */
export interface TrainingReport {
  /** Updates so far. */
  step: number;
  /** Total number of updates. */
  max_steps: number;
  /** Number of passes over the rows so far; may be fractional. */
  epoch: number;
  /** Mean loss of this update's rows. */
  loss: number;
  /** Euclidean norm of the gradient, before clipping. */
  grad_norm: number;
  /** Learning rate of this update. */
  learning_rate: number;
  /** Number of tokens in this update. */
  tokens: number;
  /** Estimated seconds left. */
  seconds_left: number;
  /** The evaluation after this update, if there was one. */
  evaluation?: Evaluation;
}

/** The results on a validation set, from 0 to 1; `spearman` from -1. */
export interface Evaluation {
  /**
   * The fraction of labelled texts that are correct; without a head, by the nearest mean vector of a label's training rows. For anchors: the fraction
   * whose own positive is the nearest.
   */
  accuracy?: number;
  /** Macro F1 for labelled texts. */
  macro_f1?: number;
  /** F1 over all labels of all texts for several labels; for tagged words, over entities, which must match exactly. */
  f1?: number;
  /** Mean loss per token of a language model, or the mean of a custom loss. */
  loss?: number;
  /** `e` to the power of `loss`. */
  perplexity?: number;
  /** Mean squared error, for regression. */
  mse?: number;
  /** Spearman correlation with the scores: of pairs' cosines, or of a head's numbers. */
  spearman?: number;
  /** Whether this is the best evaluation so far. */
  best: boolean;
}

/** The memory for training, in bytes. */
export interface TrainingPlan {
  /** Number of weights that are trained. */
  trainable: number;
  /** Number of all weights. */
  all: number;
  /** Bytes of the model itself. */
  weights: number;
  /** Bytes of gradients: one number per trained weight; for embeddings, only for the words of an update. */
  gradients: number;
  /** Bytes of AdamW's state: two numbers per trained weight; for embeddings, only for words that occur in the rows. */
  optimizer: number;
  /** Bytes of activations that the forward pass keeps for the backward pass. */
  activations: number;
  /** The sum of the four. */
  total: number;
}

/** The files from `Trainer.save`, by name. */
export type TrainedFiles = Record<string, Uint8Array>;
