// Public types of tokenizers: tokenizing, training, chunking, incremental decoding.
import type { Tensor } from '../core/tensor.js';
import type { AbortSignalLike, Disposable_, WasmOverride } from '../core/types.js';

/** Options of `count`. */
export interface CountOptions {
  /** Whether tokens such as `[CLS]` and `[SEP]` are added. Default `true`. */
  add_special_tokens?: boolean;
  /** `true`: treats strings like `[SEP]` in a text as ordinary text. Default `false`, as in Python. */
  split_special_tokens?: boolean;
}

/** Options of a tokenizer's call. */
export interface TokenizeOptions extends CountOptions {
  /**
   * Second texts: a string with a string, an array with an array of the same length. As in Python, `''` for one string means no second
   * text, and `''` in an array is a second text without tokens.
   */
  text_pair?: string | readonly string[];
  /** `true` or `'longest'`: to the longest row of the call; `'max_length'`: to max_length or the model's limit. Default `false`. */
  padding?: boolean | 'longest' | 'max_length';
  /** Where padding goes. Default: the tokenizer's `padding_side`. */
  padding_side?: 'left' | 'right';
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
  /** Whether the result has `attention_mask`, 1 for tokens and 0 for padding. Default `true`. */
  return_attention_mask?: boolean;
  /** Returns truncated text in further rows, with `overflow_to_sample_mapping`. Default `false`. */
  return_overflowing_tokens?: boolean;
  /** Tokens that neighbouring rows of one text share (Python's `stride`). Default 0. */
  overlap?: number;
  /** `true` (default): int32 `Tensor`s; all rows must have the same length (see `padding`). `false`: arrays of numbers. */
  return_tensor?: boolean;
}

/** A part of a text or of a row: the first place, and the one after the last. */
export interface IndexRange {
  /** The first one. */
  start: number;
  /** The one after the last. */
  end: number;
}

/**
 * What Python's BatchEncoding answers of a tokenizer's result. Rows and tokens are counted as they stand in `input_ids`, with padding. Characters
 * are counted in the unit of the call's option `offsets`. Where a row comes first it may be left out, and is then the first one. These members are
 * not enumerable, so that a log and `{ ...encoding }` have the arrays alone. The first call reads the texts once more.
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
  /** For each token of a row, the index of its word in its text, as the pre-tokenizer divides it; `null` for special tokens and padding. */
  word_ids(row?: number): (number | null)[];
  /** For each token of a row, 0 or 1 for the first or second text; `null` for special tokens and padding. */
  sequence_ids(row?: number): (number | null)[];
  /** The characters of a token; `null` for special tokens and padding. `token_to_chars(token)` or `token_to_chars(row, token)`. */
  token_to_chars(row_or_token: number, token?: number): IndexRange | null;
  /** The word of a token, as in `word_ids`. */
  token_to_word(row_or_token: number, token?: number): number | null;
  /** The token that a character belongs to; `null` for white space between tokens, and for what was cut off. sequence: 1 for a second text. */
  char_to_token(row_or_char: number, char?: number, sequence?: number): number | null;
  /** The word that a character belongs to. */
  char_to_word(row_or_char: number, char?: number, sequence?: number): number | null;
  /** The tokens of a word; `null` if it has none. */
  word_to_tokens(row_or_word: number, word?: number, sequence?: number): IndexRange | null;
  /** The characters of a word; `null` if it has no token. */
  word_to_chars(row_or_word: number, word?: number, sequence?: number): IndexRange | null;
}

