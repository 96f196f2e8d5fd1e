// Public types of tokenizers: tokenizing, training, chunking, incremental decoding.
import type { Tensor } from '../core/tensor.js';
import type { AbortSignalLike, Disposable_, WasmOverride } from '../core/types.js';

export interface CountOptions {
  /** Default `true`. */
  add_special_tokens?: boolean;
  /** `true`: treats strings like `[SEP]` in a text as ordinary text. Default `false`, as in Python. */
  split_special_tokens?: boolean;
}

export interface TokenizeOptions extends CountOptions {
  /**
   * Second texts: a string with a string, an array with an array of the same length. As in Python, `''` for one string means no second
   * text, and `''` in an array is a second text without tokens.
   */
  text_pair?: string | readonly string[];
  /** `true` or `'longest'`: to the longest row of the call; `'max_length'`: to max_length or the model's limit. Default `false`. */
  padding?: boolean | 'longest' | 'max_length';
  /** `true` means `'longest_first'`. Default `false`, or `true` if `max_length` is given without padding, as in Python. */
  truncation?: boolean | 'longest_first' | 'only_first' | 'only_second';
  /** Maximum tokens, special tokens included. Default: `model_max_length` if it is needed; an `InputError` if that is unknown. */
  max_length?: number;
  /** Adds `offset_mapping`: start and end of each token in its text; 0, 0 for added special tokens. Default `false`. */
  return_offsets_mapping?: boolean;
  /** Unit of the offsets. `'utf16'` (default): `text.slice(start, end)` is the token's text. `'codepoint'`: Python's. */
  offsets?: 'utf16' | 'codepoint';
  /** Adds `special_tokens_mask`: 1 for added special tokens and padding. Default `false`. */
  return_special_tokens_mask?: boolean;
  /** Default: whether the model takes them, as BERT does. */
  return_token_type_ids?: boolean;
  /** Default `true`. */
  return_attention_mask?: boolean;
  /** Returns truncated text in further rows, with `overflow_to_sample_mapping`. Default `false`. */
  return_overflowing_tokens?: boolean;
  /** Tokens that neighbouring rows of one text share (Python's `stride`). Default 0. */
  overlap?: number;
  /** `true` (default): int32 `Tensor`s; all rows must have the same length (see `padding`). `false`: arrays of numbers. */
  return_tensor?: boolean;
}

/** `Ids` is a Tensor `[rows, tokens]`, rows of numbers, or numbers. Optional entries are present if requested. */
export interface Encoding<Ids, Offsets = Ids, PerRow = Ids> {
  input_ids: Ids;
  /** 1 for tokens, 0 for padding. */
  attention_mask?: Ids;
  token_type_ids?: Ids;
  /** A Tensor `[rows, tokens, 2]`, or pairs `[start, end]`. */
  offset_mapping?: Offsets;
  special_tokens_mask?: Ids;
  /** For each row, the index of its text. */
  overflow_to_sample_mapping?: PerRow;
  /** For each row, whether its text was truncated. */
  truncated: boolean[];
  /** For each row, the share of its text's tokens, from 0 to 1, that the vocabulary does not know. */
  unknown: number[];
}

export type TensorEncoding = Encoding<Tensor<'int32'>>;

export type Span = [start: number, end: number];

export interface DecodeOptions {
  /** Leaves out special tokens. Default `false`. */
  skip_special_tokens?: boolean;
  /** Removes spaces before punctuation and in contractions. Default: the value in tokenizer_config.json, else `false`. */
  clean_up_tokenization_spaces?: boolean;
}

/** Token ids of one text. */
export type TokenIds = readonly number[] | readonly bigint[] | Int32Array | BigInt64Array | Tensor;

/** Options of `encode` and `tokenize`. */
export interface EncodeOptions extends CountOptions, Pick<TokenizeOptions, 'truncation' | 'max_length'> {
  text_pair?: string;
}

