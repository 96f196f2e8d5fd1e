// What crosses to the WebAssembly that trains loaded models (bindings/train.cpp).
import type { Answer, HeadKind, SeamModel } from '../host/seam.js';
import type { TrainingPlan } from './types.js';

export interface SeamNamedTensor {
  name: string;
  dims: number[];
  data: Float32Array;
}

export interface SeamTrainOptions {
  method: string;
  /** A new head, which config says more of. */
  head?: HeadKind;
  config: string;
  dropout?: boolean;
  loss: string;
  r?: number;
  lora_alpha?: number;
  use_rslora?: boolean;
  use_dora?: boolean;
  lora_dropout?: number;
  bias?: string;
  target_modules?: string[];
  last_layers?: number;
  scale?: number;
  margin?: number;
  temperature?: number;
  label_smoothing_factor?: number;
  learning_rate: number;
  adam_beta1?: number;
  adam_beta2?: number;
  adam_epsilon?: number;
  weight_decay?: number;
  lr_scheduler_type?: string;
  warmup_steps?: number;
  max_steps?: number;
  max_grad_norm?: number;
  max_length?: number;
  checkpointing?: boolean;
  freeze_embeddings?: boolean;
  seed?: number;
}

export interface SeamBegun {
  target_modules: string[];
  /** What PEFT would find, too, under those names. */
  excluded_modules: string[];
  fingerprint: string;
}

export type SeamPlan = Omit<TrainingPlan, 'total'>;

export interface SeamStep {
  step: number;
  loss: number;
  grad_norm: number;
  learning_rate: number;
  tokens: number;
}

/** Rows as they cross. */
export type SeamRows = [
  text: Uint8Array,
  lengths: Int32Array,
  pairText: Uint8Array | null,
  pairLengths: Int32Array | null,
  labels: Int32Array,
  scores: Float32Array,
  isRendered: boolean,
];

/** What a loss reads: `[rows, width]`, and the labels of rows that are tokens. */
export interface SeamOutputs {
  values: Float32Array;
  width: number;
  labels: Int32Array;
}

/** A model of the WebAssembly that trains. */
export interface SeamTrainer extends SeamModel {
  train_begin(options: SeamTrainOptions): Answer & SeamBegun;
  train_plan(tokens: number, maxSeq: number, parts: number, words: number): Answer & SeamPlan;
  train_words(...rows: SeamRows): Answer & { words: number };
  train_count(...rows: SeamRows): Answer & { learned: number };
  train_accumulate(...rows: [...SeamRows, share: number]): Answer & { loss: number };
  train_outputs(...rows: [...SeamRows, isWhole: boolean, learns: boolean]): Answer & SeamOutputs;
  train_gradient(dValues: Float32Array, loss: number): Answer;
  train_drop(): Answer;
  train_evaluate(
    text: Uint8Array,
    lengths: Int32Array,
    pairText: Uint8Array | null,
    pairLengths: Int32Array | null,
    labels: Int32Array,
    isRendered: boolean,
  ): Answer & { sum: number; tokens: number };
  train_update(): Answer & SeamStep;
  train_state(): Answer & { state: Float32Array };
  train_set_state(state: Float32Array, step: number): Answer;
  train_adapter(): Answer & { tensors: SeamNamedTensor[] };
  checkpoint(): Answer & { tensors: SeamNamedTensor[] };
}