/** `Ids` is a Tensor `[rows, tokens]`, rows of numbers, or numbers. Optional entries are present if requested. */
export interface Encoding<Ids, Offsets = Ids, PerRow = Ids> extends EncodingLookUps {
  /** Ids of the tokens. */
  input_ids: Ids;
  /** 1 for tokens, 0 for padding. */
  attention_mask?: Ids;
  /** 0 for tokens of the first text, 1 for those of the second. */
  token_type_ids?: Ids;
  /** A Tensor `[rows, tokens, 2]`, or pairs `[start, end]`. */
  offset_mapping?: Offsets;
  /** 1 for added special tokens and padding, else 0. */
  special_tokens_mask?: Ids;
  /** For each row, the index of its text. */
  overflow_to_sample_mapping?: PerRow;
  /** For each row, whether its text was truncated. */
  truncated: boolean[];
  /** For each row, the share of its text's tokens, from 0 to 1, that the vocabulary does not know. */
  unknown: number[];
}

/** The result of a tokenizer's call with tensors, which a model takes as it is. */
export type TensorEncoding = Encoding<Tensor<'int32'>>;

/** Where a token lies in its text. */
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
   * How many workers read the texts: a number from 1 to 64, `true` for one, `false` for none. Default: as many as pay, up to four and to the
   * number of cores; a call of fewer than 8 million characters needs none. They stay until `dispose()`.
   */
  worker?: boolean | number;
  /** Ends the call with the signal's reason. */
  signal?: AbortSignalLike;
}

/**
 * The special tokens that tokenizer_config.json names; if it names none, those of the vocabulary with the usual names (`[CLS]`, `</s>`, ..).
 * `null`: there is none. A token, or its id, may be set to another one of the vocabulary, or to `null`; one outside the vocabulary is an
 * `InputError`.
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
  /** The token that stands for text that the vocabulary does not know. */
  unk_token: string | null;
  /** The id of `unk_token`. */
  unk_token_id: number | null;
  /** The token that divides texts. */
  sep_token: string | null;
  /** The id of `sep_token`. */
  sep_token_id: number | null;
  /** The token that fills shorter rows. */
  pad_token: string | null;
  /** The id of `pad_token`. */
  pad_token_id: number | null;
  /** The token that stands for the whole text in classifiers. */
  cls_token: string | null;
  /** The id of `cls_token`. */
  cls_token_id: number | null;
  /** The token that hides a token to be guessed. */
  mask_token: string | null;
  /** The id of `mask_token`. */
  mask_token_id: number | null;
  /** All of them and those without a name (`extra_special_tokens`), each once, in Python's order. */
  readonly all_special_tokens: string[];
  /** The ids of `all_special_tokens`, in the same order. */
  readonly all_special_ids: (number | null)[];
}

/** A token to add, with Python's flags. */
export interface AddedToken {
  /** The token's text. */
  content: string;
  /** Found only where no letter or digit is beside it. Default `false`. */
  single_word?: boolean;
  /** Takes the white space before it. Default `false`. */
  lstrip?: boolean;
  /** Takes the white space after it. Default `false`. */
  rstrip?: boolean;
  /** Found in the normalized text, not in the text as it is. Default: `true`, for special tokens `false`. */
  normalized?: boolean;
  /** Left out by `skip_special_tokens`. Default: as the call says. */
  special?: boolean;
}

/** What `add_special_tokens` takes: tokens by the name of their task. */
export interface SpecialTokenNames {
  /** The token that begins a text. */
  bos_token?: string | AddedToken;
  /** The token that ends a text. */
  eos_token?: string | AddedToken;
  /** The token that stands for unknown text. */
  unk_token?: string | AddedToken;
  /** The token that divides texts. */
  sep_token?: string | AddedToken;
  /** The token that fills shorter rows. */
  pad_token?: string | AddedToken;
  /** The token that stands for the whole text. */
  cls_token?: string | AddedToken;
  /** The token that hides a token to be guessed. */
  mask_token?: string | AddedToken;
  /** Those without a name. They replace the ones before. */
  extra_special_tokens?: readonly (string | AddedToken)[];
  /** The older name of `extra_special_tokens`. */
  additional_special_tokens?: readonly (string | AddedToken)[];
}

