// Public types of tokenizers: tokenizing, training, cutting texts to size, decoding as tokens arrive.
import type { Tensor } from '../core/tensor.js';
import type { AbortSignalLike, Disposable_, WasmOverride } from '../core/types.js';

export interface TokenizeOptions {
  /** Second texts: a string beside a string, an array beside an array of the same length. */
  text_pair?: string | readonly string[];
  /** `true` = `'longest'`: to the longest of the call; `'max_length'`: to max_length, else to the model's limit. Default `false`. */
  padding?: boolean | 'longest' | 'max_length';
  /** `true` = `'longest_first'`. Default: `false`, but truncates when `max_length` is given without padding, as in Python. */
  truncation?: boolean | 'longest_first' | 'only_first' | 'only_second';
  /** Tokens, specials included. Default with truncation or padding to it: `model_max_length`; an `InputError` when there is none. */
  max_length?: number;
  /** Default `true`. */
  add_special_tokens?: boolean;
  /** `true`: strings like `[SEP]` inside a text are ordinary text. Default `false`, as in Python. */
  split_special_tokens?: boolean;
  /** Adds `offset_mapping`: start and end of each token in its text; 0, 0 for special tokens that were added. Default `false`. */
  return_offsets_mapping?: boolean;
  /** Unit of the offsets. `'utf16'` (default): `text.slice(start, end)` is the token's text. `'codepoint'`: Python's. */
  offsets?: 'utf16' | 'codepoint';
  /** Adds `special_tokens_mask`: 1 for special tokens that were added and for padding. Default `false`. */
  return_special_tokens_mask?: boolean;
  /** Default: whether the model's files ask for them (BERT's do). */
  return_token_type_ids?: boolean;

  /** Default `true`. */
  return_attention_mask?: boolean;
  /** What truncation cut off comes in rows of its own, with `overflow_to_sample_mapping`. Default `false`. */
  return_overflowing_tokens?: boolean;
  /** Tokens that two neighbouring rows of one text share (Python's `stride`). Default 0; less than the room there is. */
  overlap?: number;
  /** `true` (default): int32 `Tensor`s, for which all rows must be of one length (padding). `false`: arrays of numbers. */
  return_tensor?: boolean;
}

/** `Ids` is a Tensor `[rows, tokens]`, rows of numbers, or numbers. Each entry is there when its option asks for it. */
export interface Encoding<Ids, Offsets = Ids, PerRow = Ids> {
  input_ids: Ids;
  /** 1 for tokens, 0 for padding. */
  attention_mask?: Ids;
  token_type_ids?: Ids;
  /** A Tensor `[rows, tokens, 2]`, or pairs `[start, end]`. */
  offset_mapping?: Offsets;
  special_tokens_mask?: Ids;
  /** For each row the index of the text it came from. */
  overflow_to_sample_mapping?: PerRow;
  /** For each row whether its text was cut. */
  truncated: boolean[];
}

export type TensorEncoding = Encoding<Tensor<'int32'>>;

export type Span = [start: number, end: number];

export interface DecodeOptions {
  /** Leaves special tokens out. Default `false`. */
  skip_special_tokens?: boolean;
  /** Takes out spaces before punctuation and in contractions. Default: what tokenizer_config.json says, else `false`. */
  clean_up_tokenization_spaces?: boolean;
}

/** Token ids of one text, in any usual form. */
export type TokenIds = readonly number[] | readonly bigint[] | Int32Array | BigInt64Array | Tensor;

/** What may be said to `encode` and `tokenize`. */
export type EncodeOptions = Pick<TokenizeOptions, 'truncation' | 'max_length' | 'add_special_tokens' | 'split_special_tokens'> & {
  text_pair?: string;
};

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
  /** Ids of one text, with special tokens. */
  encode(text: string, options?: EncodeOptions): number[];
  /** Token strings of one text, without special tokens unless asked. */
  tokenize(text: string, options?: EncodeOptions): string[];
  decode(ids: TokenIds, options?: DecodeOptions): string;
  batch_decode(batch: readonly TokenIds[] | Tensor, options?: DecodeOptions): string[];
  /**
   * A chat as the model's `chat_template` writes it: its ids, or with `tokenize: false` its text. Needs the package
   * `@huggingface/jinja` (an `UnsupportedError` without it).
   */
  apply_chat_template(chat: Chat, options: ChatTemplateOptions & { tokenize: false }): Promise<string>;
  apply_chat_template(chat: Chat, options?: ChatTemplateOptions): Promise<number[]>;
  /** Token strings of ids; an id outside the vocabulary is an `InputError`. */
  convert_ids_to_tokens(ids: TokenIds): string[];
  /** Tokens that the model takes, specials included; `Infinity` when the files say nothing. */
  readonly model_max_length: number;
  /** Added tokens included. */
  readonly vocab_size: number;
}

/** A component as tokenizer.json has it, such as `{ type: 'Whitespace' }`; `null` for none. */
export type TokenizerComponent = { readonly type: string; readonly [field: string]: any } | null;

export type TrainingProgress =
  | {
      /** Texts are being read. */
      status: 'read';
      /** Texts so far. */
      texts: number;
      /** Different words (pieces between the pre-tokenizer's cuts) so far. */
      words: number;
    }
  | {
      /** The vocabulary is being made. */
      status: 'train';
      /** `'words'` and `'merges'` for BPE and WordPiece, `'seeds'` and `'pieces'` for Unigram. */
      stage: string;
      /** Percent of the stage. */
      progress: number;
    }
  | { status: 'ready' };

