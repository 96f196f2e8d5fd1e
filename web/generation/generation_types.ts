// Public types of text generation.
import type { AbortSignalLike, AtLeastOne, DecodingOptions } from '../core/types.js';
import type { Tensor } from '../core/tensor.js';
import type { LoadedPipeline, ModelInputs } from '../engine/types.js';
import type { DynamicCache } from './dynamic_cache.js';
import type { StoppingFunction } from './stopping_criteria.js';
import type { BaseStreamer } from './streamers.js';
import type { LogitsFunction } from './rows/logits_processor.js';
import type { StructuredOutputProcessor } from './structured_output.js';
import type { ResponseFormat } from './response_format.js';
import type { Chat, ChatMessage, ChatTemplateOptions, ToolCall, ToolChoice } from '../tokenizer/types.js';

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
  /** Seconds after which every text ends with its next token, and `finish_reason: 'time'`. */
  max_time?: number;
  /** What is added to the logit of the last of these tokens when it would complete them: `[[[5, 6], -2.5], ..]`, or `{ '5,6': -2.5 }`. */
  sequence_bias?: readonly (readonly [readonly number[], number])[] | Readonly<Record<string, number>>;
  /** Ids that are never chosen. */
  suppress_tokens?: readonly number[] | null;
  /** Ids that are never the first new token. */
  begin_suppress_tokens?: readonly number[] | null;
  /** `[start, factor]`: after `start` new tokens, the end tokens' logits grow by this factor with each token. */
  exponential_decay_length_penalty?: readonly [number, number] | null;
  /** Above 1: makes tokens of the prompt, or of the source, more likely. Default 1. */
  encoder_repetition_penalty?: number;
  /** No sequence of this many tokens of the prompt, or of the source, occurs in the new text. Default 0: no limit. */
  encoder_no_repeat_ngram_size?: number;
  /** Subtracted from the logits of tokens that were written, as in OpenAI's API. Default 0. */
  presence_penalty?: number;
  /** Subtracted from the logit of a token for each time that it was written, as in OpenAI's API. Default 0. */
  frequency_penalty?: number;
  /** Sampling: considers only tokens about as surprising as is to be expected, whose probabilities sum to this. Default 1: all. */
  typical_p?: number;
  /** Sampling: considers only tokens of at least this probability. Default 0. */
  epsilon_cutoff?: number;
  /** Sampling: as `epsilon_cutoff`, and less where the distribution is flat. Default 0. */
  eta_cutoff?: number;
  /** Sampling: considers the most likely tokens up to this share of the entropy. Default: all. */
  top_h?: number;
  /**
   * Reads up to so many tokens at once that followed where the last ones occurred before: fewer passes for texts that repeat their prompt, and the same
   * tokens. Default 0. Without effect with beams, several results, constraints, or where scores are read or changed.
   */
  prompt_lookup_num_tokens?: number;
  /** With `prompt_lookup_num_tokens`: most tokens that are looked for. Default 2. */
  max_matching_ngram_size?: number;
  /**
   * A smaller model with the same tokenizer, on the same thread: it writes a few tokens ahead, and those that this model would have chosen are taken. The
   * tokens are the same. Without effect where `prompt_lookup_num_tokens` has none.
   */
  assistant_model?: object | null;
  /** With `assistant_model`: how many tokens it writes at first. Default 5; more while they are right, fewer when they are not. */
  num_assistant_tokens?: number;
  /**
   * Functions that change the scores before a token is chosen: `LogitsProcessor`, as in transformers.js, or a `StructuredOutputProcessor`. They come after the
   * named options and before those of sampling. An `UnsupportedError` with `worker`.
   */
  logits_processor?: LogitsFunction | StructuredOutputProcessor | readonly (LogitsFunction | StructuredOutputProcessor)[] | null;
}

