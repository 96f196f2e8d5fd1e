// The public types of AutoModelForCausalLM and AutoModelForSeq2SeqLM.
import type { Tensor } from './tensor.js';
import type { AbortSignalLike, MemoryInfo, ModelInfo, ModelInputs } from './types.js';

export interface CausalForwardOptions {
  /** Default `false`. */
  output_hidden_states?: boolean;
  /** Default `false`. */
  output_attentions?: boolean;
  /** Default `true`. */
  output_logits?: boolean;
  /** `[layers, heads]` or `[heads]`: what attentions are multiplied by. */
  head_mask?: readonly number[] | readonly (readonly number[])[];
  /**
   * So many of the tokens that each layer would choose: its output through the final norm and the head (nostalgebraist 2020). Default 0: none.
   */
  logit_lens?: number;
  /** Ends the call with an `AbortError`, between two sequences. */
  signal?: AbortSignalLike | undefined;
}

/** Masked tokens are left out: positions count from the first that is there, and their numbers are zeros. */
export interface CausalOutput {
  /** `[batch, seq, vocab]`. */
  logits?: Tensor<'float32'>;
  /** `[batch, seq, hidden]`, after the final norm. */
  last_hidden_state: Tensor<'float32'>;
  /** The embeddings, then each layer, the last after the final norm: `[batch, seq, hidden]`. */
  hidden_states?: Tensor<'float32'>[];
  /** Of each layer: `[batch, heads, seq, seq]`. */
  attentions?: Tensor<'float32'>[];
  /** `[layers + 1, batch, seq, logit_lens]`: ids, the likeliest first, and their logits. */
  logit_lens?: { ids: Tensor<'int32'>; logits: Tensor<'float32'> };
}

export interface CausalModel {
  (inputs: Omit<ModelInputs, 'token_type_ids'>, options?: CausalForwardOptions): Promise<CausalOutput>;
  readonly config: Record<string, unknown>;
  info(): ModelInfo;
  memory(): MemoryInfo;
  dispose(): Promise<void>;
  [Symbol.dispose](): void;
  [Symbol.asyncDispose](): Promise<void>;
}

export interface Seq2SeqInputs extends Omit<ModelInputs, 'token_type_ids'> {
  /** What the decoder has so far, `decoder_start_token_id` first. */
  decoder_input_ids: ModelInputs['input_ids'];
  decoder_attention_mask?: ModelInputs['attention_mask'];
}

export interface Seq2SeqForwardOptions {
  /** Default `false`. */
  output_hidden_states?: boolean;
  /** Default `false`. */
  output_attentions?: boolean;
  /** Ends the call with an `AbortError`, between two sequences. */
  signal?: AbortSignalLike | undefined;
}

/** What is masked is left out, and its numbers are zeros. */
export interface Seq2SeqOutput {
  /** `[batch, target, vocab]`. */
  logits: Tensor<'float32'>;
  /** `[batch, source, hidden]`. */
  encoder_last_hidden_state: Tensor<'float32'>;
  /** The embeddings, then each layer: `[batch, source, hidden]`. */
  encoder_hidden_states?: Tensor<'float32'>[];
  /** `[batch, target, hidden]`. */
  decoder_hidden_states?: Tensor<'float32'>[];
  /** Of each layer: `[batch, heads, source, source]`. */
  encoder_attentions?: Tensor<'float32'>[];
  /** `[batch, heads, target, target]`. */
  decoder_attentions?: Tensor<'float32'>[];
  /** `[batch, heads, target, source]`. */
  cross_attentions?: Tensor<'float32'>[];
}

export interface Seq2SeqModel {
  (inputs: Seq2SeqInputs, options?: Seq2SeqForwardOptions): Promise<Seq2SeqOutput>;
  readonly config: Record<string, unknown>;
  info(): ModelInfo;
  memory(): MemoryInfo;
  dispose(): Promise<void>;
  [Symbol.dispose](): void;
  [Symbol.asyncDispose](): Promise<void>;
}
