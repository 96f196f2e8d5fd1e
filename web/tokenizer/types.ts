// Public types of tokenizers: tokenizing, training, chunking, incremental decoding.
import type { Tensor } from '../core/tensor.js';
import type { AbortSignalLike, Disposable_, WasmOverride } from '../core/types.js';

/** Options of `count`. */
export interface CountOptions {
  /** Adds special tokens such as `[CLS]` and `[SEP]`. Default `true`. */
  add_special_tokens?: boolean;
  /** `true`: treats strings like `[SEP]` in a text as ordinary text. Default `false`, as in Python. */
  split_special_tokens?: boolean;
}

/** Options of a tokenizer's call. */
export interface TokenizeOptions extends CountOptions {
  /**
   * Second texts: a string for a string, an array of the same length for an array. As in Python, `''` for one string means no second text, while `''` in
   * an array is a second text without tokens.
   */
  text_pair?: string | readonly string[];
  /** Pads rows. `true` or `'longest'`: to the longest row of the call; `'max_length'`: to `max_length` or the model's limit. Default `false`. */
  padding?: boolean | 'longest' | 'max_length';
  /** Side to pad. Default: the tokenizer's `padding_side`. */
  padding_side?: 'left' | 'right';
  /** Truncates texts that are too long. `true` means `'longest_first'`. Default `false`, or `true` if `max_length` is set without padding, as in Python. */
  truncation?: boolean | 'longest_first' | 'only_first' | 'only_second';
  /** Maximum tokens, special tokens included. Default: `model_max_length` if a limit is needed; throws an `InputError` if it is unknown. */
  max_length?: number;
  /** Adds `offset_mapping`: start and end of each token in its text; 0, 0 for added special tokens. Default `false`. */
  return_offsets_mapping?: boolean;
  /** Unit of offsets. `'utf16'` (default): `text.slice(start, end)` is the token's text. `'codepoint'`: code points, as in Python. */
  offsets?: 'utf16' | 'codepoint';
  /** Adds `special_tokens_mask`: 1 for added special tokens and padding. Default `false`. */
  return_special_tokens_mask?: boolean;
  /** Adds `token_type_ids`. Default: if the model takes them, as BERT does. */
  return_token_type_ids?: boolean;
  /** Adds `attention_mask`: 1 for tokens, 0 for padding. Default `true`. */
  return_attention_mask?: boolean;
  /** Returns truncated text in additional rows, with `overflow_to_sample_mapping`. Default `false`. */
  return_overflowing_tokens?: boolean;
  /** Tokens that adjacent rows of the same text share (Python's `stride`). Default 0. */
  overlap?: number;
  /** `true` (default): returns int32 `Tensor`s; all rows must have the same length (see `padding`). `false`: arrays of numbers. */
  return_tensor?: boolean;
}

/** A range of a text or of a row. */
export interface IndexRange {
  /** The first index. */
  start: number;
  /** The index after the last. */
  end: number;
}

/**
 * The lookups of Python's BatchEncoding between tokens, words and characters. Rows and tokens are indices into `input_ids`, padding included. Characters
 * are counted in the unit of the call's option `offsets`. The argument `row` may be omitted: it defaults to the first row. These members are not
 * enumerable, so logs and `{ ...encoding }` contain only the arrays. The first lookup tokenizes the texts again.
 *
 * @example
 * const tokenizer = await AutoTokenizer.from_pretrained();
 * const encoding = tokenizer('The old boats');
 * encoding.tokens(); // ['[CLS]', 'the', 'old', 'boats', '[SEP]']
 * encoding.word_ids(); // [null, 0, 1, 2, null]
 * encoding.char_to_token(5); // 2
 */
