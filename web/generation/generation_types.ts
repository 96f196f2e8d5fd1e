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

/** Options of text generation. The model's generation_config.json overrides the defaults named here. */
export interface GenerateOptions extends DecodingOptions {
  /** Maximum new tokens. Default: the model's own, else 256, limited by `context_length`. 0 throws an `InputError`. */
  max_new_tokens?: number;
  /** Maximum tokens, including the prompt. */
  max_length?: number;
  /** Minimum tokens, including the prompt. */
  min_length?: number;
  /** Results per prompt: the best beams, or independent samples. Default 1. */
  num_return_sequences?: number;
  /** Beam search: normalises probabilities again after tokens were forbidden or penalised. Default `false`. */
  renormalize_logits?: boolean;
  /** Beam search: when to stop, as in transformers. Default `false`. */
  early_stopping?: boolean | 'never';
  /** Sequences of ids that must not be generated. */
  bad_words_ids?: readonly (readonly number[])[];
  /** Encoder-decoders: the first token, which is not part of the new text. Default: the model's own. */
  decoder_start_token_id?: number;
  /** Texts that end a sequence. They are kept in the result. */
  stop_strings?: string | readonly string[];
  /** Time limit in seconds. After it, every text ends with its next token and `finish_reason: 'time'`. */
  max_time?: number;
  /** Biases for token sequences: the number is added to the logit of a token that would complete one. `[[[5, 6], -2.5], ..]`, or `{ '5,6': -2.5 }`. */
  sequence_bias?: readonly (readonly [readonly number[], number])[] | Readonly<Record<string, number>>;
  /** Ids that are never chosen. */
  suppress_tokens?: readonly number[] | null;
  /** Ids that are never the first new token. */
  begin_suppress_tokens?: readonly number[] | null;
  /** `[start, factor]`: after `start` new tokens, the end tokens' logits grow by this factor with each token. */
  exponential_decay_length_penalty?: readonly [number, number] | null;
  /** Above 1: tokens of the prompt, or of the source, become more likely. Default 1. */
  encoder_repetition_penalty?: number;
  /** No sequence of this many tokens of the prompt, or of the source, may occur in the new text. Default 0: no limit. */
  encoder_no_repeat_ngram_size?: number;
  /** Subtracted from the logits of tokens that already occurred in the new text, as in OpenAI's API. Default 0. */
  presence_penalty?: number;
  /** Subtracted from the logit of a token for each occurrence in the new text, as in OpenAI's API. Default 0. */
  frequency_penalty?: number;
  /** Sampling: considers only tokens whose surprise is closest to the expected one, until their probabilities sum to this. Default 1: all. */
  typical_p?: number;
  /** Sampling: considers only tokens with at least this probability. Default 0. */
  epsilon_cutoff?: number;
  /** Sampling: like `epsilon_cutoff`, but lower where the distribution is flat. Default 0. */
  eta_cutoff?: number;
  /** Sampling: considers the most likely tokens up to this fraction of the entropy. Default: all. */
  top_h?: number;
  /**
   * Prompt lookup: proposes up to this many tokens that followed an earlier occurrence of the last ones. The result is the same, with fewer passes for
   * texts that repeat their prompt. Default 0. No effect with beams, several results, constraints, or when scores are read or changed.
   */
  prompt_lookup_num_tokens?: number;
  /** With `prompt_lookup_num_tokens`: maximum number of last tokens to search for. Default 2. */
  max_matching_ngram_size?: number;
  /**
   * Speculative decoding: a smaller model with the same tokenizer, on the same thread, drafts a few tokens; this model keeps those that it would have
   * chosen. The result is the same. No effect in the cases named for `prompt_lookup_num_tokens`.
   */
  assistant_model?: object | null;
  /** With `assistant_model`: number of tokens to draft at first. Default 5. It grows while drafts are correct and shrinks when they are not. */
  num_assistant_tokens?: number;
  /**
   * Functions that change the scores before a token is chosen: `LogitsProcessor`, as in transformers.js, or a `StructuredOutputProcessor`. They run
   * after the options above and before sampling. Throws an `UnsupportedError` with `worker`.
   */
  logits_processor?: LogitsFunction | StructuredOutputProcessor | readonly (LogitsFunction | StructuredOutputProcessor)[] | null;
}

