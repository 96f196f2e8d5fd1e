// Public types of training.
import type { LoadOptions } from '../engine/types.js';
import type { AbortSignalLike } from '../core/types.js';
import type { Tensor } from '../core/tensor.js';
import type { TrainLoss } from '../host/wire.js';
import type { Tensor as NnTensor } from '../nn/tensor.js';
import type { Chat } from '../tokenizer/types.js';

/** sentence-transformers' losses, and SetFit's `SupConLoss`. */
export type SentenceLoss = Exclude<TrainLoss, HeadLoss | `own_${string}`>;

/** torch's losses, of a head's logits. */
export type HeadLoss = 'CrossEntropyLoss' | 'BCEWithLogitsLoss' | 'MSELoss';

/** What a loss of one's own reads of a model, for the rows of an update or a part of it. */
export interface LossOutputs {
  /**
   * Sentence vectors as `embed` gives them, `[rows, dim]`: a tensor for each column of texts, as of anchors and positives. Only of models without a
   * head. The type has three, so that a loss may take out as many as its rows have.
   */
  embeddings: [NnTensor, NnTensor, NnTensor];
  /** Only of a head: `[rows, labels]`; of heads over tokens `[tokens, labels]`, of language models `[tokens to learn, vocabulary]`. */
  logits: NnTensor;
  /** `[tokens]`, only of heads over tokens and of language models: what each token should be, -100 where it does not count. */
  labels: Tensor<'int32'>;
}