export interface EncodingLookUps {
  /** The tokens of a row as strings. Default: the first row. */
  tokens(row?: number): string[];
  /** For each token of a row, the index of its word, as split by the pre-tokenizer; `null` for special tokens and padding. */
  word_ids(row?: number): (number | null)[];
  /** For each token of a row, 0 or 1 for the first or second text; `null` for special tokens and padding. */
  sequence_ids(row?: number): (number | null)[];
  /** The character range of a token; `null` for special tokens and padding. `token_to_chars(token)` or `token_to_chars(row, token)`. */
  token_to_chars(row_or_token: number, token?: number): IndexRange | null;
  /** The index of a token's word, as in `word_ids`. */
  token_to_word(row_or_token: number, token?: number): number | null;
  /** The index of the token that contains a character; `null` for white space between tokens and for truncated text. `sequence`: 1 for the second text. */
  char_to_token(row_or_char: number, char?: number, sequence?: number): number | null;
  /** The index of the word that contains a character. */
  char_to_word(row_or_char: number, char?: number, sequence?: number): number | null;
  /** The token range of a word; `null` if it has none. */
  word_to_tokens(row_or_word: number, word?: number, sequence?: number): IndexRange | null;
  /** The character range of a word; `null` if it has no token. */
  word_to_chars(row_or_word: number, word?: number, sequence?: number): IndexRange | null;
}

/** The result of a tokenizer's call. `Ids` is a Tensor `[rows, tokens]`, rows of numbers, or numbers. Optional members are present if requested. */
export interface Encoding<Ids, Offsets = Ids, PerRow = Ids> extends EncodingLookUps {
  /** Ids of the tokens. */
  input_ids: Ids;
  /** 1 for tokens, 0 for padding. */
  attention_mask?: Ids;
  /** 0 for tokens of the first text, 1 for tokens of the second. */
  token_type_ids?: Ids;
  /** A Tensor `[rows, tokens, 2]`, or pairs `[start, end]`. */
  offset_mapping?: Offsets;
  /** 1 for added special tokens and padding, otherwise 0. */
  special_tokens_mask?: Ids;
  /** For each row, the index of its text. */
  overflow_to_sample_mapping?: PerRow;
  /** For each row, whether its text was truncated. */
  truncated: boolean[];
  /** For each row, the fraction of its text's tokens, from 0 to 1, that are not in the vocabulary. */
  unknown: number[];
}

/** The result of a tokenizer's call with tensors. Models accept it directly. */
export type TensorEncoding = Encoding<Tensor<'int32'>>;

/** A token's start and end in its text. */
export type Span = [start: number, end: number];

/** Options of `decode`. */
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
  /** A second text, for models that read pairs. */
  text_pair?: string;
}

/** Options of `encode_batch`. */
export interface EncodeBatchOptions extends Omit<EncodeOptions, 'text_pair'> {
  /** A second text for each one, for models that read pairs. */
  text_pair?: readonly string[];
  /**
   * The number of workers, from 1 to 64; `true` is one, `false` is none. Default: none below 8 million characters, then one for each 4 million, at
   * most four and at most one per core. The workers stay until `dispose()`.
   */
  worker?: boolean | number;
  /** Aborts the call. */
  signal?: AbortSignalLike;
}

/**
 * The special tokens named in tokenizer_config.json; if it names none, those of the vocabulary with the usual names (`[CLS]`, `</s>`, ..). `null`: there
 * is none. You can set a token or its id to another one of the vocabulary, or to `null`. One outside the vocabulary throws an `InputError`.
 *
 * @example
 * const tokenizer = await AutoTokenizer.from_pretrained();
 * tokenizer.pad_token = tokenizer.mask_token; // for a GPT without a padding token: its eos_token
 * tokenizer(['a boat', 'two old boats'], { padding: true, padding_side: 'left' });
 */
export interface SpecialTokens {
  /** The token that begins a text. */
  bos_token: string | null;
  /** The id of `bos_token`. */
  bos_token_id: number | null;
  /** The token that ends a text. */
  eos_token: string | null;
  /** The id of `eos_token`. */
  eos_token_id: number | null;
  /** The token for text that is not in the vocabulary. */
  unk_token: string | null;
  /** The id of `unk_token`. */
  unk_token_id: number | null;
  /** The token that separates texts. */
  sep_token: string | null;
  /** The id of `sep_token`. */
  sep_token_id: number | null;
  /** The token that pads shorter rows. */
  pad_token: string | null;
  /** The id of `pad_token`. */
  pad_token_id: number | null;
  /** The token whose vector represents the whole text in classifiers. */
  cls_token: string | null;
  /** The id of `cls_token`. */
  cls_token_id: number | null;
  /** The token that masks a token to predict. */
  mask_token: string | null;
  /** The id of `mask_token`. */
  mask_token_id: number | null;
  /** All special tokens, including unnamed ones (`extra_special_tokens`), each once, in Python's order. */
  readonly all_special_tokens: string[];
  /** The ids of `all_special_tokens`, in the same order. */
  readonly all_special_ids: (number | null)[];
}