/** Options of every task that generates. */
export interface WatchOptions {
  /**
   * Told of the prompt's tokens, of each new one, and of the end: a `TextStreamer`, or a subclass of `BaseStreamer`. For one prompt, with
   * `num_return_sequences` 1 and `num_beams` 1.
   */
  streamer?: Pick<BaseStreamer, 'put' | 'end'> | null | undefined;
  /**
   * A function of the tokens so far, or several: a text ends where one says so, and its `finish_reason` is `'stop'`. Needs `num_return_sequences` 1
   * and `num_beams` 1.
   */
  stopping_criteria?: StoppingFunction | readonly StoppingFunction[] | null | undefined;
}

/** Those of `apply_chat_template` are for chats. */
export interface TextGenerationOptions
  extends GenerateOptions, WatchOptions, Omit<ChatTemplateOptions, 'tokenize' | 'add_generation_prompt'> {
  /** Whether a chat's last message is continued, or its field of this name. Default: if it is an assistant's, as in Python. */
  continue_final_message?: boolean | string;
  /** `true` (default): `generated_text` includes the prompt, or all messages of a chat. */
  return_full_text?: boolean;
  /** Default: `true` for texts, `false` for chats, whose template adds special tokens itself. */
  add_special_tokens?: boolean;
  /**
   * What the new text must be: JSON of a schema, a regular expression, a grammar or one of some texts; a list has one for each prompt. The
   * result has `parsed` where it is JSON. An `IncompleteError` for a text that its length ends too soon.
   */
  response_format?: ResponseFormat | readonly (ResponseFormat | null)[];
  /**
   * Which of `tools` a chat's answer must call: `'auto'` (default) as the model likes, constrained from the beginning of a call on if a tool has
   * `strict: true`. `'none'`: the model is not told of them. `'required'`: at least one call that satisfies its schema. `{ name }`: one call of this
   * tool. An `UnsupportedError` where the model's files do not show how it calls tools.
   */
  tool_choice?: ToolChoice;
  /** Whether a constrained answer may have several calls. Default `true`. */
  parallel_tool_calls?: boolean;
  /**
   * Reads a chat's answer as a message: calls become `tool_calls`, reasoning becomes `reasoning_content`, and the text is what is left. Default: `true`
   * with `tools`, else `false`; with `env.compat` always `false`.
   */
  parse_response?: boolean;
  /** Called with the new text of each step and the prompt's index. Needs `num_return_sequences` 1 and `num_beams` 1. */
  callback?: (piece: string, prompt: number) => void;
  /**
   * Called with what each step adds to a text or a chat's message, its calls and reasoning too, as `parse_response` reads them, and the `logprobs` that were
   * asked for. As `callback` otherwise.
   */
  delta_callback?: (delta: ChatDelta, prompt: number) => void;
  /**
   * `true`: each result has `logprobs`, the natural logarithms of its tokens' probabilities, as the model gives them: before penalties, temperature and
   * constraints. Default `false`. Needs one result for each prompt, without beams.
   */
  logprobs?: boolean;
  /** The likeliest tokens in each place, beside it in `logprobs`. Default 0. */
  top_logprobs?: number;
  /** Ends the call with an `AbortError`, between two tokens. */
  signal?: AbortSignalLike | undefined;
  /** The adapter to use, by its name; `false`: none. Default: the active one. An `InputError` if there is no such adapter. */
  adapter?: string | false;
}

/**
 * `await model.generate({ ...tokenizer(text), max_new_tokens: 60 })`, with transformers.js's names. Tokens with `attention_mask` 0 are skipped, so prompts may be
 * padded on either side.
 */