/** Options to watch and stop a generation. */
export interface WatchOptions {
  /**
   * Receives the prompt's tokens, each new token, and the end: a `TextStreamer`, or a subclass of `BaseStreamer`. Needs one prompt,
   * `num_return_sequences` 1 and `num_beams` 1.
   */
  streamer?: Pick<BaseStreamer, 'put' | 'end'> | null | undefined;
  /**
   * One or several functions of the tokens so far. If one returns true, the text ends with `finish_reason: 'stop'`. Needs `num_return_sequences` 1 and
   * `num_beams` 1.
   */
  stopping_criteria?: StoppingFunction | readonly StoppingFunction[] | null | undefined;
}

/** Options of a call of a `text-generation` pipeline. Those of `apply_chat_template` apply to chats. */
export interface TextGenerationOptions
  extends GenerateOptions, WatchOptions, Omit<ChatTemplateOptions, 'tokenize' | 'add_generation_prompt'> {
  /** Whether to continue a chat's last message; a string names the field to continue. Default: `true` if the last message is the assistant's, as in Python. */
  continue_final_message?: boolean | string;
  /** Whether `generated_text` includes the prompt, or all messages of a chat. Default `true`. */
  return_full_text?: boolean;
  /** Adds the tokenizer's special tokens to the prompt. Default: `true` for texts, `false` for chats, whose template adds them. */
  add_special_tokens?: boolean;
  /**
   * Constrains the new text to JSON of a schema, a regular expression, a grammar or a choice of texts. A list has one entry per prompt. For JSON, the
   * result has `parsed`. Throws an `IncompleteError` if a text reaches its length limit first.
   */
  response_format?: ResponseFormat | readonly (ResponseFormat | null)[];
  /**
   * Which of `tools` a chat's answer must call. `'auto'` (default): the model decides; calls are constrained if a tool has `strict: true`. `'none'`: the
   * model does not see the tools. `'required'`: at least one call that satisfies its schema. `{ name }`: one call of this tool. Throws an
   * `UnsupportedError` if the model's files do not show how it calls tools.
   */
  tool_choice?: ToolChoice;
  /** Whether a constrained answer may contain several calls. Default `true`. */
  parallel_tool_calls?: boolean;
  /**
   * Parses a chat's answer as a message: calls become `tool_calls`, reasoning becomes `reasoning_content`, and the text is the rest. Default: `true`
   * with `tools`, otherwise `false`; always `false` with `env.compat`.
   */
  parse_response?: boolean;
  /** Called at each step with the new text and the prompt's index. Needs `num_return_sequences` 1 and `num_beams` 1. */
  callback?: (piece: string, prompt: number) => void;
  /**
   * Called at each step with what it adds to a text or a chat's message: text, calls and reasoning, as `parse_response` reads them, and `logprobs` if
   * requested. Otherwise like `callback`.
   */
  delta_callback?: (delta: ChatDelta, prompt: number) => void;
  /**
   * `true`: each result has `logprobs`, the natural logarithms of its tokens' probabilities, before penalties, temperature and constraints. Default
   * `false`. Needs one result per prompt and no beams.
   */
  logprobs?: boolean;
  /** Number of most likely tokens to list at each position in `logprobs`. Default 0. */
  top_logprobs?: number;
  /** Cancels the call between two tokens, with an `AbortError`. */
  signal?: AbortSignalLike | undefined;
  /** The name of the adapter to use; `false`: none. Default: the active one. Throws an `InputError` if there is no such adapter. */
  adapter?: string | false;
}

/**
 * Options of a model's `generate`, with transformers.js's names: `await model.generate({ ...tokenizer(text), max_new_tokens: 60 })`. Tokens with
 * `attention_mask` 0 are skipped, so prompts may be padded on either side.
 */