/** A token to add, with Python's options. */
export interface AddedToken {
  /** The token's text. */
  content: string;
  /** Matches only whole words: no letter or digit may be next to it. Default `false`. */
  single_word?: boolean;
  /** Includes the white space before it. Default `false`. */
  lstrip?: boolean;
  /** Includes the white space after it. Default `false`. */
  rstrip?: boolean;
  /** Matches in the normalized text instead of the original. Default `true`; `false` for special tokens. */
  normalized?: boolean;
  /** `skip_special_tokens` leaves it out. Default: as set by the call. */
  special?: boolean;
}

/** Special tokens by role, for `add_special_tokens`. */
export interface SpecialTokenNames {
  /** The token that begins a text. */
  bos_token?: string | AddedToken;
  /** The token that ends a text. */
  eos_token?: string | AddedToken;
  /** The token for text that is not in the vocabulary. */
  unk_token?: string | AddedToken;
  /** The token that separates texts. */
  sep_token?: string | AddedToken;
  /** The token that pads shorter rows. */
  pad_token?: string | AddedToken;
  /** The token whose vector represents the whole text. */
  cls_token?: string | AddedToken;
  /** The token that masks a token to predict. */
  mask_token?: string | AddedToken;
  /** Special tokens without a role. They replace the existing ones. */
  extra_special_tokens?: readonly (string | AddedToken)[];
  /** The older name of `extra_special_tokens`. */
  additional_special_tokens?: readonly (string | AddedToken)[];
}

