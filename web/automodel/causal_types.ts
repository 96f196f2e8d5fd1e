// Public types of AutoModelForCausalLM and AutoModelForSeq2SeqLM.
import type { Tensor } from '../core/tensor.js';
import type { Generates } from '../generation/generation_types.js';
import type { ForwardOptions, Loaded, LogitLens, ModelInputs, ModelOutput, OutputWith } from '../engine/types.js';

/** Options of a decoder's forward pass. `patch` also accepts `'final_norm.output'`. */
export interface CausalForwardOptions extends ForwardOptions {
  /** Include the logits in the result. Default `true`. */
  output_logits?: boolean;
}

/**
 * `logits` are `[batch, seq, vocab]`. `last_hidden_state` and the last of `hidden_states` come after the final norm. Keys and values are
 * `[batch, num_key_value_heads, seq, head_dim]`. Masked tokens are skipped: positions count from the first unmasked token, and outputs of
 * masked ones are zeros.
 */
export type CausalOutput = Omit<ModelOutput, 'pooler_output' | 'start_logits' | 'end_logits'>;

/** A loaded decoder. `await model({ input_ids })` returns logits; `await model.generate({ input_ids })` returns generated token ids. */
export interface CausalModel extends Loaded, Generates {
  <Options extends CausalForwardOptions = {}>(
    inputs: Omit<ModelInputs, 'token_type_ids'>,
    options?: Options,
  ): Promise<
    OutputWith<CausalOutput, Options> & (Options extends { output_logits: false } ? unknown : { logits: Tensor<'float32'> })
  >;
  /** The contents of config.json. */
  readonly config: Record<string, unknown>;
}

/** The input of an encoder-decoder. */
export interface Seq2SeqInputs extends Omit<ModelInputs, 'token_type_ids'> {
  /** The decoder's tokens so far, beginning with `decoder_start_token_id`. */
  decoder_input_ids: ModelInputs['input_ids'];
  /** `[batch, target]` of 0 and 1. Tokens with 0 are skipped, and their outputs are zeros. Default: all 1. */
  decoder_attention_mask?: ModelInputs['attention_mask'];
}

/** Options of an encoder-decoder's forward pass. */
export interface Seq2SeqForwardOptions extends ForwardOptions {
  /** Factors for the encoder's attention weights, `[layers, heads]`, or `[heads]` for all layers. */
  head_mask?: NonNullable<ForwardOptions['head_mask']>;
  /** The same for the decoder's self-attention. */
  decoder_head_mask?: NonNullable<ForwardOptions['head_mask']>;
  /** The same for cross-attention. */
  cross_attn_head_mask?: NonNullable<ForwardOptions['head_mask']>;
  /**
   * Activation patching, as in `ForwardOptions`. Names begin with `encoder.` or `decoder.`: `'encoder.layer.0.output'`,
   * `'decoder.layer.1.attention.query'`, `'decoder.layer.1.cross_attention.key'` (`query`, `value`, `context`, `output`). Keys and values of
   * cross-attention come from the source, `[batch, source, width]`.
   */
  patch?: NonNullable<ForwardOptions['patch']>;
}

/** The result of an encoder-decoder's forward pass. Masked tokens are skipped, and their outputs are zeros. */
export interface Seq2SeqOutput {
  /** Scores of the next token at each position, `[batch, target, vocab]`. */
  logits: Tensor<'float32'>;
  /** The encoder's output, `[batch, source, hidden]`. */
  encoder_last_hidden_state: Tensor<'float32'>;
  /** The embeddings, then each layer: `[batch, source, hidden]`. */
  encoder_hidden_states?: Tensor<'float32'>[];
  /** The embeddings, then each layer: `[batch, target, hidden]`. */
  decoder_hidden_states?: Tensor<'float32'>[];
  /** One tensor per layer: `[batch, heads, source, source]`. */
  encoder_attentions?: Tensor<'float32'>[];
  /** One tensor per layer: `[batch, heads, target, target]`. */
  decoder_attentions?: Tensor<'float32'>[];
  /** One tensor per layer: `[batch, heads, target, source]`. */
  cross_attentions?: Tensor<'float32'>[];
  /** One tensor per layer, as used for the scores: `[batch, heads, source, head_dim]`. */
  encoder_queries?: Tensor<'float32'>[];
  /** `[batch, heads, source, head_dim]`. */
  encoder_keys?: Tensor<'float32'>[];
  /** `[batch, heads, source, head_dim]`. */
  encoder_values?: Tensor<'float32'>[];
  /** `[batch, heads, target, head_dim]`. */
  decoder_queries?: Tensor<'float32'>[];
  /** `[batch, heads, target, head_dim]`. */
  decoder_keys?: Tensor<'float32'>[];
  /** `[batch, heads, target, head_dim]`. */
  decoder_values?: Tensor<'float32'>[];
  /** `[batch, heads, target, head_dim]`. */
  cross_queries?: Tensor<'float32'>[];
  /** `[batch, heads, source, head_dim]`. */
  cross_keys?: Tensor<'float32'>[];
  /** `[batch, heads, source, head_dim]`. */
  cross_values?: Tensor<'float32'>[];
  /** The decoder's logit lens, with the option `logit_lens`. */
  logit_lens?: LogitLens;
}

/**
 * A loaded encoder-decoder. `await model({ input_ids, decoder_input_ids })` returns logits; `await model.generate({ input_ids })` returns generated
 * token ids.
 */
export interface Seq2SeqModel extends Loaded, Generates {
  <Options extends Seq2SeqForwardOptions = {}>(
    inputs: Seq2SeqInputs,
    options?: Options,
  ): Promise<OutputWith<Seq2SeqOutput, Options>>;
  /** The contents of config.json. */
  readonly config: Record<string, unknown>;
}