export interface Tokenizer extends Disposable_, TokenizerHelpers {
  (texts: string | readonly string[], options?: TokenizeOptions & { return_tensor?: true }): TensorEncoding;
  (
    text: string,
    options: TokenizeOptions & { return_tensor: false; return_overflowing_tokens?: false },
  ): Encoding<number[], Span[], number[]>;
  (
    texts: string | readonly string[],
    options: TokenizeOptions & { return_tensor: false },
  ): Encoding<number[][], Span[][], number[]>;
  /**
   * Ids of one text, with special tokens by default. A file whose normalizer or pre-tokenizer lets a text grow beyond 2^26 characters (or
   * twice its length, if that is more) is an `OutOfMemoryError`, and so is one whose decoder makes a text of more than 2^28 bytes.
   */
  encode(text: string, options?: EncodeOptions): number[];
  /**
   * Token strings of one text, without special tokens by default. As in Python, an unknown token of Unigram is shown as the text that it
   * stands for, and an added token with the white space it takes.
   */
  tokenize(text: string, options?: EncodeOptions): string[];
  decode(ids: TokenIds, options?: DecodeOptions): string;
  batch_decode(batch: readonly TokenIds[] | Tensor, options?: DecodeOptions): string[];
  /**
   * Renders a chat with the model's `chat_template` and returns its ids, or its text with `tokenize: false`. Needs the package
   * `@huggingface/jinja`; without it, an `UnsupportedError`. An `InputError`: an unknown option, a template that fails or does not
   * end within a million steps (and 1,000 more for each message), a message that cannot be continued.
   */
  apply_chat_template(chat: Chat, options: ChatTemplateOptions & { tokenize: false }): Promise<string>;
  apply_chat_template(chat: Chat, options?: ChatTemplateOptions): Promise<number[]>;
  /** Token strings of ids; an id outside the vocabulary is an `InputError`. */
  convert_ids_to_tokens(ids: TokenIds): string[];
  /** Maximum tokens of the model, special tokens included; `Infinity` if the files do not say. */
  readonly model_max_length: number;
  /** Size of the vocabulary, added tokens included. */
  readonly vocab_size: number;
}

/** A component as in tokenizer.json, such as `{ type: 'Whitespace' }`; `null` for none. */
export type TokenizerComponent = { readonly type: string; readonly [field: string]: any } | null;

export type TrainingProgress =
  | {
      /** Texts are being read. */
      status: 'read';
      /** Texts so far. */
      texts: number;
      /** Distinct words (as split by the pre-tokenizer) so far. */
      words: number;
    }
  | {
      /** The vocabulary is being built. */
      status: 'train';
      /** `'words'` and `'merges'` for BPE and WordPiece, `'seeds'` and `'pieces'` for Unigram. */
      stage: string;
      /** Percent of the stage. */
      progress: number;
    }
  | { status: 'ready' };

/**
 * What to train. The options are those of Hugging Face's trainers; one that the model does not use is an `InputError`. `normalizer`,
 * `pre_tokenizer`, `post_processor` and `decoder` have defaults for each model:
 * - `'wordpiece'`: BERT's (lowercase, `[PAD] [UNK] [CLS] [SEP] [MASK]`, `[CLS] text [SEP]`);
 * - `'bpe'`: GPT-2's (bytes, `<|endoftext|>`);
 * - `'unigram'`: SentencePiece's (NFKC, spaces as `▁`, `<unk> <pad> <s> </s>`);
 * - `'word'`: words and punctuation, `<unk> <pad> <s> </s>`;
 * - `'char'`: each character is a token, `<unk> <pad> <s> </s>`.
 */