export interface ModelGenerateOptions extends GenerateOptions, WatchOptions, Omit<ModelInputs, 'input_ids'> {
  /** The prompts, or the sources of an encoder-decoder: `[batch, seq]`. */
  input_ids?: ModelInputs['input_ids'];
  /** Another name for `input_ids`. */
  inputs?: ModelInputs['input_ids'];
  /** Options under their names; those beside it come first. */
  generation_config?: object | null;
  /** Fills up shorter rows of the result. Default: the model's own, else its end token. */
  pad_token_id?: number | null;
  /**
   * What an earlier call returned: what it read stays in memory until then. Prompts that begin with those tokens read only what follows; others
   * are computed anew, so the answer is the same. An `InputError` for anything else.
   */
  past_key_values?: DynamicCache | null;
  /** What the new text of each row must be, as in the pipeline; one that the length ends is left as it is. */
  response_format?: ResponseFormat | readonly (ResponseFormat | null)[] | null;
  /** `true`: the result is an object with `sequences` and more. Default `false`: the sequences. */
  return_dict_in_generate?: boolean;
  /** With `return_dict_in_generate`: `scores`, by which tokens were chosen. Needs one result for each prompt, without beams. */
  output_scores?: boolean;
  /** With `return_dict_in_generate`: `logits`, as the model gives them. As `output_scores` otherwise. */
  output_logits?: boolean;
  /** Ends the call with an `AbortError`, between two tokens. */
  signal?: AbortSignalLike | undefined;
  /** The adapter to use, by its name; `false`: none. Default: the active one. An `InputError` if there is no such adapter. */
  adapter?: string | false;
}

/** The result of `generate` with `return_dict_in_generate`. */
export interface GeneratedIds {
  /** As of `generate` without it. */
  sequences: Tensor;
  /** Names what was read, to be passed on to the next call. */
  past_key_values: DynamicCache;
  /** With `output_scores`: for each new token `[batch, vocab_size]`; NaN for a text that had ended. */
  scores?: Tensor<'float32'>[];
  /** With `output_logits`: the same. */
  logits?: Tensor<'float32'>[];
  /** With beam search: the score of each sequence, `[batch * num_return_sequences]`. */
  sequences_scores?: Tensor<'float32'>;
}

/** The method `generate` of models that write. */
export interface Generates {
  /**
   * The prompts (of an encoder-decoder: its start token) with the new tokens, `[batch * num_return_sequences, tokens]`, of the type of `input_ids`.
   *
   *     const inputs = tokenizer('Once upon a time');
   *     const ids = await model.generate({ ...inputs, max_new_tokens: 60 });
   *     tokenizer.batch_decode(ids, { skip_special_tokens: true });
   *
   * @throws InputError for an unknown option; UnsupportedError for one of transformers.js's that wattn has not (docs/migration.md).
   */
  generate(options: ModelGenerateOptions & { return_dict_in_generate?: false }): Promise<Tensor>;
  /** The same with `past_key_values` beside it. */
  generate(options: ModelGenerateOptions & { return_dict_in_generate: true }): Promise<GeneratedIds>;
  /** The contents of generation_config.json. */
  readonly generation_config: Readonly<Record<string, any>>;
}

/** Options of `save_prefix`. Those of `apply_chat_template` are for chats. */
export interface PrefixOptions extends Omit<ChatTemplateOptions, 'tokenize' | 'add_generation_prompt' | 'continue_final_message'> {
  /** Default: `true` for texts, `false` for chats. */
  add_special_tokens?: boolean;
  /** Ends the call with an `AbortError`. */
  signal?: AbortSignalLike | undefined;
  /** The adapter to use, by its name; `false`: none. Default: the active one. */
  adapter?: string | false;
}

/** Options of `score`. Those of `apply_chat_template` are for chats. */
export type ScoreOptions = PrefixOptions;

/** What a model thinks of a continuation of a prompt. */
export interface ScoredText {
  /** The text of the continuation. */
  text: string;
  /** The natural logarithm of its probability after the prompt: the sum of `logprobs`. */
  score: number;
  /** `score` divided by the number of tokens: to compare texts of different lengths. */
  mean: number;
  /** `exp(-mean)`. */
  perplexity: number;
  /** Whether each token is the likeliest one in its place. */
  is_greedy: boolean;
  /** The ids of its tokens. */
  tokens: number[];
  /** The natural logarithm of the probability of each. */
  logprobs: number[];
}

/** A token of a text. */
export interface TokenProbability {
  /** Its text, as it is alone. */
  token: string;
  /** The token's id in the vocabulary. */
  id: number;
  /** The natural logarithm of its probability. */
  logprob: number;
}

/** A token that was written. */
export interface GeneratedLogprob extends TokenProbability {
  /** The likeliest tokens in its place, `top_logprobs` of them. */
  top_logprobs: TokenProbability[];
}