/**
 * A loss of one's own: a function of `nn` over what the model gives, and of the rows as they were given to `fit`, with all their members. It
 * returns one number, whose gradient goes back into the model. Modules of `nn` in it learn by an optimizer of their own.
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

/** Options of `Trainer.from_pretrained`: what is trained, and how. */
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
  /** Trains in a Web Worker (in Node a worker thread), so that a page never waits. Default `false`. */
  worker?: boolean;
  /**
   * `'lora'` (default): low-rank additions to some matrices (arXiv 2106.09685), a small file. `'full'`: all layers and, without
   * `freeze_embeddings`, the embeddings. `'last_layers'`: the last `last_layers` layers. `'head'`: the head alone. A head, if there is one, is trained by each method.
   */
  method?: 'lora' | 'full' | 'last_layers' | 'head';
  /** LoRA: the rank. Default 8. */
  r?: number;
  /** LoRA: the product is multiplied by `lora_alpha / r`. Default `2 * r`. */
  lora_alpha?: number;
  /** LoRA: multiplies by `lora_alpha / sqrt(r)` instead (arXiv 2312.03732). Default `false`. */
  use_rslora?: boolean;
  /** LoRA: the length of each row of a weight is learned apart from its direction (DoRA, arXiv 2402.09353). Default `false`. */
  use_dora?: boolean;
  /** LoRA: the share of what a matrix reads that its addition drops at random in each update, as in PEFT. Default 0. */
  lora_dropout?: number;
  /**
   * LoRA: biases that are trained too: `'none'` (default), `'all'` of the model, or `'lora_only'`, those of the target modules. Saved with the
   * adapter.
   */
  bias?: 'none' | 'all' | 'lora_only';
  /**
   * LoRA: the last parts of the matrices' names in the checkpoint, as in PEFT, or `'all-linear'`. Default: queries and values (`['query',
   * 'value']` of a BERT, `['q_proj', 'v_proj']` of a Llama).
   */
  target_modules?: readonly string[] | 'all-linear';
  /**
   * LoRA: modules that are trained whole beside it and saved with the adapter, by the ends of their names in the checkpoint, as in PEFT:
   * `['pooler']`, `['embed_tokens', 'lm_head']`, `['LayerNorm']`. A new head, or that of a classifier, is trained in any case. Embeddings that are
   * the head over the vocabulary, too, remain one. An `InputError` names modules that are alike if there is none.
   */
  modules_to_save?: readonly string[];
  /** With `method: 'last_layers'`; of an encoder-decoder the decoder's. Default 2. */
  last_layers?: number;
  /**
   * Default: `'SupConLoss'` for labelled texts, `'MultipleNegativesRankingLoss'` for `{ anchor, positive[, negative] }`, `'CoSENTLoss'` for
   * `{ sentence1, sentence2, score }`. Of a head: `'CrossEntropyLoss'`, `'BCEWithLogitsLoss'` for `labels`, `'MSELoss'` for numbers. A checkpoint
   * that has a head learns its labels; for other labels, `'SupConLoss'` leaves that head alone.
   *
   * A function: a loss of one's own over the sentence vectors, or over the logits of a checkpoint's head (see `OwnLoss`). Rows may then have
   * only their texts, and any other members. It runs where it was written, with a worker too, and a validation set is judged by it.
   */
  loss?: SentenceLoss | HeadLoss | OwnLoss;
  /** What cosines are multiplied by in MultipleNegativesRankingLoss and CoSENTLoss. Default 20. */
  scale?: number;
  /** Default 0.5 for ContrastiveLoss, 5 for TripletLoss and BatchAllTripletLoss. */
  margin?: number;
  /** The temperature of SupConLoss. Default 0.1. */
  temperature?: number;
  /**
   * The share of a label that CrossEntropyLoss spreads evenly over all labels, from 0 to 1 (arXiv 1512.00567), as in transformers. Validation
   * judges without it. Default 0.
   */
  label_smoothing_factor?: number;
  /** Passes over all rows. Default 1, of a head 3; few labelled texts are passed as often as `max_steps` needs. */
  epochs?: number;
  /** Updates of the weights; instead of epochs. Default for labelled texts: 40, and more with more rows. */
  max_steps?: number;
  /** Rows of an update. Default 24, and 64 where there are more than 24 labels; of a head 16. */
  batch_size?: number;
  /**
   * Divides a batch into so many parts that run one after the other, for memory. A part counts for the texts or, with language models and tags,
   * the tokens that it has, so the gradient is that of the whole batch. Losses that compare texts compare those of a part. Default 1.
   */
  gradient_accumulation_steps?: number;
  /** AdamW's. Default 2e-3 for LoRA, 1e-4 otherwise; with a head 1e-3 for LoRA, 5e-5 for layers, 1e-2 for `'head'`. */
  learning_rate?: number;
  /** `'linear'` (default): from the end of the warm-up down to 0. `'cosine'`: likewise, along half a cosine. */
  lr_scheduler_type?: 'linear' | 'cosine' | 'constant' | 'constant_with_warmup';
  /** Default: a tenth of all updates. */
  warmup_steps?: number;
  /** AdamW's, of matrices. Default 0.01. */
  weight_decay?: number;
  /** AdamW's. Defaults 0.9, 0.999, 1e-8. */
  adam_beta1?: number;
  /** How slowly AdamW forgets the squares of gradients. Default 0.999. */
  adam_beta2?: number;
  /** What AdamW adds to the divisor. Default 1e-8. */
  adam_epsilon?: number;
  /** The norm that gradients are clipped to; 0: they are not. Default 1. */
  max_grad_norm?: number;
  /** Maximum tokens of a text. Default: the model's own limit, and at most 1024 of a language model. */
  max_length?: number;
  /** `true`: drops activations at random, where transformers does and with the rates of config.json. Default `false`. */
  dropout?: boolean;
  /** `true`: computes the activations of a layer twice instead of keeping them, for less memory. The results are the same. Default `false`. */
  checkpointing?: boolean;
  /**
   * With `method: 'full'`: whether words, positions, token types and a language model's head stay as they are. They are most of the weights of a
   * small model; each word that occurs in the rows takes memory in training, and all of a language model's head does. Default `false`.
   */
  freeze_embeddings?: boolean;
  /** The seed for the order of rows and LoRA's first values. Default 0. */
  seed?: number;
}