export interface ModelGenerateOptions extends GenerateOptions, WatchOptions, Omit<ModelInputs, 'input_ids'> {
  /** The prompts, or the sources of an encoder-decoder: `[batch, seq]`. */
  input_ids?: ModelInputs['input_ids'];
  /** Another name for `input_ids`. */
  inputs?: ModelInputs['input_ids'];
  /** Options in one object. Options given directly take precedence. */
  generation_config?: object | null;
  /** The id that fills shorter rows of the result. Default: the model's own, else its end token. */
  pad_token_id?: number | null;
  /**
   * The `past_key_values` that an earlier call returned. Prompts that begin with its tokens compute only the rest; others are computed in full, so the
   * result is the same. Throws an `InputError` for anything else.
   */
  past_key_values?: DynamicCache | null;
  /** Constrains the new text of each row, as in the pipeline. A text that reaches its length limit first is returned as it is. */
  response_format?: ResponseFormat | readonly (ResponseFormat | null)[] | null;
  /** `true` returns an object with `sequences` and more. Default `false`: the sequences. */
  return_dict_in_generate?: boolean;
  /** With `return_dict_in_generate`: adds `scores`, from which tokens were chosen. Needs one result per prompt and no beams. */
  output_scores?: boolean;
  /** With `return_dict_in_generate`: adds `logits`, the model's unprocessed output. Needs one result per prompt and no beams. */
  output_logits?: boolean;
  /** Cancels the call between two tokens, with an `AbortError`. */
  signal?: AbortSignalLike | undefined;
  /** The name of the adapter to use; `false`: none. Default: the active one. Throws an `InputError` if there is no such adapter. */
  adapter?: string | false;
}

/** The result of `generate` with `return_dict_in_generate`. */
export interface GeneratedIds {
  /** The same tensor that `generate` returns without the option. */
  sequences: Tensor;
  /** A handle to the keys and values of this call, for the next one. */
  past_key_values: DynamicCache;
  /** With `output_scores`: one `[batch, vocab_size]` per new token; NaN for a text that had already ended. */
  scores?: Tensor<'float32'>[];
  /** With `output_logits`: one `[batch, vocab_size]` per new token; NaN for a text that had already ended. */
  logits?: Tensor<'float32'>[];
  /** With beam search: the score of each sequence, `[batch * num_return_sequences]`. */
  sequences_scores?: Tensor<'float32'>;
}

/** The method `generate` of decoders and encoder-decoders. */
export interface Generates {
  /**
   * Generates token ids. Returns the prompts (for an encoder-decoder: its start token) with the new tokens, `[batch * num_return_sequences, tokens]`, in
   * the type of `input_ids`.
   *
   *     const inputs = tokenizer('Once upon a time');
   *     const ids = await model.generate({ ...inputs, max_new_tokens: 60 });
   *     tokenizer.batch_decode(ids, { skip_special_tokens: true });
   *
   * @throws InputError for an unknown option; UnsupportedError for an option of transformers.js that wattn does not support (docs/migration.md).
   */
  generate(options: ModelGenerateOptions & { return_dict_in_generate?: false }): Promise<Tensor>;
  /** Generates token ids and returns them in an object, together with `past_key_values`. */
  generate(options: ModelGenerateOptions & { return_dict_in_generate: true }): Promise<GeneratedIds>;
  /** The contents of generation_config.json. */
  readonly generation_config: Readonly<Record<string, any>>;
}

/** Options of `save_prefix`. Those of `apply_chat_template` apply to chats. */
export interface PrefixOptions extends Omit<ChatTemplateOptions, 'tokenize' | 'add_generation_prompt' | 'continue_final_message'> {
  /** Adds the tokenizer's special tokens. Default: `true` for texts, `false` for chats. */
  add_special_tokens?: boolean;
  /** Cancels the call with an `AbortError`. */
  signal?: AbortSignalLike | undefined;
  /** The name of the adapter to use; `false`: none. Default: the active one. */
  adapter?: string | false;
}

/** Options of `score`. Those of `apply_chat_template` apply to chats. */
export type ScoreOptions = PrefixOptions;

/** How likely a continuation of a prompt is. */
export interface ScoredText {
  /** The text of the continuation. */
  text: string;
  /** The natural logarithm of its probability given the prompt: the sum of `logprobs`. */
  score: number;
  /** `score` divided by the number of tokens. Use it to compare texts of different lengths. */
  mean: number;
  /** `exp(-mean)`. */
  perplexity: number;
  /** Whether each token is the most likely one at its position. */
  is_greedy: boolean;
  /** The ids of its tokens. */
  tokens: number[];
  /** The natural logarithm of each token's probability. */
  logprobs: number[];
}

