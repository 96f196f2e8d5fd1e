// Public types of text generation.
import type { AbortSignalLike, DecodingOptions } from '../core/types.js';
import type { Loaded } from '../engine/types.js';
import type { Chat, ChatMessage, ChatTemplateOptions } from '../tokenizer/types.js';

/** The defaults of the model's generation_config.json come before the ones named here. */
export interface GenerateOptions extends DecodingOptions {
  /** Maximum new tokens. Default: the model's own, else 256, at most what fits into `context_length`. 0: an `InputError`. */
  max_new_tokens?: number;
  /** Maximum tokens, the prompt included. */
  max_length?: number;
  /** Minimum tokens, the prompt included. */
  min_length?: number;
  /** Results per prompt: the best beams, or samples. Default 1. */
  num_return_sequences?: number;
  /** Beam search: normalises probabilities again after tokens were forbidden or penalised. Default `false`. */
  renormalize_logits?: boolean;
  /** Beam search: when to stop, as in transformers. Default `false`. */
  early_stopping?: boolean | 'never';
  /** Sequences of ids that must not be generated. */
  bad_words_ids?: readonly (readonly number[])[];
  /** Encoder-decoders: the first token, which is not part of the new text. Default: the model's own. */
  decoder_start_token_id?: number;
  /** Texts that end a sequence; they are kept in the result. */
  stop_strings?: string | readonly string[];
}

/** Those of `apply_chat_template` are for chats. */
export interface TextGenerationOptions extends GenerateOptions, Omit<ChatTemplateOptions, 'tokenize' | 'add_generation_prompt'> {
  /** Whether a chat's last message is continued, or its field of this name. Default: if it is an assistant's, as in Python. */
  continue_final_message?: boolean | string;
  /** `true` (default): `generated_text` includes the prompt, or all messages of a chat. */
  return_full_text?: boolean;
  /** Default: `true` for texts, `false` for chats, whose template adds special tokens itself. */
  add_special_tokens?: boolean;
  /** Called with the new text of each step and the prompt's index. Needs `num_return_sequences` 1 and `num_beams` 1. */
  callback?: (piece: string, prompt: number) => void;
  /** Ends the call with an `AbortError`, between two tokens. */
  signal?: AbortSignalLike | undefined;
  /** The adapter to use, by its name; `false`: none. Default: the active one. An `InputError` if there is no such adapter. */
  adapter?: string | false;
}

export interface GeneratedText<Text = string> {
  generated_text: Text;
  /** The new tokens, including the one that ended the text. */
  tokens: number[];
  /** Why generation ended: one of `eos_token_id`, one of `stop_strings`, or the length. */
  finish_reason: 'eos' | 'stop' | 'length';
}

/** `await generate(text | texts | chat | chats, options)`: a list for each prompt, `num_return_sequences` long. */
export interface TextGenerationPipeline extends Loaded {
  (text: string, options?: TextGenerationOptions): Promise<GeneratedText[]>;
  (texts: readonly string[], options?: TextGenerationOptions): Promise<GeneratedText[][]>;
  (chat: Chat, options: TextGenerationOptions & { return_full_text: false }): Promise<GeneratedText[]>;
  (chat: Chat, options?: TextGenerationOptions): Promise<GeneratedText<ChatMessage[]>[]>;
  (chats: readonly Chat[], options?: TextGenerationOptions): Promise<GeneratedText<ChatMessage[] | string>[][]>;
  /**
   * Streams the new text of one prompt, in whole characters: `for await (const piece of generate.stream(text)) ...`. Leaving the loop ends
   * the generation.
   */
  stream(
    prompt: string | Chat,
    options?: Omit<TextGenerationOptions, 'return_full_text' | 'callback'>,
  ): AsyncGenerator<string, void>;
  readonly task: 'text-generation';
}

export interface Text2TextOptions extends GenerateOptions {
  /** A text that is too long: `'truncate'` (default; see `truncated` in the result) or `'error'` (an `InputError`). */
  on_overflow?: 'truncate' | 'error';
  /** Called with the new text of each step and the index of its source. Needs `num_return_sequences` 1 and `num_beams` 1. */
  callback?: (piece: string, text: number) => void;
  /** Ends the call with an `AbortError`, between two tokens. */
  signal?: AbortSignalLike | undefined;
  /** The adapter to use, by its name; `false`: none. Default: the active one. An `InputError` if there is no such adapter. */
  adapter?: string | false;
}

export interface TranslationOptions extends Text2TextOptions {
  /**
   * The language of the texts, for multilingual models: in NLLB and mBART a language token such as `'eng_Latn'` or `'en_XX'`, and required;
   * in others `task_specific_params` must contain `translation_<src_lang>_to_<tgt_lang>`. An `InputError` names a language that the
   * tokenizer does not have.
   */
  src_lang?: string;
  /** The language to translate to. */
  tgt_lang?: string;
}

/** A generated text, under `Key`. */
export type Text2Text<Key extends string> = { [name in Key]: string } & {
  /** The new tokens, including the one that ended the text. */
  tokens: number[];
  finish_reason: 'eos' | 'stop' | 'length';
  /** Present if the source was truncated. */
  truncated?: true;
  /** The share of the source's tokens, from 0 to 1, that the vocabulary does not know; present if above 0. */
  unknown?: number;
};

/** `await pipe(text | texts, options)`: for each text in turn, `num_return_sequences` results. */
interface Text2TextPipelineOf<Name extends string, Key extends string, Options> extends Loaded {
  (texts: string | readonly string[], options?: Options): Promise<Text2Text<Key>[]>;
  /** Streams the new text for one text, in whole characters. Leaving the loop ends the generation. */
  stream(text: string, options?: Omit<Options, 'callback'>): AsyncGenerator<string, void>;
  readonly task: Name;
}

export type Text2TextGenerationPipeline = Text2TextPipelineOf<'text2text-generation', 'generated_text', Text2TextOptions>;

export type TranslationPipeline = Text2TextPipelineOf<'translation', 'translation_text', TranslationOptions>;

export type SummarizationPipeline = Text2TextPipelineOf<'summarization', 'summary_text', Text2TextOptions>;