/** What a further part of an answer adds, in OpenAI's form: texts are to be joined, and calls by their `index`. */
export interface ChatDelta {
  /** More of the text. */
  content?: string;
  /** More of the reasoning. */
  reasoning_content?: string;
  /** The first part of a call has `id`, `type` and `name`; all have a part of `arguments`, which is JSON as a text. */
  tool_calls?: { index: number; id?: string; type?: 'function'; function: { name?: string; arguments: string } }[];
  /** With `logprobs` or `top_logprobs`: the probabilities of the tokens since the delta before. Together they are those of the result. */
  logprobs?: GeneratedLogprob[];
}

/** A text that a model wrote. */
export interface GeneratedText<Text = string> {
  /** The text with the prompt before it, or alone with `return_full_text: false`; of a chat, its messages with the answer. */
  generated_text: Text;
  /** The new tokens, including the one that ended the text. */
  tokens: number[];
  /** With a `response_format` of JSON: the new text as a value. */
  parsed?: unknown;
  /** The calls of tools that a chat's answer asks for, where it is read as a message (`parse_response`). */
  tool_calls?: ToolCall[];
  /** What the model wrote to itself first, where the answer is read as a message. */
  reasoning_content?: string;
  /** How many tokens the prompt has. */
  prompt_tokens: number;
  /** How many of them were kept from earlier calls and not computed again (`prefix_cache_bytes`). */
  cached_tokens?: number;
  /** The probability of each token, with `logprobs` or `top_logprobs`. */
  logprobs?: GeneratedLogprob[];
  /** Why generation ended: one of `eos_token_id`, one of `stop_strings`, the length, or `max_time`. */
  finish_reason: 'eos' | 'stop' | 'length' | 'time';
}

/** `await generate(text | texts | chat | chats, options)`: a list for each prompt, `num_return_sequences` long. */
export interface TextGenerationPipeline extends LoadedPipeline {
  (text: string, options?: TextGenerationOptions): Promise<AtLeastOne<GeneratedText>>;
  (texts: readonly string[], options?: TextGenerationOptions): Promise<AtLeastOne<GeneratedText>[]>;
  (chat: Chat, options: TextGenerationOptions & { return_full_text: false }): Promise<AtLeastOne<GeneratedText>>;
  (chat: Chat, options?: TextGenerationOptions): Promise<AtLeastOne<GeneratedText<ChatMessage[]>>>;
  (chats: readonly Chat[], options?: TextGenerationOptions): Promise<AtLeastOne<GeneratedText<ChatMessage[] | string>>[]>;
  /**
   * Streams the new text of one prompt, in whole characters: `for await (const piece of generate.stream(text)) ...`. Leaving the loop ends
   * the generation.
   */
  stream(
    prompt: string | Chat,
    options?: Omit<TextGenerationOptions, 'return_full_text' | 'callback'>,
  ): AsyncGenerator<string, void>;
  /**
   * How likely the model finds each of these continuations of a prompt, which it reads once. A continuation is encoded alone, so it begins with its own
   * space where there is one. Several prompts share the continuations, or have a list each.
   *
   *     const question = 'The film was a waste of time. The review is';
   *     const [good, bad] = await generate.score(question, [' positive', ' negative']);
   *     console.log(good.score < bad.score);
   *
   * @throws InputError for a text without tokens, or one that is longer than `context_length` with its prompt.
   */
  score(prompt: string | Chat, continuations: readonly string[], options?: ScoreOptions): Promise<ScoredText[]>;
  score(
    prompts: readonly (string | Chat)[],
    continuations: readonly string[] | readonly (readonly string[])[],
    options?: ScoreOptions,
  ): Promise<ScoredText[][]>;
  /**
   * Computes the keys and values of the beginning of prompts, such as a system message, as bytes to be stored (llama.cpp: saving a slot). It is rendered
   * by the template without a prompt for an answer. An `InputError` if `prefix_cache_bytes` is less than it takes.
   *
   *     await writeFile('system.prefix', await generate.save_prefix([{ role: 'system', content: rules }]));
   *     await generate.load_prefix(await readFile('system.prefix')); // later, in another process or page
   */
  save_prefix(prompt: string | Chat, options?: PrefixOptions): Promise<Uint8Array>;
  /**
   * Loads what `save_prefix` gave, so that prompts that begin so read only what follows. It is accepted if this model would compute the same bits; that
   * takes about a twentieth of the time of computing it. Returns how many tokens are kept. A `ModelFormatError` for a file that is damaged, or of another model, data type or adapter.
   */
  load_prefix(bytes: Uint8Array, options?: Pick<PrefixOptions, 'adapter' | 'signal'>): Promise<{ tokens: number }>;
  /**
   * Streams the value of a `response_format` of JSON as far as it is written, each time that it changes: numbers and words once they are whole, texts as
   * they grow. The last value is whole, and satisfies the schema.
   */
  stream_objects(
    prompt: string | Chat,
    options: Omit<TextGenerationOptions, 'return_full_text' | 'callback'> & { response_format: ResponseFormat },
  ): AsyncGenerator<any, void>;
  /** Streams what is added to a text or a chat's message: text, reasoning and calls of tools, also while they are written, and with `logprobs` probabilities. */
  stream_deltas(
    prompt: string | Chat,
    options?: Omit<TextGenerationOptions, 'return_full_text' | 'delta_callback'>,
  ): AsyncGenerator<ChatDelta, void>;
  /** The task's name. */
  readonly task: 'text-generation';
}