/** A token with its probability. */
export interface TokenProbability {
  /** The text of the token on its own. */
  token: string;
  /** The token's id in the vocabulary. */
  id: number;
  /** The natural logarithm of its probability. */
  logprob: number;
}

/** A generated token with its probability. */
export interface GeneratedLogprob extends TokenProbability {
  /** The most likely tokens at its position, `top_logprobs` of them. */
  top_logprobs: TokenProbability[];
}

/** What one part of a streamed answer adds, in OpenAI's form: concatenate texts, and merge calls by their `index`. */
export interface ChatDelta {
  /** Text to append. */
  content?: string;
  /** Reasoning to append. */
  reasoning_content?: string;
  /** The first part of a call has `id`, `type` and `name`. Every part has a piece of `arguments`, which is JSON as a string. */
  tool_calls?: { index: number; id?: string; type?: 'function'; function: { name?: string; arguments: string } }[];
  /** With `logprobs` or `top_logprobs`: the probabilities of the tokens since the previous delta. */
  logprobs?: GeneratedLogprob[];
}

/** A generated text. */
export interface GeneratedText<Text = string> {
  /** The text including the prompt, or without it with `return_full_text: false`. For a chat: its messages, with the answer last. */
  generated_text: Text;
  /** The new tokens, including the one that ended the text. */
  tokens: number[];
  /** With a JSON `response_format`: the new text as a parsed value. */
  parsed?: unknown;
  /** The tool calls in a chat's answer, with `parse_response`. */
  tool_calls?: ToolCall[];
  /** The model's reasoning before its answer, with `parse_response`. */
  reasoning_content?: string;
  /** Number of tokens of the prompt. */
  prompt_tokens: number;
  /** Number of the prompt's tokens that were reused from earlier calls (`prefix_cache_bytes`). */
  cached_tokens?: number;
  /** The probability of each token, with `logprobs` or `top_logprobs`. */
  logprobs?: GeneratedLogprob[];
  /** Why generation ended: one of `eos_token_id`, one of `stop_strings`, the length, or `max_time`. */
  finish_reason: 'eos' | 'stop' | 'length' | 'time';
}

/**
 * The result of `pipeline('text-generation')`. `await generate(text | texts | chat | chats, options)` returns a list for each prompt, with
 * `num_return_sequences` results.
 */
export interface TextGenerationPipeline extends LoadedPipeline {
  (text: string, options?: TextGenerationOptions): Promise<AtLeastOne<GeneratedText>>;
  (texts: readonly string[], options?: TextGenerationOptions): Promise<AtLeastOne<GeneratedText>[]>;
  (chat: Chat, options: TextGenerationOptions & { return_full_text: false }): Promise<AtLeastOne<GeneratedText>>;
  (chat: Chat, options?: TextGenerationOptions): Promise<AtLeastOne<GeneratedText<ChatMessage[]>>>;
  (chats: readonly Chat[], options?: TextGenerationOptions): Promise<AtLeastOne<GeneratedText<ChatMessage[] | string>>[]>;
  /**
   * Streams the new text of one prompt, in whole characters: `for await (const piece of generate.stream(text)) ...`. Leaving the loop cancels the
   * generation.
   */
  stream(
    prompt: string | Chat,
    options?: Omit<TextGenerationOptions, 'return_full_text' | 'callback'>,
  ): AsyncGenerator<string, void>;
  /**
   * Computes how likely each continuation of a prompt is. The prompt is read once. A continuation is tokenized on its own, so include its leading space
   * if there is one. Several prompts share the continuations, or have a list each.
   *
   *     const question = 'The film was a waste of time. The review is';
   *     const [good, bad] = await generate.score(question, [' positive', ' negative']);
   *     console.log(good.score < bad.score);
   *
   * @throws InputError for a continuation without tokens, or if prompt and continuation exceed `context_length`.
   */
  score(prompt: string | Chat, continuations: readonly string[], options?: ScoreOptions): Promise<ScoredText[]>;
  score(
    prompts: readonly (string | Chat)[],
    continuations: readonly string[] | readonly (readonly string[])[],
    options?: ScoreOptions,
  ): Promise<ScoredText[][]>;
  /**
   * Computes the keys and values of a prompt prefix, such as a system message, and returns them as bytes to store (llama.cpp: saving a slot). The chat
   * template renders it without a generation prompt. Throws an `InputError` if `prefix_cache_bytes` is too small.
   *
   *     await writeFile('system.prefix', await generate.save_prefix([{ role: 'system', content: rules }]));
   *     await generate.load_prefix(await readFile('system.prefix')); // later, in another process or page
   */
  save_prefix(prompt: string | Chat, options?: PrefixOptions): Promise<Uint8Array>;
  /**
   * Loads bytes from `save_prefix`, so that prompts with this prefix compute only the rest. First checks that this model would compute the same bits,
   * which takes about a twentieth of the time of computing them. Returns the number of tokens kept. Throws a `ModelFormatError` if the bytes are
   * damaged, or from another model, data type or adapter.
   */
  load_prefix(bytes: Uint8Array, options?: Pick<PrefixOptions, 'adapter' | 'signal'>): Promise<{ tokens: number }>;
  /**
   * Streams the partial value of a JSON `response_format` each time it changes: numbers and words once they are complete, strings as they grow. The last
   * value is complete and satisfies the schema.
   */
  stream_objects(
    prompt: string | Chat,
    options: Omit<TextGenerationOptions, 'return_full_text' | 'callback'> & { response_format: ResponseFormat },
  ): AsyncGenerator<any, void>;
  /** Streams what is added to a text or a chat's message: text, reasoning and tool calls, including unfinished ones, and probabilities with `logprobs`. */
  stream_deltas(
    prompt: string | Chat,
    options?: Omit<TextGenerationOptions, 'return_full_text' | 'delta_callback'>,
  ): AsyncGenerator<ChatDelta, void>;
  /** The task's name. */
  readonly task: 'text-generation';
}

