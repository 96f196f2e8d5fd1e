// Small vocabularies of words or characters. For subwords, see AutoTokenizer.train.
import { describe, InputError } from '../core/errors.js';
import { readOptions, type Rules } from '../core/options.js';
import { readTexts } from '../core/texts.js';

/** Options of a `Dictionary`. */
export interface DictionaryOptions {
  /** `'word'` (default): sequences of letters, marks and digits, with ' and - inside. `'character'`: code points. */
  level?: 'word' | 'character';
  /** The first tokens, in this order; `<unk>` replaces unknown tokens. Default: none. Usual: `['<unk>', '<pad>', '<s>', '</s>']`. */
  specials?: readonly string[];
  /** `true` (default): tokens are sorted by code points; `false`: they are in the order of first use. */
  sorted?: boolean;
  /** Leaves out tokens with fewer occurrences. Default 1. */
  min_frequency?: number;
  /** Converts texts to lower case first. Default `false`. */
  lowercase?: boolean;
}

const kRules: Rules = {
  level: ['word', 'character'],
  specials: 'any',
  sorted: 'boolean',
  min_frequency: 'count',
  lowercase: 'boolean',
};

// Bounded, as is an engine's stack for regular expressions: a longer word comes in pieces without anything between.
const kWord = /[\p{L}\p{M}\p{N}_]{1,1000}(?:['’-][\p{L}\p{M}\p{N}_]{1,1000}){0,1000}/gu;

function toWords(text: string): string[] {
  const words: string[] = [];
  let end = -1;
  for (const { 0: piece, index } of text.matchAll(kWord)) {
    if (index === end) words[words.length - 1] += piece;
    else words.push(piece);
    end = index + piece.length;
  }
  return words;
}

const byCodePoints = (a: string, b: string) => {
  const [left, right] = [[...a], [...b]];
  for (let i = 0; i < Math.min(left.length, right.length); ++i) {
    const difference = (left[i] as string).codePointAt(0)! - (right[i] as string).codePointAt(0)!;
    if (difference !== 0) return difference;
  }
  return left.length - right.length;
};

/**
 * A vocabulary of whole words or characters, as in the lecture notes. Converts texts to ids and back.
 *
 *     const words = nn.Dictionary.from_corpus('the cat sat', { specials: ['<unk>'] });
 *     words.encode('the dog'); // [3, 0]
 *
 * @example
 * nn.Dictionary.from_corpus('the old boat, the bridge').encode('the bridge'); // => [3, 1]
 */
export class Dictionary {
  /** The tokens, indexed by id. */
  readonly tokens: readonly string[];
  private readonly ids: Map<string, number>;
  private readonly level: 'word' | 'character';
  private readonly lowercase: boolean;
  private readonly specials: ReadonlySet<string>;

  /** `tokens` are in the order of their ids, including specials. */
  constructor(tokens: readonly string[], options: DictionaryOptions = {}) {
    options = readOptions('nn.Dictionary', options, kRules);
    this.tokens = [...tokens];
    this.ids = new Map(tokens.map((token, id) => [token, id]));
    if (this.ids.size !== tokens.length) throw new InputError('nn.Dictionary: expected distinct tokens, found one twice');
    this.level = options.level ?? 'word';
    this.lowercase = options.lowercase ?? false;
    this.specials = new Set(options.specials ?? []);
  }

  /** Creates a dictionary from the distinct words or characters of one or several texts. */
  static from_corpus(texts: string | readonly string[], options: DictionaryOptions = {}): Dictionary {
    options = readOptions('nn.Dictionary.from_corpus', options, kRules);
    const list = readTexts('nn.Dictionary.from_corpus', texts);
    const { specials = [], sorted = true, min_frequency = 1 } = options;
    if (!Array.isArray(specials) || !specials.every((each) => typeof each === 'string')) {
      throw new InputError(`nn.Dictionary.from_corpus: option 'specials': expected strings, found ${describe(specials)}`);
    }
    const counts = new Map<string, number>();
    const splitter = new Dictionary([], options);
    for (const text of list) {
      for (const token of splitter.split(text)) counts.set(token, (counts.get(token) ?? 0) + 1);
    }
    const found = [...counts.keys()].filter((token) => !specials.includes(token) && (counts.get(token) as number) >= min_frequency);
    return new Dictionary([...specials, ...(sorted ? found.sort(byCodePoints) : found)], options);
  }

  /** Number of tokens. */
  get size(): number {
    return this.tokens.length;
  }

  /** Whether the dictionary has the token. */
  has(token: string): boolean {
    return this.ids.has(token);
  }

  /** Splits a text into words or characters. */
  split(text: string): string[] {
    if (typeof text !== 'string') throw new InputError(`nn.Dictionary: expected a string, found ${describe(text)}`);
    const cased = this.lowercase ? text.toLowerCase() : text;
    return this.level === 'character' ? [...cased] : toWords(cased);
  }

  /** Converts a text to ids. An unknown token becomes `<unk>`, or throws if there is none. `bos` and `eos` add `<s>` and `</s>` around the text. */
  encode(text: string, options: { bos?: boolean; eos?: boolean } = {}): number[] {
    options = readOptions('nn.Dictionary.encode', options, { bos: 'boolean', eos: 'boolean' });
    const { bos, eos } = options ?? {};
    const tokens = [...(bos ? ['<s>'] : []), ...this.split(text), ...(eos ? ['</s>'] : [])];
    return tokens.map((token) => {
      const id = this.ids.get(token) ?? this.ids.get('<unk>');
      if (id === undefined) throw new InputError(`nn.Dictionary: '${token}' is not in the dictionary, and there is no <unk>`);
      return id;
    });
  }

  /** Converts several texts to ids, padded at the end with `<pad>` to rows of the same length. */
  encode_batch(texts: readonly string[], options: { bos?: boolean; eos?: boolean } = {}): number[][] {
    const rows = texts.map((text) => this.encode(text, options));
    const length = Math.max(0, ...rows.map((row) => row.length));
    const pad = this.ids.get('<pad>');
    if (pad === undefined && rows.some((row) => row.length < length)) {
      throw new InputError('nn.Dictionary: texts of different lengths need <pad> among the specials');
    }
    return rows.map((row) => [...row, ...new Array<number>(length - row.length).fill(pad as number)]);
  }

  /** Converts ids to text. An id outside the vocabulary throws an `InputError`. */
  decode(ids: readonly number[], options: { skip_special_tokens?: boolean } = {}): string {
    options = readOptions('nn.Dictionary.decode', options, { skip_special_tokens: 'boolean' });
    const tokens = ids.map((id) => {
      const token = this.tokens[id];
      if (token === undefined) throw new InputError(`nn.Dictionary: expected ids below ${this.size}, found ${id}`);
      return token;
    });
    const shown = (options?.skip_special_tokens ?? true) ? tokens.filter((token) => !this.specials.has(token)) : tokens;
    return shown.join(this.level === 'character' ? '' : ' ');
  }
}