/** Texts to token ids and back: the result of `AutoTokenizer.from_pretrained`. */
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
   * Ids of one text, with special tokens by default. A file whose normalizer or pre-tokenizer lets a text grow beyond 2^26 characters (or
   * twice its length, if that is more) is an `OutOfMemoryError`. So is one whose decoder makes a text of more than 2^28 bytes.
   */
  encode(text: string, options?: EncodeOptions): number[];
  /**
   * Token strings of one text, without special tokens by default. As in Python, an unknown token of Unigram is shown as the text that it
   * stands for, and an added token with the white space it takes.
   */
  tokenize(text: string, options?: EncodeOptions): string[];
  /** The text of ids. An id outside the vocabulary is an `InputError`. */
  decode(ids: TokenIds, options?: DecodeOptions): string;
  /** The texts of several rows of ids. */
  batch_decode(batch: readonly TokenIds[] | Tensor, options?: DecodeOptions): string[];
  /**
   * Renders a chat with the model's `chat_template` and returns its ids, or its text with `tokenize: false`, at once. Needs the package
   * `@huggingface/jinja`, in a page as `env.jinja`; without it, an `UnsupportedError`. An `InputError`: an unknown option, a template that fails or
   * does not end within a million steps (and 1,000 more for each message), a message that cannot be continued. With `env.compat`, `return_dict`
   * and `return_tensor` are `true` by default, and unknown options are variables of the template, as in transformers.js.
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
   * The template of the model's files, several by name, or `null`. May be set. chat_template.jinja is asked for only if
   * tokenizer_config.json has a template or an `eos_token`, and no `mask_token`.
   */
  chat_template: ChatTemplates | null;
  /** The template that `apply_chat_template` uses with these options; an `InputError` if there is none. */
  get_chat_template(options?: Pick<ApplyChatTemplateOptions, 'chat_template' | 'tools'>): string;
  /** Token strings of ids; an id outside the vocabulary is an `InputError`. */
  convert_ids_to_tokens(ids: TokenIds): string[];
  /**
   * Ids of token strings, as `tokenize` gives them. A string that is no token has the id of `unk_token`, or `null` without one.
   *
   * @example
   * const tokenizer = await AutoTokenizer.from_pretrained();
   * tokenizer.convert_tokens_to_ids(['[CLS]', '[SEP]']); // => [2, 3]
   */
  convert_tokens_to_ids(token: string): number | null;
  convert_tokens_to_ids(tokens: readonly string[]): (number | null)[];
  /** The text of token strings; one that is no token of the vocabulary is an `InputError`. */
  convert_tokens_to_string(tokens: readonly string[]): string;
  /** The id of each token, added tokens included: a new `Map`, in the order of ids. */
  get_vocab(): Map<string, number>;
  /**
   * Adds tokens that the vocabulary lacks, and returns how many, as in Python: they get the next ids, and texts are divided at them. Needs a
   * vocabulary in tokenizer.json, else an `UnsupportedError`; also one for the tokenizer of a loaded model, which has no vectors for them.
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
   * Makes tokens special and gives them their names; those that the vocabulary lacks are added. Returns how many were not added before.
   *
   * @example
   * const tokenizer = await AutoTokenizer.from_pretrained('./models/bert/');
   * tokenizer.add_special_tokens({ eos_token: '<end>', extra_special_tokens: ['<user>'] }); // => 2
   */
  add_special_tokens(tokens: SpecialTokenNames): number;
  /**
   * The tokenizer as files that `from_pretrained`, Python's too, reads. These are the vocabulary (tokenizer.json, or that of an older
   * format), tokenizer_config.json with what was set since, and chat_template.jinja if there is a template. folder: in Node, also writes them there;
   * in a page it is an `UnsupportedError`, and so is the tokenizer of another program's GGUF file.
   *
   * @example
   * const tokenizer = await AutoTokenizer.from_pretrained('./models/bert/');
   * tokenizer.padding_side = 'left';
   * const files = await tokenizer.save_pretrained(); // { 'tokenizer.json': .., 'tokenizer_config.json': .. }
   * const same = await AutoTokenizer.from_pretrained(files);
   */
  save_pretrained(folder?: string): Promise<Record<string, Uint8Array>>;
  /** Where padding goes if a call does not say. May be set. Default: the value in tokenizer_config.json, else `'right'`. */
  padding_side: 'left' | 'right';
  /** Maximum tokens of the model, special tokens included; `Infinity` if the files do not say. */
  readonly model_max_length: number;
  /** Size of the vocabulary, added tokens included. */
  readonly vocab_size: number;
  /**
   * Which files decided what.
   *
   * @example
   * const tokenizer = await AutoTokenizer.from_pretrained('./models/bert');
   * tokenizer.info(); // { tokenizer_class: 'BertTokenizer', class_from: 'config.json: model_type', rules: 'class', .. }
   */
  info(): TokenizerInfo;
}