/** Options of `text2text-generation` and `summarization`. */
export interface Text2TextOptions extends GenerateOptions, WatchOptions {
  /** What to do with a text that is too long: `'truncate'` (default; see `truncated` in the result) or `'error'` (throw an `InputError`). */
  on_overflow?: 'truncate' | 'error';
  /** Constrains the new text, as in text generation. Not for translation. */
  response_format?: ResponseFormat | readonly (ResponseFormat | null)[];
  /** Called at each step with the new text and the index of its source. Needs `num_return_sequences` 1 and `num_beams` 1. */
  callback?: (piece: string, text: number) => void;
  /** Cancels the call between two tokens, with an `AbortError`. */
  signal?: AbortSignalLike | undefined;
  /** The name of the adapter to use; `false`: none. Default: the active one. Throws an `InputError` if there is no such adapter. */
  adapter?: string | false;
}

/** Options of `translation`. */
export interface TranslationOptions extends Text2TextOptions {
  /**
   * The language of the texts, for multilingual models. NLLB and mBART require a language token such as `'eng_Latn'` or `'en_XX'`. For others,
   * `task_specific_params` must contain `translation_<src_lang>_to_<tgt_lang>`. Throws an `InputError` for a language that the tokenizer does not have.
   */
  src_lang?: string;
  /** The language to translate into, in the form of `src_lang`. */
  tgt_lang?: string;
}

/** A generated text, under `Key`. */
export type Text2Text<Key extends string> = { [name in Key]: string } & {
  /** With a JSON `response_format`: the text as a parsed value. */
  parsed?: unknown;
  /** The new tokens, including the one that ended the text. */
  tokens: number[];
  /** Why generation ended: one of `eos_token_id`, one of `stop_strings`, the length, or `max_time`. */
  finish_reason: 'eos' | 'stop' | 'length' | 'time';
  /** Present if the source was truncated. */
  truncated?: true;
  /** The fraction of the source's tokens, from 0 to 1, that are not in the vocabulary; present if above 0. */
  unknown?: number;
};

/** `await pipe(text | texts, options)` returns `num_return_sequences` results per text, in one list. */
interface Text2TextPipelineOf<Name extends string, Key extends string, Options> extends LoadedPipeline {
  (text: string, options?: Options): Promise<AtLeastOne<Text2Text<Key>>>;
  (texts: string | readonly string[], options?: Options): Promise<Text2Text<Key>[]>;
  /** Streams the new text for one text, in whole characters. Leaving the loop cancels the generation. */
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
