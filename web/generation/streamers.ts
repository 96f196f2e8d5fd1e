// transformers.js's streamers: what generation tells of tokens as they come. Any tokenizer that can decode will do.
import { plainCallback } from '../core/callback.js';
import { InputError, UnsupportedError } from '../core/errors.js';
import { readOptions, type Rules } from '../core/options.js';

/** The part of a tokenizer that a streamer uses. */
export interface StreamedTokenizer {
  /** Decodes ids to text. */
  decode(ids: number[], options?: { skip_special_tokens?: boolean; clean_up_tokenization_spaces?: boolean }): string;
  /** The ids of special tokens. */
  readonly all_special_ids?: readonly (number | null)[];
}

/**
 * Base class for the option `streamer`. `put` is called with the prompt, then with each new token; `end` is called after the last.
 *
 *     class Counter extends BaseStreamer {
 *       count = 0;
 *       put() {
 *         ++this.count;
 *       }
 *       end() {
 *         console.log(this.count);
 *       }
 *     }
 *
 * @example
 * class Counter extends BaseStreamer {
 *   count = 0;
 *   put(ids) {
 *     this.count += ids[0].length;
 *   }
 *   end() {}
 * }
 */
export class BaseStreamer {
  /** Receives the ids of the prompt, then of each new token, as `[[id, ..]]`. */
  put(_value: bigint[][]): void {
    throw new UnsupportedError('BaseStreamer: expected a subclass with put()');
  }
  /** Called after the last token. */
  end(): void {
    throw new UnsupportedError('BaseStreamer: expected a subclass with end()');
  }
}

/** Options of `TextStreamer`. */
export interface TextStreamerOptions {
  /** Leaves out the prompt's text. Default `false`. */
  skip_prompt?: boolean | undefined;
  /** Leaves out special tokens. Default `true`. */
  skip_special_tokens?: boolean | undefined;
  /** Called with each part of the text. Default: writes to standard output, or to the console. */
  callback_function?: ((text: string) => void) | null | undefined;
  /** Called with the ids of each token. */
  token_callback_function?: ((ids: bigint[]) => void) | null | undefined;
  /** Further options of the tokenizer's `decode`. */
  decode_kwargs?: { skip_special_tokens?: boolean; clean_up_tokenization_spaces?: boolean } | undefined;
  /** As in `decode`. */
  clean_up_tokenization_spaces?: boolean | undefined;
}

const kRules: Rules = {
  skip_prompt: 'boolean',
  skip_special_tokens: 'boolean',
  callback_function: 'function',
  token_callback_function: 'function',
  decode_kwargs: 'any',
  clean_up_tokenization_spaces: 'boolean',
};

type Output = { stdout?: { write(text: string): void } } | undefined;

/** Writes to Node's standard output, which needs a line's end of its own; elsewhere to the console. */
function print(text: string): void {
  const { stdout } = (globalThis as { process?: Output }).process ?? {};
  if (stdout) stdout.write(text);
  else if (text !== '\n') console.log(text);
}

const isIdeograph = (text: string) => /\p{Script=Han}$/u.test(text);

/**
 * Decodes new tokens and passes on the text in whole words.
 *
 *     const generate = await pipeline('text-generation', 'HuggingFaceTB/SmolLM2-135M-Instruct');
 *     const streamer = new TextStreamer(generate.tokenizer, { skip_prompt: true, callback_function: (text) => console.log(text) });
 *     await generate('Once upon a time', { max_new_tokens: 60, streamer });
 *
 * @throws InputError for an unknown option, and in `put` for several prompts at once.
 *
 * @example
 * const tokenizer = await AutoTokenizer.from_pretrained();
 * const streamer = new TextStreamer(tokenizer, { callback_function: (text) => console.log(text) });
 */
export class TextStreamer extends BaseStreamer {
  /** The tokenizer that decodes the tokens. */
  readonly tokenizer: StreamedTokenizer;
  /** Called with each part of the text. */
  callback_function: (text: string) => void;
  /** Called with the ids of each token. */
  token_callback_function: ((ids: bigint[]) => void) | null | undefined;
  private readonly skip_prompt: boolean;
  private readonly decode_kwargs: NonNullable<TextStreamerOptions['decode_kwargs']>;
  private readonly special: ReadonlySet<unknown>;
  private ids: number[] = []; // whose text is not all given
  private given = 0; // characters of it
  private isPrompt = true;
  private readonly tell = plainCallback((text: string) => this.callback_function(text));
  private readonly tellIds = plainCallback((ids: bigint[]) => this.token_callback_function?.(ids));

  constructor(tokenizer: StreamedTokenizer, options: TextStreamerOptions = {}) {
    super();
    options = readOptions('TextStreamer', options, kRules);
    if (typeof tokenizer?.decode !== 'function') throw new InputError('TextStreamer: expected a tokenizer');
    const { skip_prompt, callback_function, token_callback_function, decode_kwargs, ...rest } = options ?? {};
    this.tokenizer = tokenizer;
    this.skip_prompt = skip_prompt ?? false;
    this.callback_function = callback_function ?? print;
    this.token_callback_function = token_callback_function;
    this.decode_kwargs = { skip_special_tokens: true, ...rest, ...decode_kwargs };
    this.special = new Set(tokenizer.all_special_ids);
  }

  override put(value: bigint[][]): void {
    const [ids = []] = value;
    if (value.length > 1) throw new InputError(`TextStreamer: expected one prompt, found ${value.length}`);
    const isPrompt = this.isPrompt;
    this.isPrompt = false;
    if (isPrompt && this.skip_prompt) return;
    this.tellIds(ids);
    const numbers = ids.map(Number);
    if (!isPrompt && numbers.every((id) => this.special.has(id))) {
      if (this.decode_kwargs.skip_special_tokens) return;
      this.give(Infinity); // what came before stands apart from a special token
      this.ids = numbers;
      return this.give(Infinity);
    }
    this.ids.push(...numbers);
    const text = this.tokenizer.decode(this.ids, this.decode_kwargs);
    if (isPrompt || text.endsWith('\n')) this.give(Infinity, text);
    else this.give(isIdeograph(text) ? text.length : text.lastIndexOf(' ') + 1, text); // the next token may change a word's end
  }

  override end(): void {
    this.isPrompt = true;
    this.give(Infinity, undefined, true);
  }

  /** Gives the text up to here; Infinity: all, and what follows is decoded apart from it. */
  private give(end: number, text = this.ids.length > 0 ? this.tokenizer.decode(this.ids, this.decode_kwargs) : '', isEnd = false) {
    const part = text.slice(this.given, end);
    this.given = Math.max(this.given, end);
    if (end === Infinity) [this.ids, this.given] = [[], 0];
    this.on_finalized_text(part, isEnd);
  }

  /** Receives each part of the text, which may be empty, and whether it is the last. Override it to handle the text. */
  on_finalized_text(text: string, stream_end: boolean): void {
    if (text !== '') this.tell(text);
    if (stream_end && this.callback_function === print) print('\n');
  }
}