/**
 * What to train. Options are those of Hugging Face's trainers; one that the model does not know is an `InputError`.
 * `normalizer`, `pre_tokenizer`, `post_processor` and `decoder` have defaults that suit the model:
 * - `'wordpiece'`: BERT's (lowercase, `[PAD] [UNK] [CLS] [SEP] [MASK]`, `[CLS] text [SEP]`);
 * - `'bpe'`: GPT-2's (bytes, `<|endoftext|>`);
 * - `'unigram'`: SentencePiece's (NFKC, spaces as `▁`, `<unk> <pad> <s> </s>`);
 * - `'word'`: words and punctuation, `<unk> <pad> <s> </s>`;
 * - `'char'`: every character is a token, `<unk> <pad> <s> </s>`.
 */
export interface TrainOptions {
  model: 'wordpiece' | 'bpe' | 'unigram' | 'word' | 'char';
  /** Tokens, special ones and the alphabet included; the alphabet is kept whole even when it is more. Default 30000; unigram 8000. */
  vocab_size?: number;
  /** How often a pair (a word, a character) must be there to become a token. Default 0. Not for unigram. */
  min_frequency?: number;
  /** They get the ids from 0 on. Default: see the models. */
  special_tokens?: readonly string[];
  /** Put before the special tokens when it is none of them. Default: see the models; `null`: none. */
  unk_token?: string | null;
  /** BPE, WordPiece: the most characters to keep. Default: all. */
  limit_alphabet?: number;
  /** Characters that are kept although the texts may lack them. Default: none; all 256 bytes with a `ByteLevel` pre-tokenizer. */
  initial_alphabet?: string | readonly string[];
  /** BPE, WordPiece: put before pieces that are not the first of their word. Default `'##'` for WordPiece, else none. */
  continuing_subword_prefix?: string;
  /** BPE, WordPiece: put behind pieces that are the last of their word. Default: none. */
  end_of_word_suffix?: string;
  /** BPE, WordPiece: tokens stay below this many characters. Default: no limit. */
  max_token_length?: number;
  /** Unigram: the part of the pieces that a round keeps. Default 0.75. */
  shrinking_factor?: number;
  /** Unigram: EM steps of a round. Default 2. */
  n_sub_iterations?: number;
  /** Unigram: characters of the longest piece. Default 16. */
  max_piece_length?: number;
  /** Unigram: pieces to begin with. Default 1000000. */
  seed_size?: number;
  normalizer?: TokenizerComponent;
  pre_tokenizer?: TokenizerComponent;
  post_processor?: TokenizerComponent;
  decoder?: TokenizerComponent;
  /** Called while texts are read and while training goes on. What it throws ends the training. */
  progress_callback?: ((info: TrainingProgress) => void) | undefined;
  /** Ends the training with an `AbortError`, within milliseconds. */
  signal?: AbortSignalLike | undefined;
  /** Where `wattn-tokenizer.wasm`, which trains, is, when it is not beside this script; said once. */
  wasm?: WasmOverride | undefined;
}

/** One text a sequence. A string is one text. What cannot be held at once comes from an (async) iterator. */
export type TrainingTexts = string | Iterable<string> | AsyncIterable<string>;

export interface TrainedTokenizer extends Tokenizer {
  /** The text of its tokenizer.json; Python's `tokenizers` and `transformers` load it too. */
  save(): string;
  /** The same as an object, so that `JSON.stringify(tokenizer)` is a tokenizer.json. */
  toJSON(): Record<string, any>;
}

export interface CountOptions {
  /** Default `true`. */
  add_special_tokens?: boolean;
  /** `true`: strings like `[SEP]` inside a text are ordinary text. Default `false`, as in Python. */
  split_special_tokens?: boolean;
}

export interface ChunkOptions extends CountOptions {
  /** Tokens of a chunk at most, special ones included. */
  max_tokens: number;
  /** Tokens that a chunk repeats from the end of the one before, at most; it begins at a word. Default 0. */
  overlap?: number;
}

/** A part of a text, cut between paragraphs, sentences or words where it can be; white space around it left out. */
export interface Chunk {
  /** `text.slice(start, end)`. */
  text: string;
  start: number;
  end: number;
  /** What `count` says of it. */
  tokens: number;
}

/** Text of tokens that come one by one. All that `push` and `end` give, in a row, is what `decode` gives for all ids. */
export interface DecodeStream {
  /** The text that the ids complete; `''` while the last character still lacks bytes. */
  push(ids: number | bigint | TokenIds): string;
  /** What is left; the stream can then begin anew. */
  end(): string;
}

export interface TokenizerHelpers {
  /** How many tokens a text has, specials included: the length of `encode(text)`. */
  count(text: string, options?: CountOptions): number;
  count(texts: readonly string[], options?: CountOptions): number[];
  /** Parts of at most `max_tokens` tokens each, counted on the part itself; no part for a text of white space. */
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
  /** Ends with what begins an answer. Default `false`, as in Python. */
  add_generation_prompt?: boolean;
  /** A template in place of the model's own. */
  chat_template?: string;
  /** `true` (default): ids; `false`: the text. */
  tokenize?: boolean;
  /** Of a template that knows them. */
  tools?: readonly unknown[];
  [variable: string]: unknown;
}