/** A tokenizer: the result of `AutoTokenizer.from_pretrained`. Converts texts to token ids and back. */
export interface Tokenizer extends Disposable_, TokenizerHelpers, SpecialTokens {
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
   * Converts a text to ids, with special tokens by default. Throws an `OutOfMemoryError` if normalizer or pre-tokenizer make the text longer than 2^26
   * characters, or twice its length if that is more. The same goes for a decoder that creates more than 2^28 bytes.
   */
  encode(text: string, options?: EncodeOptions): number[];
  /**
   * Splits a text into token strings, without special tokens by default. As in Python, an unknown token of Unigram appears as its text, and an added
   * token includes the white space that it matches.
   */
  tokenize(text: string, options?: EncodeOptions): string[];
  /** Converts ids to text. An id outside the vocabulary throws an `InputError`. */
  decode(ids: TokenIds, options?: DecodeOptions): string;
  /** Converts several rows of ids to texts. */
  batch_decode(batch: readonly TokenIds[] | Tensor, options?: DecodeOptions): string[];
  /**
   * Renders a chat with the model's `chat_template` and returns its ids, or its text with `tokenize: false`. Requires the package `@huggingface/jinja`
   * (in a page as `env.jinja`), otherwise it throws an `UnsupportedError`. Throws an `InputError` for an unknown option and for a message that cannot be
   * continued. It also throws one if the template fails, or does not finish within a million steps (plus 1,000 per message). With `env.compat`,
   * `return_dict` and `return_tensor` default to `true`, and unknown options become variables of the template, as in transformers.js.
   *
   * @example
   * const chat = [{ role: 'user', content: 'Where is the bakery?' }];
   * const tokenizer = await AutoTokenizer.from_pretrained();
   * tokenizer.chat_template = '{% for message in messages %}{{ message.content }}{% endfor %}'; // those of chat models have one
   * const prompt = tokenizer.apply_chat_template(chat, { add_generation_prompt: true, tokenize: false });
   */
  apply_chat_template(chat: Chat, options: ApplyChatTemplateOptions & { tokenize: false }): string;
  apply_chat_template(
    chat: Chat,
    options: ApplyChatTemplateOptions & { return_dict: true; return_tensor: false },
  ): Encoding<number[], Span[], number[]>;
  apply_chat_template(chat: Chat, options: ApplyChatTemplateOptions & { return_dict: true }): TensorEncoding;
  apply_chat_template(chat: Chat, options: ApplyChatTemplateOptions & { return_tensor: true }): Tensor<'int32'>;
  apply_chat_template(chat: Chat, options?: ApplyChatTemplateOptions): number[];
  /**
   * The model's chat template, several templates by name, or `null`. Can be set. chat_template.jinja is requested only if tokenizer_config.json has a
   * template or an `eos_token`, and no `mask_token`.
   */
  chat_template: ChatTemplates | null;
  /** The template that `apply_chat_template` would use with these options. Throws an `InputError` if there is none. */
  get_chat_template(options?: Pick<ApplyChatTemplateOptions, 'chat_template' | 'tools'>): string;
  /** Converts ids to token strings. An id outside the vocabulary throws an `InputError`. */
  convert_ids_to_tokens(ids: TokenIds): string[];
  /**
   * Converts token strings, as returned by `tokenize`, to ids. A string that is not a token gives the id of `unk_token`, or `null` if there is none.
   *
   * @example
   * const tokenizer = await AutoTokenizer.from_pretrained();
   * tokenizer.convert_tokens_to_ids(['[CLS]', '[SEP]']); // => [2, 3]
   */
  convert_tokens_to_ids(token: string): number | null;
  convert_tokens_to_ids(tokens: readonly string[]): (number | null)[];
  /** Converts token strings to text. A string that is not in the vocabulary throws an `InputError`. */
  convert_tokens_to_string(tokens: readonly string[]): string;
  /** A new `Map` from tokens to ids, including added tokens, in the order of ids. */
  get_vocab(): Map<string, number>;
  /**
   * Adds tokens that the vocabulary lacks and returns how many, as in Python. They get the next ids, and texts are split at them. Throws an
   * `UnsupportedError` without a vocabulary in tokenizer.json, and for the tokenizer of a loaded model, which has no vectors for them.
   *
   * @example
   * const tokenizer = await AutoTokenizer.from_pretrained('./models/bert/');
   * tokenizer.add_tokens(['ECG', 'MRI']); // => 2
   * tokenizer.count('an MRI'); // one token more than of 'an'
   */
  add_tokens(
    tokens: string | AddedToken | readonly (string | AddedToken)[],
    options?: {
      /** Whether `skip_special_tokens` leaves them out. Default `false`. */
      special_tokens?: boolean;
    },
  ): number;
  /**
   * Sets special tokens by role, and adds those that the vocabulary lacks. Returns how many were new.
   *
   * @example
   * const tokenizer = await AutoTokenizer.from_pretrained('./models/bert/');
   * tokenizer.add_special_tokens({ eos_token: '<end>', extra_special_tokens: ['<user>'] }); // => 2
   */
  add_special_tokens(tokens: SpecialTokenNames): number;
  /**
   * Returns the tokenizer's files, for `from_pretrained` here and in Python: the vocabulary (tokenizer.json, or an older format), tokenizer_config.json
   * with your changes, and chat_template.jinja if there is a template. In Node, `folder` also writes them there. Throws an `UnsupportedError` for a
   * folder in a page, and for the tokenizer of another program's GGUF file.
   *
   * @example
   * const tokenizer = await AutoTokenizer.from_pretrained('./models/bert/');
   * tokenizer.padding_side = 'left';
   * const files = await tokenizer.save_pretrained(); // { 'tokenizer.json': .., 'tokenizer_config.json': .. }
   * const same = await AutoTokenizer.from_pretrained(files);
   */
  save_pretrained(folder?: string): Promise<Record<string, Uint8Array>>;
  /** Side to pad if a call does not say. Can be set. Default: the value in tokenizer_config.json, else `'right'`. */
  padding_side: 'left' | 'right';
  /** Maximum tokens of the model, including special tokens; `Infinity` if the files do not say. */
  readonly model_max_length: number;
  /** Size of the vocabulary, including added tokens. */
  readonly vocab_size: number;
  /**
   * Reports which files determined the tokenizer.
   *
   * @example
   * const tokenizer = await AutoTokenizer.from_pretrained('./models/bert');
   * tokenizer.info(); // { tokenizer_class: 'BertTokenizer', class_from: 'config.json: model_type', rules: 'class', .. }
   */
  info(): TokenizerInfo;
}

