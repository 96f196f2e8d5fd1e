/// <reference lib="esnext.disposable" preserve="true" />
// Public types of AutoModelForCausalLM and AutoModelForSeq2SeqLM.
import type { Tensor } from '../core/tensor.js';
import type { AbortSignalLike } from '../core/types.js';
import type { ForwardOptions, LogitLens, MemoryInfo, ModelInfo, ModelInputs } from '../engine/types.js';

export interface CausalForwardOptions {
  /** Default `false`. */
  output_hidden_states?: boolean;
  /** Default `false`. */
  output_attentions?: boolean;
  /** Adds `queries`, `keys` and `values`. Default `false`. */
  output_qkv?: boolean;
  /** Default `true`. */
  output_logits?: boolean;
  /** `[layers, heads]` or `[heads]`: what attentions are multiplied by. */
  head_mask?: ForwardOptions['head_mask'];
  /** Numbers put in place of the model's own, as in `ForwardOptions`; also `'final_norm.output'`. */
  patch?: ForwardOptions['patch'];
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
  /** Of each layer, as the scores are made of them: `[batch, heads, seq, head_dim]`. */
  queries?: Tensor<'float32'>[];
  /** `[batch, num_key_value_heads, seq, head_dim]`. */
  keys?: Tensor<'float32'>[];
  values?: Tensor<'float32'>[];
  logit_lens?: LogitLens;
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
  /** Adds queries, keys and values of encoder, decoder and cross attention. Default `false`. */
  output_qkv?: boolean;
  /** What attentions are multiplied by, `[layers, heads]` or `[heads]`: the encoder's, the decoder's, those over the source. */
  head_mask?: ForwardOptions['head_mask'];
  decoder_head_mask?: ForwardOptions['head_mask'];
  cross_attn_head_mask?: ForwardOptions['head_mask'];
  /** As in `CausalForwardOptions`, of the decoder. */
  logit_lens?: number;
  /**
   * Numbers put in place of the model's own, as in `ForwardOptions`. Names begin with `encoder.` or `decoder.`:
   * `'encoder.layer.0.output'`, `'decoder.layer.1.attention.query'`, `'decoder.layer.1.cross_attention.key'` (`query`, `value`, `context`,
   * `output`). Keys and values of cross attention are the source's, `[batch, source, width]`.
   */
  patch?: ForwardOptions['patch'];
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
  /** Of each layer, as the scores are made of them: `[batch, heads, source, head_dim]`. */
  encoder_queries?: Tensor<'float32'>[];
  encoder_keys?: Tensor<'float32'>[];
  encoder_values?: Tensor<'float32'>[];
  /** `[batch, heads, target, head_dim]`. */
  decoder_queries?: Tensor<'float32'>[];
  decoder_keys?: Tensor<'float32'>[];
  decoder_values?: Tensor<'float32'>[];
  /** `[batch, heads, target, head_dim]`. */
  cross_queries?: Tensor<'float32'>[];
  /** `[batch, heads, source, head_dim]`. */
  cross_keys?: Tensor<'float32'>[];
  cross_values?: Tensor<'float32'>[];
  /** Of the decoder. */
  logit_lens?: LogitLens;
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
