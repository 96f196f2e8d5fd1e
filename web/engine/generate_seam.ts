// What bindings/generator.cpp registers beside the calls that every engine has.
import type { TaskEngine } from './task.js';
import type { Answer, SeamEngineHandle } from '../host/seam.js';

export interface SeamGenerateOptions {
  max_new_tokens?: number;
  max_length?: number;
  min_length?: number;
  min_new_tokens?: number;
  do_sample?: boolean;
  temperature?: number;
  top_k?: number;
  top_p?: number;
  min_p?: number;
  repetition_penalty?: number;
  no_repeat_ngram_size?: number;
  num_beams?: number;
  num_return_sequences?: number;
  length_penalty?: number;
  renormalize_logits?: boolean;
  early_stopping?: 'no' | 'yes' | 'never';
  eos_token_id?: number[];
  bad_words_ids?: number[][];
  decoder_start_token_id?: number;
  forced_bos_token_id?: number;
  forced_eos_token_id?: number;
  stop_strings?: string[];
  seed?: number;
}

export interface SeamSequence {
  tokens: Int32Array;
  reason: 'eos' | 'stop' | 'length';
  score: number;
}

export interface SeamGenerator extends Omit<SeamEngineHandle, 'forward' | 'embed' | 'predict' | 'summary'> {
  generate_begin(prompts: Int32Array[], options: SeamGenerateOptions): Answer;
  generate_step(steps: number): Answer & { more: boolean; steps: number };
  generate_new(prompt: number): Answer & { tokens: Int32Array };
  generate_end(): Answer & { results: SeamSequence[][] };
  forward(
    ids: Int32Array,
    options: {
      hidden_states?: boolean;
      attentions?: boolean;
      qkv?: boolean;
      logits?: boolean;
      logit_lens?: number;
      head_mask?: Float32Array | undefined; // [layers, heads]
      cross_head_mask?: Float32Array | undefined; // the same
      encoder_head_mask?: Float32Array | undefined; // [encoder's layers, its heads]
      patches?: [tap: string, values: Float32Array][]; // [tokens, width]
      source?: Int32Array;
    },
  ): Answer & {
    last_hidden_state: Float32Array; // [tokens, hidden]
    logits: Float32Array; // [tokens, vocab]
    hidden_states: Float32Array[]; // [layers + 1] of [tokens, hidden]
    attentions: Float32Array[]; // [layers] of [heads, tokens, tokens]
    queries: Float32Array[]; // [layers] of [tokens, heads * head_dim], or empty
    keys: Float32Array[];
    values: Float32Array[];
    lens_ids: Int32Array; // [layers + 1, tokens, logit_lens]
    lens_logits: Float32Array;
    // Of encoder-decoders:
    cross_attentions: Float32Array[]; // [layers] of [heads, tokens, source]
    cross_queries: Float32Array[];
    cross_keys: Float32Array[]; // [layers] of [source, heads * head_dim]
    cross_values: Float32Array[];
    encoder_last_hidden_state?: Float32Array; // [source, hidden]
    encoder_hidden_states?: Float32Array[];
    encoder_attentions?: Float32Array[]; // [layers] of [heads, source, source]
    encoder_queries?: Float32Array[];
    encoder_keys?: Float32Array[];
    encoder_values?: Float32Array[];
  };
  info(): ReturnType<SeamEngineHandle['info']> & {
    vocab_size: number;
    num_key_value_heads: number;
    head_dim: number;
    // Of encoder-decoders:
    encoder_layers?: number;
    encoder_attention_heads?: number;
    encoder_head_dim?: number;
    max_source_length?: number;
  };
}

/** A call of an engine that was loaded with the head 'causal_lm'. */
export function callGenerator<A extends Answer>(engine: TaskEngine, run: (handle: SeamGenerator) => A): A {
  return engine.call((handle) => run(handle as unknown as SeamGenerator));
}

const waiting = new WeakMap<TaskEngine, Promise<unknown>>();

/** run, when all earlier ones of this engine have ended: it holds one generation at a time. */
export async function alone<T>(engine: TaskEngine, run: () => Promise<T>): Promise<T> {
  const before = waiting.get(engine);
  const own = (async () => {
    await before?.catch(() => {});
    return run();
  })();
  waiting.set(engine, own);
  return own;
}