/** Options of `text2text-generation` and `summarization`. */
export interface Text2TextOptions extends GenerateOptions, WatchOptions {
  /** A text that is too long: `'truncate'` (default; see `truncated` in the result) or `'error'` (an `InputError`). */
  on_overflow?: 'truncate' | 'error';
  /** As in text generation: what the new text must be. Not for translation. */
  response_format?: ResponseFormat | readonly (ResponseFormat | null)[];
  /** Called with the new text of each step and the index of its source. Needs `num_return_sequences` 1 and `num_beams` 1. */
  callback?: (piece: string, text: number) => void;
  /** Ends the call with an `AbortError`, between two tokens. */
  signal?: AbortSignalLike | undefined;
  /** The adapter to use, by its name; `false`: none. Default: the active one. An `InputError` if there is no such adapter. */
  adapter?: string | false;
}

/** Options of `translation`. */
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
  /** With a `response_format` of JSON: the text as a value. */
  parsed?: unknown;
  /** The new tokens, including the one that ended the text. */
  tokens: number[];
  /** Why generation ended: one of `eos_token_id`, one of `stop_strings`, the length, or `max_time`. */
  finish_reason: 'eos' | 'stop' | 'length' | 'time';
  /** Present if the source was truncated. */
  truncated?: true;
  /** The share of the source's tokens, from 0 to 1, that the vocabulary does not know; present if above 0. */
  unknown?: number;
};

/** `await pipe(text | texts, options)`: for each text in turn, `num_return_sequences` results. */
interface Text2TextPipelineOf<Name extends string, Key extends string, Options> extends LoadedPipeline {
  (text: string, options?: Options): Promise<AtLeastOne<Text2Text<Key>>>;
  (texts: string | readonly string[], options?: Options): Promise<Text2Text<Key>[]>;
  /** Streams the new text for one text, in whole characters. Leaving the loop ends the generation. */
  stream(text: string, options?: Omit<Options, 'callback'>): AsyncGenerator<string, void>;
  /** The task's name. */
  readonly task: Name;
}

/** The result of `pipeline('text2text-generation')`. */
export type Text2TextGenerationPipeline = Text2TextPipelineOf<'text2text-generation', 'generated_text', Text2TextOptions>;

/** The result of `pipeline('translation')`. */
export type TranslationPipeline = Text2TextPipelineOf<'translation', 'translation_text', TranslationOptions>;

/** The result of `pipeline('summarization')`. */
export type SummarizationPipeline = Text2TextPipelineOf<'summarization', 'summary_text', Text2TextOptions>;