/** How a tokenizer was determined from its files. */
export interface TokenizerInfo {
  /** The class in transformers that reads these files, without `Fast`; `null` if the files name none. */
  tokenizer_class: string | null;
  /** The file and field that name it, such as `'config.json: model_type'`; `null` if none does. */
  class_from: string | null;
  /** The file with the vocabulary. */
  vocabulary: string;
  /** The source of normalizer, pre-tokenizer, decoder and template: the class, as in transformers 5, or tokenizer.json. */
  rules: 'class' | 'tokenizer.json';
  /** The files that contained added tokens, besides tokenizer.json. */
  added_tokens: string[];
}

/** A component in the form of tokenizer.json, such as `{ type: 'Whitespace' }`; `null` for none. */
export type TokenizerComponent = {
  /** The component's name, such as `'Whitespace'`. */
  readonly type: string;
  readonly [field: string]: any;
} | null;

/** Progress of training a tokenizer. */
export type TrainingProgress =
  | {
      /** Texts are being read. */
      status: 'read';
      /** Number of texts so far. */
      texts: number;
      /** Number of distinct words so far, as split by the pre-tokenizer. */
      words: number;
    }
  | {
      /** The vocabulary is being built. */
      status: 'train';
      /** `'words'` and `'merges'` for BPE and WordPiece, `'seeds'` and `'pieces'` for Unigram. */
      stage: string;
      /** Progress of the stage, in percent. */
      progress: number;
    }
  | { status: 'ready' };

/**
 * Options of `AutoTokenizer.train`, as in Hugging Face's trainers. An option that the model does not use throws an `InputError`. The defaults of
 * `normalizer`, `pre_tokenizer`, `post_processor` and `decoder` depend on the model:
 * - `'wordpiece'`: BERT's (lowercase, `[PAD] [UNK] [CLS] [SEP] [MASK]`, `[CLS] text [SEP]`);
 * - `'bpe'`: GPT-2's (bytes, `<|endoftext|>`);
 * - `'unigram'`: SentencePiece's (NFKC, spaces as `▁`, `<unk> <pad> <s> </s>`);
 * - `'word'`: words and punctuation, `<unk> <pad> <s> </s>`;
 * - `'char'`: each character is a token, `<unk> <pad> <s> </s>`.
 */
export interface TrainOptions {
  /** The type of model. */
  model: 'wordpiece' | 'bpe' | 'unigram' | 'word' | 'char';
  /**
   * Number of tokens, including special tokens. Default 30000; unigram 8000. BPE and WordPiece always keep the alphabet (see `limit_alphabet`), so they
   * may exceed a small number. Unigram throws an `InputError`, which names the minimum, if the alphabet and special tokens do not fit. `'word'` and
   * `'char'` keep the most frequent.
   */
  vocab_size?: number;
  /** Minimum occurrences of a pair (or a word, or a character) to become a token. Default 0. Not for unigram. */
  min_frequency?: number;
  /** Special tokens; they get the first ids. Default: see `TrainOptions`. */
  special_tokens?: readonly string[];
  /** The token for unknown text. It is added before the special tokens if it is not one of them. Default: see `TrainOptions`; `null`: none. */
  unk_token?: string | null;
  /** BPE, WordPiece: maximum size of the alphabet. Default: no limit. */
  limit_alphabet?: number;
  /** Characters to include even if the texts do not contain them. Default: none; all 256 bytes with a `ByteLevel` pre-tokenizer. */
  initial_alphabet?: string | readonly string[];
  /** BPE, WordPiece: prefix of pieces that do not begin a word. Default `'##'` for WordPiece, else none. */
  continuing_subword_prefix?: string;
  /** BPE, WordPiece: suffix of pieces that end a word. Default: none. */
  end_of_word_suffix?: string;
  /** BPE, WordPiece: maximum characters of a token, exclusive. Default: no limit. */
  max_token_length?: number;
  /** Unigram: the fraction of pieces that each round keeps. Default 0.75. */
  shrinking_factor?: number;
  /** Unigram: EM steps per round. Default 2. */
  n_sub_iterations?: number;
  /** Unigram: maximum characters of a piece. Default 16. */
  max_piece_length?: number;
  /** Unigram: number of initial pieces; all characters and at least one more are always included. Default 1000000. */
  seed_size?: number;
  /** Changes the text first, for example to lower case. Default: see `TrainOptions`. */
  normalizer?: TokenizerComponent;
  /** Splits the text into words. Default: see `TrainOptions`. */
  pre_tokenizer?: TokenizerComponent;
  /** Adds special tokens. Default: see `TrainOptions`. */
  post_processor?: TokenizerComponent;
  /** Converts ids back to text. Default: see `TrainOptions`. */
  decoder?: TokenizerComponent;
  /** Called while texts are read and during training. An exception from it stops the training. */
  progress_callback?: ((info: TrainingProgress) => void) | undefined;
  /** Cancels the training within milliseconds, with an `AbortError`. */
  signal?: AbortSignalLike | undefined;
  /** Where `wattn-tokenizer.wasm`, which contains training, is, if not next to this script. Needed once. */
  wasm?: WasmOverride | undefined;
}