export interface TrainOptions {
  model: 'wordpiece' | 'bpe' | 'unigram' | 'word' | 'char';
  /**
   * Number of tokens, with special tokens. Default 30000; unigram 8000. BPE and WordPiece always keep the alphabet (see `limit_alphabet`),
   * so a small number is exceeded. Unigram refuses a number below the alphabet and the special tokens with an `InputError` that names
   * the least. The levels of words and characters keep the most frequent.
   */
  vocab_size?: number;
  /** Minimum occurrences of a pair (a word, a character) to become a token. Default 0. Not for unigram. */
  min_frequency?: number;
  /** They get the first ids. Default: see the models. */
  special_tokens?: readonly string[];
  /** Added before the special tokens if it is not one of them. Default: see the models; `null`: none. */
  unk_token?: string | null;
  /** BPE, WordPiece: maximum size of the alphabet. Default: no limit. */
  limit_alphabet?: number;
  /** Characters to include even if the texts lack them. Default: none; all 256 bytes with a `ByteLevel` pre-tokenizer. */
  initial_alphabet?: string | readonly string[];
  /** BPE, WordPiece: prefix of pieces that do not begin a word. Default `'##'` for WordPiece, else none. */
  continuing_subword_prefix?: string;
  /** BPE, WordPiece: suffix of pieces that end a word. Default: none. */
  end_of_word_suffix?: string;
  /** BPE, WordPiece: tokens are shorter than this many characters. Default: no limit. */
  max_token_length?: number;
  /** Unigram: the fraction of pieces that each round keeps. Default 0.75. */
  shrinking_factor?: number;
  /** Unigram: EM steps per round. Default 2. */
  n_sub_iterations?: number;
  /** Unigram: maximum characters of a piece. Default 16. */
  max_piece_length?: number;
  /** Unigram: number of initial pieces: all characters, and at least one more. Default 1000000. */
  seed_size?: number;
  normalizer?: TokenizerComponent;
  pre_tokenizer?: TokenizerComponent;
  post_processor?: TokenizerComponent;
  decoder?: TokenizerComponent;
  /** Called while texts are read and during training. An exception from it ends the training. */
  progress_callback?: ((info: TrainingProgress) => void) | undefined;
  /** Ends the training with an `AbortError`, within milliseconds. */
  signal?: AbortSignalLike | undefined;
  /** Where `wattn-tokenizer.wasm`, which contains training, is if not beside this script. Needed once. */
  wasm?: WasmOverride | undefined;
}

/** A string is one text. An (async) iterator can supply more texts than fit into memory. */
export type TrainingTexts = string | Iterable<string> | AsyncIterable<string>;

export interface TrainedTokenizer extends Tokenizer {
  /** The contents of its tokenizer.json, which Python's `tokenizers` and `transformers` can load. */
  save(): string;
  /** The same as an object, so that `JSON.stringify(tokenizer)` gives a tokenizer.json. */
  toJSON(): Record<string, any>;
}

export interface ChunkOptions extends CountOptions {
  /** Maximum tokens per chunk, special tokens included. */
  max_tokens: number;
  /** Maximum tokens that a chunk repeats from the previous one; it begins at a word. Default 0. */
  overlap?: number;
}

/** A part of a text, split between paragraphs, sentences or words if possible, without surrounding white space. */
export interface Chunk {
  /** `text.slice(start, end)`. */
  text: string;
  start: number;
  end: number;
  /** The result of `count` for this chunk. */
  tokens: number;
}

/** Decodes tokens as they arrive. The concatenated results of `push` and `end` equal `decode` of all ids. */
export interface DecodeStream {
  /** The text completed by these ids; `''` while the last character is incomplete. */
  push(ids: number | bigint | TokenIds): string;
  /** The remaining text. Afterwards the stream can be used again. */
  end(): string;
}

export interface TokenizerHelpers {
  /** Number of tokens of a text, special tokens included: the length of `encode(text)`. */
  count(text: string, options?: CountOptions): number;
  count(texts: readonly string[], options?: CountOptions): number[];
  /** Chunks of at most `max_tokens` tokens each, counted on the chunk itself; none for a text of white space. */
  chunk(text: string, options: ChunkOptions): Chunk[];
  decode_stream(options?: DecodeOptions): DecodeStream;
}

export interface ChatMessage {
  role: string;
  content: string;
  [more: string]: unknown;
}

export type Chat = readonly ChatMessage[];

export interface ChatTemplateOptions {
  /** Appends the beginning of an assistant's answer. Default `false`, as in Python. */
  add_generation_prompt?: boolean;
  /**
   * Leaves the last message open, so that a model continues it: the text ends where that message's text ends. `true`: its `content`; a
   * string: another field, such as `'reasoning_content'`. Default `false`. Not together with `add_generation_prompt`.
   */
  continue_final_message?: boolean | string;
  /** A template to use instead of the model's own. */
  chat_template?: string;
  /** `true` (default): ids; `false`: the text. */
  tokenize?: boolean;
  /** Functions that the model may call, as JSON Schemas, for templates that use them. */
  tools?: readonly unknown[];
  /** Documents for retrieval, for templates that use them. */
  documents?: readonly unknown[];
  /** Further variables of the template, such as `{ enable_thinking: false }`. */
  chat_template_kwargs?: Readonly<Record<string, unknown>>;
}
