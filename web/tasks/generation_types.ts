/// <reference lib="esnext.disposable" preserve="true" />
// Public types of text generation: unit, default and error of every field.
import type { AbortSignalLike } from '../core/types.js';
import type { MemoryInfo, ModelInfo } from '../engine/types.js';
import type { Chat, ChatMessage } from '../tokenizer/types.js';

/** How tokens are chosen: names and meanings are transformers'. What is not said, the model's generation_config.json says. */
export interface GenerateOptions {
  /** New tokens, at most. Default: the model's own, else 256, or as many as `context_length` has room for. 0: an `InputError`. */
  max_new_tokens?: number;
  /** Tokens at most, the prompt's counted. */
  max_length?: number;
  min_new_tokens?: number;
  /** The prompt's counted. */
  min_length?: number;
  /** `true`: tokens are drawn; `false`: the likeliest is taken. Default: the model's own, else `false`. */
  do_sample?: boolean;
  /** Of drawing: logits are divided by it. Default 1. */
  temperature?: number;
  /** Of drawing: only so many of the likeliest. Default 50; 0: all. */
  top_k?: number;
  /** Of drawing: the fewest of the likeliest whose probabilities reach this. Default 1. */
  top_p?: number;
  /** Of drawing: only tokens at least so likely as this times the likeliest. Default 0. */
  min_p?: number;
  /** Above 1: tokens that were there become less likely. Default 1. */
  repetition_penalty?: number;
  /** No run of so many tokens comes twice. Default 0: any may. */
  no_repeat_ngram_size?: number;
  /** Beam search over so many. Default 1. An `InputError` beside `do_sample`. */
  num_beams?: number;
  /** Answers to each prompt: the best beams, or draws. Default 1. */
  num_return_sequences?: number;
  /** Of beams: scores are divided by the length to this power. Default 1. */
  length_penalty?: number;
  /** Of beams: probabilities are made to sum to one again after words were forbidden or penalised. Default `false`. */
  renormalize_logits?: boolean;
  /** Of beams. Default `false`. */
  early_stopping?: boolean | 'never';
  /** Ids that end a sequence. */
  eos_token_id?: number | readonly number[];
  /** Sequences of ids that must not come. */
  bad_words_ids?: readonly (readonly number[])[];
  /** Of encoder-decoders: what the new text begins with, and is not part of it. Default: the model's own. */
  decoder_start_token_id?: number;
  forced_bos_token_id?: number;
  forced_eos_token_id?: number;
  /** Text that ends a sequence; it stays in the text. */
  stop_strings?: string | readonly string[];
  /** Of drawing: the same seed draws the same tokens, whatever is asked beside them. Default: another each time. */
  seed?: number;
}

export interface TextGenerationOptions extends GenerateOptions {
  /** `true` (default): the prompt is in `generated_text`, too; of a chat: all messages. */
  return_full_text?: boolean;
  /** Default: `true` for texts, `false` for chats, whose template writes special tokens itself. */
  add_special_tokens?: boolean;
  /** Called with the text of each step, of the prompt with that index. Needs `num_return_sequences` 1 and `num_beams` 1. */
  callback?: (piece: string, prompt: number) => void;
  /** Ends the call with an `AbortError`, between two tokens. */
  signal?: AbortSignalLike | undefined;
}

export interface GeneratedText<Text = string> {
  generated_text: Text;
  /** The new tokens, with the one that ended it. */
  tokens: number[];
  /** What ended it: one of `eos_token_id`, one of `stop_strings`, or the length. */
  finish_reason: 'eos' | 'stop' | 'length';
}

/** `await generate(text | texts | chat | chats, options)`: a list for each prompt, `num_return_sequences` long. */
export interface TextGenerationPipeline {
  (text: string, options?: TextGenerationOptions): Promise<GeneratedText[]>;
  (texts: readonly string[], options?: TextGenerationOptions): Promise<GeneratedText[][]>;
  (chat: Chat, options: TextGenerationOptions & { return_full_text: false }): Promise<GeneratedText[]>;
  (chat: Chat, options?: TextGenerationOptions): Promise<GeneratedText<ChatMessage[]>[]>;
  (chats: readonly Chat[], options?: TextGenerationOptions): Promise<GeneratedText<ChatMessage[] | string>[][]>;
  /**
   * The new text of one prompt as it comes, in whole characters: `for await (const piece of generate.stream(text)) ...`. Leaving the
   * loop ends the generating.
   */
  stream(
    prompt: string | Chat,
    options?: Omit<TextGenerationOptions, 'return_full_text' | 'callback'>,
  ): AsyncGenerator<string, void>;
  readonly task: 'text-generation';
  info(): ModelInfo;
  memory(): MemoryInfo;
  warmup(): Promise<void>;
  dispose(): Promise<void>;
  [Symbol.dispose](): void;
  [Symbol.asyncDispose](): Promise<void>;
}

export interface Text2TextOptions extends GenerateOptions {
  /** What to do with a text longer than the model reads: cut it (`truncated` says so), or an `InputError`. Default `'truncate'`. */
  on_overflow?: 'truncate' | 'error';
  /** Called with the text of each step, of the text with that index. Needs `num_return_sequences` 1 and `num_beams` 1. */
  callback?: (piece: string, text: number) => void;
  /** Ends the call with an `AbortError`, between two tokens. */
  signal?: AbortSignalLike | undefined;
}

export interface TranslationOptions extends Text2TextOptions {
  /** Of a model that knows several: its `task_specific_params` must have `translation_<src_lang>_to_<tgt_lang>`. */
  src_lang?: string;
  tgt_lang?: string;
}

/** One text that was made of another; `Key` is where it stands. */
export type Text2Text<Key extends string> = { [name in Key]: string } & {
  /** The new tokens, with the one that ended it. */
  tokens: number[];
  finish_reason: 'eos' | 'stop' | 'length';
  /** The source was cut. Absent: it was not. */
  truncated?: true;
};

/** `await pipe(text | texts, options)`: for each text in turn, `num_return_sequences` results. */
interface Text2TextPipelineOf<Name extends string, Key extends string, Options> {
  (texts: string | readonly string[], options?: Options): Promise<Text2Text<Key>[]>;
  /** The new text of one text as it comes, in whole characters. Leaving the loop ends the generating. */
  stream(text: string, options?: Omit<Options, 'callback'>): AsyncGenerator<string, void>;
  readonly task: Name;
  info(): ModelInfo;
  memory(): MemoryInfo;
  warmup(): Promise<void>;
  dispose(): Promise<void>;
  [Symbol.dispose](): void;
  [Symbol.asyncDispose](): Promise<void>;
}

export type Text2TextGenerationPipeline = Text2TextPipelineOf<'text2text-generation', 'generated_text', Text2TextOptions>;

export type TranslationPipeline = Text2TextPipelineOf<'translation', 'translation_text', TranslationOptions>;

export type SummarizationPipeline = Text2TextPipelineOf<'summarization', 'summary_text', Text2TextOptions>;