/** What the files of a repository said of its tokenizer. */
export interface TokenizerInfo {
  /** The class of transformers that reads these files, without `Fast`; `null` if they name none. */
  tokenizer_class: string | null;
  /** The file and field that named it, such as `'config.json: model_type'`; `null` if none did. */
  class_from: string | null;
  /** The file with the vocabulary. */
  vocabulary: string;
  /** Where normalizer, pre-tokenizer, decoder and template come from: the class, as in transformers 5, or tokenizer.json. */
  rules: 'class' | 'tokenizer.json';
  /** The files that had added tokens, besides tokenizer.json. */
  added_tokens: string[];
}

/** A component as in tokenizer.json, such as `{ type: 'Whitespace' }`; `null` for none. */
export type TokenizerComponent = {
  /** The component's name, such as `'Whitespace'`. */
  readonly type: string;
  readonly [field: string]: any;
} | null;

/** How far the training of a tokenizer is. */
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
  /** The kind of vocabulary. */
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
  /** What happens to the text first, such as lower case. Default: that of the model, see above. */
  normalizer?: TokenizerComponent;
  /** What divides the text into words. Default: that of the model, see above. */
  pre_tokenizer?: TokenizerComponent;
  /** What adds special tokens. Default: that of the model, see above. */
  post_processor?: TokenizerComponent;
  /** How ids become text again. Default: that of the model, see above. */
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

/** A tokenizer that `trainTokenizer` made. */
export interface TrainedTokenizer extends Tokenizer {
  /** The contents of its tokenizer.json, which Python's `tokenizers` and `transformers` can load. */
  save(): string;
  /** The same as an object, so that `JSON.stringify(tokenizer)` gives a tokenizer.json. */
  toJSON(): Record<string, any>;
}

/** Options of `chunk`. */
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
  /** Where it begins in the text, in UTF-16 units. */
  start: number;
  /** Where it ends in the text, in UTF-16 units. */
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

/** What wattn's tokenizers have beside Python's: counting, cutting, decoding as tokens arrive. */
export interface TokenizerHelpers {
  /** Number of tokens of a text, special tokens included: the length of `encode(text)`. */
  count(text: string, options?: CountOptions): number;
  count(texts: readonly string[], options?: CountOptions): number[];
  /**
   * The ids of many texts, as `encode` gives those of one. Workers share the texts if there are many; otherwise this thread reads them in steps
   * of some milliseconds, so that a page stays responsive. Each result is `[tokens]`; results share memory.
   *
   * @example
   * const tokenizer = await AutoTokenizer.from_pretrained();
   * const rows = await tokenizer.encode_batch(['a boat', 'two old boats']);
   * rows.map((ids) => ids.length); // => [4, 5]
   */
  encode_batch(texts: readonly string[], options?: EncodeBatchOptions): Promise<Int32Array[]>;
  /** Chunks of at most `max_tokens` tokens each, counted on the chunk itself; none for a text of white space. */
  chunk(text: string, options: ChunkOptions): Chunk[];
  /**
   * The beginning of a text that has at most so many tokens, special tokens included. It ends where a token ends, and never within a character (a letter with its marks,
   * an emoji). `count` of the result is at most `tokens`; it is one or two less if the next character, or the rest of a word, needs more. Fewer tokens than the special
   * ones are an `InputError`.
   *
   * @example
   * const tokenizer = await AutoTokenizer.from_pretrained();
   * tokenizer.truncate_to('The old boats', 4); // => "The old"
   */
  truncate_to(text: string, tokens: number, options?: CountOptions): string;
  /** A decoder for tokens that arrive one by one, as a model writes them. */
  decode_stream(options?: DecodeOptions): DecodeStream;
}