/** Texts to train on. A string is one text. An (async) iterator can supply more texts than fit into memory. */
export type TrainingTexts = string | Iterable<string> | AsyncIterable<string>;

/** A trained tokenizer: the result of `AutoTokenizer.train`. */
export interface TrainedTokenizer extends Tokenizer {
  /** The contents of tokenizer.json, which Python's `tokenizers` and `transformers` can load. */
  save(): string;
  /** tokenizer.json as an object, for `JSON.stringify(tokenizer)`. */
  toJSON(): Record<string, any>;
}

/** Options of `chunk`. */
export interface ChunkOptions extends CountOptions {
  /** Maximum tokens per chunk, including special tokens. */
  max_tokens: number;
  /** Maximum tokens that a chunk repeats from the previous one, starting at a word. Default 0. */
  overlap?: number;
}

/** A part of a text, split between paragraphs, sentences or words if possible, without surrounding white space. */
export interface Chunk {
  /** The chunk's text, `text.slice(start, end)`. */
  text: string;
  /** Start offset in the text, in UTF-16 code units. */
  start: number;
  /** End offset in the text, in UTF-16 code units. */
  end: number;
  /** Number of tokens of the chunk, as returned by `count`. */
  tokens: number;
}

/** Decodes tokens as they arrive. The results of `push` and `end`, concatenated, equal `decode` of all ids. */
export interface DecodeStream {
  /** Adds ids and returns the text that they complete; `''` while the last character is incomplete. */
  push(ids: number | bigint | TokenIds): string;
  /** Returns the remaining text. The stream can be reused afterwards. */
  end(): string;
}

/** Methods that Python's tokenizers do not have: counting, chunking, streaming decoding. */
export interface TokenizerHelpers {
  /** The number of tokens of a text, including special tokens: the length of `encode(text)`. */
  count(text: string, options?: CountOptions): number;
  count(texts: readonly string[], options?: CountOptions): number[];
  /**
   * The ids of many texts: for each text, what `encode` returns, as an `Int32Array` `[tokens]`. Workers share a large batch. Otherwise this thread
   * encodes it in steps of a few milliseconds, so that a page stays responsive. The arrays share memory.
   *
   * @example
   * const tokenizer = await AutoTokenizer.from_pretrained();
   * const rows = await tokenizer.encode_batch(['a boat', 'two old boats']);
   * rows.map((ids) => ids.length); // => [4, 5]
   */
  encode_batch(texts: readonly string[], options?: EncodeBatchOptions): Promise<Int32Array[]>;
  /** Splits a text into chunks of at most `max_tokens` tokens, counted on the chunk itself. White space alone gives no chunks. */
  chunk(text: string, options: ChunkOptions): Chunk[];
  /**
   * Truncates a text to at most `tokens` tokens, including special tokens. The result ends at the end of a token, and never within a character (a letter
   * with its marks, an emoji). Its `count` may be one or two less than `tokens` if the next character, or the rest of a word, needs more. Throws an
   * `InputError` if not even the special tokens fit.
   *
   * @example
   * const tokenizer = await AutoTokenizer.from_pretrained();
   * tokenizer.truncate_to('The old boats', 4); // => "The old"
   */
  truncate_to(text: string, tokens: number, options?: CountOptions): string;
  /** Creates a decoder for tokens that arrive one by one, as a model generates them. */
  decode_stream(options?: DecodeOptions): DecodeStream;
}