/** A text and its label. */
export interface LabelledText {
  /** The text, or the first of a pair. */
  text: string;
  /** A second text, for models that judge pairs. */
  text_pair?: string;
  /** A number: regression. */
  label: string | number;
}
/** A text with any number of labels. */
export interface ManyLabels {
  /** The text, or the first of a pair. */
  text: string;
  /** The second text of a pair. */
  text_pair?: string;
  /** Those that hold. */
  labels: readonly string[];
}
/** The data sets' names; tags as `'B-LOC'`, or their numbers. */
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
  /** A text that does not belong to the anchor, though it may look like it. */
  negative?: string;
}
/** Two sentences, and how alike people find them. */
export interface ScoredPair {
  /** The first sentence. */
  sentence1: string;
  /** The second sentence. */
  sentence2: string;
  /** From 0 to 1; for ContrastiveLoss 0 or 1. */
  score: number;
}
/** For language models. */
export type LanguageRow =
  | {
      /** A text to continue. */
      text: string;
    }
  | {
      /** A chat, which the model's template formats. */
      messages: Chat;
    };
/** For encoder-decoders: what is read, and what is to be made of it, by one of these names each. */
export type TransformedText = (
  | {
      /** What is read. */
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
        /** What is to be made of the text. */
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
/** With a loss of one's own: texts, and whatever the loss reads. */
export type OwnRow = (
  | {
      /** A text by itself. */
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
/** All rows of a set are of one kind. */
export type TrainingRow = OwnRow | LabelledText | LanguageRow | TransformedText | ManyLabels | TaggedWords | AnchorRow | ScoredPair;

/** Options of `Trainer.fit`. */
export interface FitOptions {
  /** Rows of the same kind that are judged, never learned from. The weights of the best evaluation are kept. */
  validation?: readonly TrainingRow[];
  /** Updates between two evaluations. Default: an epoch, at most a fifth of all updates. */
  eval_steps?: number;
  /** Ends the training after so many evaluations in a row without a better one. Default: never. */
  early_stopping_patience?: number;
  /**
   * What `trainer.state()` gave during a run with the same rows, options and model: goes on from there, to the same bits. A `StateError` says
   * what differs.
   */
  resume_from_checkpoint?: Uint8Array;
  /** Ends the training after the current step; the weights so far are kept. */
  signal?: AbortSignalLike | undefined;
}

/** What one update did. */
export interface TrainingReport {
  /** Updates so far. */
  step: number;
  /** Updates of the whole run. */
  max_steps: number;
  /** Passes over the rows so far, a fraction. */
  epoch: number;
  /** The mean loss of this update's rows. */
  loss: number;
  /** The Euclidean norm of the gradient, before clipping. */
  grad_norm: number;
  /** The learning rate of this update. */
  learning_rate: number;
  /** Tokens of this update. */
  tokens: number;
  /** Estimated from the updates and evaluations so far. */
  seconds_left: number;
  /** After some updates, with `validation`. */
  evaluation?: Evaluation;
}

/** The measures of a validation set, from 0 to 1; spearman from -1. */
export interface Evaluation {
  /**
   * The share of labelled texts that is right, without a head by the nearest of the labels' mean vectors over the training rows. Of anchors: the share whose own
   * positive is the nearest of all.
   */
  accuracy?: number;
  /** Macro F1 of labelled texts. */
  macro_f1?: number;
  /** F1 of several labels, over all labels of all texts; of tagged words, over entities, which must be right as a whole. */
  f1?: number;
  /** The mean loss of a language model's token, and e to its power; the mean of a loss of one's own. */
  loss?: number;
  /** e to the power of `loss`. */
  perplexity?: number;
  /** The mean squared error of numbers. */
  mse?: number;
  /** The rank correlation of scores: of pairs' cosines, or of a head's numbers. */
  spearman?: number;
  /** Whether no evaluation before was better. */
  best: boolean;
}

/** What training takes, in bytes. */
export interface TrainingPlan {
  /** Weights that change, of how many. */
  trainable: number;
  /** All weights of the model. */
  all: number;
  /** The model itself. */
  weights: number;
  /** A number for each weight that changes; of words, for those of an update. */
  gradients: number;
  /** AdamW's two numbers for each weight that changes; of words, for those that occur in the rows. */
  optimizer: number;
  /** What a step keeps of its forward pass for the backward pass. */
  activations: number;
  /** The sum of the four. */
  total: number;
}

/** A Trainer's files by name. */
export type TrainedFiles = Record<string, Uint8Array>;