/** One message of a chat. */
export interface ChatMessage {
  /** Who speaks: `'system'`, `'user'` or `'assistant'`, and what else the template knows. */
  role: string;
  /** What was said. */
  content: string;
  /** The calls that an assistant asks for. */
  tool_calls?: readonly ToolCall[];
  /** What a model wrote to itself before it answered. */
  reasoning_content?: string;
  /** The call whose result this message of the role `'tool'` has. */
  tool_call_id?: string;
  [more: string]: unknown;
}

/** A call of a tool, in OpenAI's form, with the arguments as an object: chat templates write them as JSON themselves. */
export interface ToolCall {
  /** Nine letters and digits, or what the model wrote. */
  id: string;
  /** Always `'function'`, as in OpenAI's API. */
  type: 'function';
  /** The name, and the arguments by the names of the parameters. */
  function: { name: string; arguments: Record<string, any> };
}

/** Which tools a model may call: as it likes, none, at least one of all, or this one. */
export type ToolChoice =
  | 'auto'
  | 'none'
  | 'required'
  | {
      /** The tool that is called. */
      name: string;
    }
  | {
      /** Always `'function'`, as in OpenAI's API. */
      type: 'function';
      /** The tool that is called. */
      function: { name: string };
    }
  | null;

/** A message as a program may give it, with its text in parts if the template reads them. */
export interface Message {
  /** As in `ChatMessage`. */
  role: 'user' | 'assistant' | 'system' | (string & {});
  /** What was said: a text, or parts such as `{ type: 'text', text }`. May be left out beside `tool_calls`. */
  content?: string | readonly { type: string; [field: string]: any }[] | null;
  /** As in `ChatMessage`. */
  tool_calls?: readonly ToolCall[];
  /** As in `ChatMessage`. */
  reasoning_content?: string;
  /** As in `ChatMessage`. */
  tool_call_id?: string;
  /** As in `ChatMessage`: the name of a tool, or of who speaks. */
  name?: string;
}

/** The messages of a chat, the first one first. */
export type Chat = readonly (ChatMessage | Message)[];

/** The chat template of a model, or several by name: `default`, `tool_use`, .. */
export type ChatTemplates = string | { readonly [name: string]: string };

/** What a chat template is given. */
export interface ChatTemplateOptions {
  /** Appends the beginning of an assistant's answer. Default `false`, as in Python. */
  add_generation_prompt?: boolean;
  /**
   * Leaves the last message open, so that a model continues it: the text ends where that message's text ends. `true`: its `content`; a
   * string: another field, such as `'reasoning_content'`. Default `false`. Not together with `add_generation_prompt`.
   */
  continue_final_message?: boolean | string;
  /** A template to use instead of the model's own, or the name of one of several. Default: `tool_use` with `tools` if there is one, else `default`. */
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

/** Options of `apply_chat_template`. */
export interface ApplyChatTemplateOptions
  extends ChatTemplateOptions, Pick<TokenizeOptions, 'padding' | 'truncation' | 'max_length' | 'return_tensor'> {
  /** `true`: the result of the tokenizer's call, with `input_ids` and `attention_mask`. Default `false`: the ids alone. */
  return_dict?: boolean;
  /** `true`: ids are Tensors. Default: `return_dict`. */
  return_tensor?: boolean;
  /** Further options of the tokenizer's call. */
  tokenizer_kwargs?: TokenizeOptions;
}