/** One message of a chat. */
export interface ChatMessage {
  /** The author: `'system'`, `'user'`, `'assistant'`, or another role that the template knows. */
  role: string;
  /** The text of the message. */
  content: string;
  /** Tool calls by the assistant. */
  tool_calls?: readonly ToolCall[];
  /** The model's reasoning before its answer. */
  reasoning_content?: string;
  /** For a message of the role `'tool'`: the id of the call whose result it contains. */
  tool_call_id?: string;
  [more: string]: unknown;
}

/** A tool call in OpenAI's form, but with the arguments as an object, because chat templates convert them to JSON. */
export interface ToolCall {
  /** The call's id: nine letters and digits, or the id that the model wrote. */
  id: string;
  /** Always `'function'`, as in OpenAI's API. */
  type: 'function';
  /** The function's name, and the arguments by parameter name. */
  function: { name: string; arguments: Record<string, any> };
}

/** Which tools a model may call: any or none as it decides, none, at least one, or a specific one. */
export type ToolChoice =
  | 'auto'
  | 'none'
  | 'required'
  | {
      /** The name of the tool. */
      name: string;
    }
  | {
      /** Always `'function'`, as in OpenAI's API. */
      type: 'function';
      /** The name of the tool. */
      function: { name: string };
    }
  | null;

/** A message of a chat as input. Its text may be in parts, if the template supports that. */
export interface Message {
  /** As in `ChatMessage`. */
  role: 'user' | 'assistant' | 'system' | (string & {});
  /** The text, or parts such as `{ type: 'text', text }`. Can be omitted with `tool_calls`. */
  content?: string | readonly { type: string; [field: string]: any }[] | null;
  /** As in `ChatMessage`. */
  tool_calls?: readonly ToolCall[];
  /** As in `ChatMessage`. */
  reasoning_content?: string;
  /** As in `ChatMessage`. */
  tool_call_id?: string;
  /** The name of a tool or of the author, as in `ChatMessage`. */
  name?: string;
}

/** The messages of a chat, in order. */
export type Chat = readonly (ChatMessage | Message)[];

/** A model's chat template, or several by name: `default`, `tool_use`, .. */
export type ChatTemplates = string | { readonly [name: string]: string };

/** Options for rendering a chat template. */
export interface ChatTemplateOptions {
  /** Adds the beginning of an assistant's answer at the end. Default `false`, as in Python. */
  add_generation_prompt?: boolean;
  /**
   * Leaves the last message open so that the model continues it: the rendered text ends with that message's text. `true`: its `content`; a string:
   * another field, such as `'reasoning_content'`. Default `false`. Not together with `add_generation_prompt`.
   */
  continue_final_message?: boolean | string;
  /** A template to use instead of the model's, or the name of one of its templates. Default: `tool_use` with `tools` if it exists, else `default`. */
  chat_template?: string;
  /** `true` (default) returns ids, `false` returns the text. */
  tokenize?: boolean;
  /** Functions that the model may call, as JSON Schemas, for templates that support tools. */
  tools?: readonly unknown[];
  /** Documents for retrieval, for templates that support them. */
  documents?: readonly unknown[];
  /** Additional variables of the template, such as `{ enable_thinking: false }`. */
  chat_template_kwargs?: Readonly<Record<string, unknown>>;
}

/** Options of `apply_chat_template`. */
export interface ApplyChatTemplateOptions
  extends ChatTemplateOptions, Pick<TokenizeOptions, 'padding' | 'truncation' | 'max_length' | 'return_tensor'> {
  /** `true` returns a tokenizer's result with `input_ids` and `attention_mask`. Default `false`: only the ids. */
  return_dict?: boolean;
  /** `true` returns ids as Tensors. Default: the value of `return_dict`. */
  return_tensor?: boolean;
  /** Additional options of the tokenizer's call. */
  tokenizer_kwargs?: TokenizeOptions;
}
