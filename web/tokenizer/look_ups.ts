// What Python's BatchEncoding answers of a tokenizer's result: tokens, words and sequences, and which token a character belongs to.
import { describe, InputError } from '../core/errors.js';
import type { EncodeAnswer } from '../host/seam.js';
import type { Facts, Row } from './layout.js';
import type { EncodingLookUps } from './types.js';

/** What they read: of a second encoding of the same texts, when the first of them is called. */
export interface Details {
  answer: EncodeAnswer;
  /** In the unit of the call. */
  offsets: Int32Array;
  rows: readonly Row[];
  left: boolean;
  /** The token of padding. */
  pad: string;
}

const kLookUps = [
  'tokens',
  'word_ids',
  'sequence_ids',
  'token_to_chars',
  'token_to_word',
  'char_to_token',
  'char_to_word',
  'word_to_tokens',
  'word_to_chars',
] as const;

type Range = { start: number; end: number };

function lookUps(read: () => Details): EncodingLookUps {
  let known: Details | undefined;
  const details = () => (known ??= read());

  const check = (name: string, index: unknown, size: number): number => {
    if (Number.isInteger(index) && (index as number) >= 0 && (index as number) < size) return index as number;
    throw new InputError(`${name}: expected an index below ${size}, found ${describe(index)}`);
  };
  const rowOf = (name: string, index: unknown): Row => details().rows[check(name, index, details().rows.length)] as Row;
  const shift = (row: Row) => (details().left ? row.width - row.length : 0);
  /** A value of each position of a row; padding has `pad`. */
  const list = <Value>(row: Row, pad: Value, valueOf: (token: number) => Value): Value[] =>
    Array.from({ length: row.width }, (_, i) => {
      const at = i - shift(row);
      return at < 0 || at >= row.length ? pad : valueOf(row.begin + at);
    });
  const ids = (values: Int32Array, row: Row) =>
    list<number | null>(row, null, (token) => ((values[token] as number) < 0 ? null : (values[token] as number)));
  /** First and last position of those that fit, as a range. */
  const rangeOf = (row: Row, fits: (token: number) => boolean): Range | null => {
    const all = list(row, false, fits);
    const start = all.indexOf(true);
    return start < 0 ? null : { start, end: all.lastIndexOf(true) + 1 };
  };
  /** As in Python, the row may be left out: then it is the first. */
  const place = (name: string, first: number, second: number | undefined): [row: Row, index: number] =>
    second === undefined ? [rowOf(name, 0), first] : [rowOf(name, first), second];
  const inSequence = (sequence: number) => (token: number) => details().answer.sequence_ids[token] === sequence;
  const charsOf = (token: number): Range => {
    const { offsets } = details();
    return { start: offsets[2 * token] as number, end: offsets[2 * token + 1] as number };
  };
  const tokenAt = <Value>(name: string, first: number, second: number | undefined, valueOf: (token: number) => Value) => {
    const [row, index] = place(name, first, second);
    check(name, index, row.width);
    return list<Value | null>(row, null, (token) => (inSequence(-1)(token) ? null : valueOf(token)))[index] as Value | null;
  };
  const inWord = (row: Row, word: number, sequence: number) =>
    rangeOf(row, (token) => inSequence(sequence)(token) && details().answer.word_ids[token] === word);

  const own: EncodingLookUps = {
    tokens: (row = 0) => list(rowOf('tokens', row), details().pad, (token) => details().answer.tokens?.[token] as string),
    word_ids: (row = 0) => ids(details().answer.word_ids, rowOf('word_ids', row)),
    sequence_ids: (row = 0) => ids(details().answer.sequence_ids, rowOf('sequence_ids', row)),
    token_to_chars: (first, second) => tokenAt('token_to_chars', first, second, charsOf),
    token_to_word(first, second) {
      const [row, index] = place('token_to_word', first, second);
      return ids(details().answer.word_ids, row)[check('token_to_word', index, row.width)] as number | null;
    },
    char_to_token(first, second, sequence = 0) {
      const [row, char] = place('char_to_token', first, second);
      const fits = (token: number) => {
        const { start, end } = charsOf(token);
        return inSequence(sequence)(token) && char >= start && char < end;
      };
      return rangeOf(row, fits)?.start ?? null;
    },
    word_to_tokens(first, second, sequence = 0) {
      const [row, word] = place('word_to_tokens', first, second);
      return inWord(row, word, sequence);
    },
    word_to_chars(first, second, sequence = 0) {
      const [row, word] = place('word_to_chars', first, second);
      const tokens = inWord(row, word, sequence);
      if (!tokens) return null;
      const at = row.begin - shift(row);
      return { start: charsOf(at + tokens.start).start, end: charsOf(at + tokens.end - 1).end };
    },
    char_to_word(first, second, sequence = 0) {
      const token = own.char_to_token(...(second === undefined ? ([0, first] as const) : ([first, second] as const)), sequence);
      return token === null ? null : own.token_to_word(second === undefined ? 0 : first, token);
    },
  };
  return own;
}

const kHidden = Symbol('look-ups');
interface Hidden {
  read: () => Details;
  facts: Facts;
  own?: EncodingLookUps;
}

/**
 * What a call's result is made of. Look-ups and facts are inherited, because to define a dozen members of each result takes as long as tokenizing. They
 * are not enumerable, so that a log and a comparison show the arrays alone.
 */
export class LookUps {
  constructor(read: () => Details, facts: Facts) {
    Object.defineProperty(this, kHidden, { value: { read, facts } });
  }

  static {
    const hiddenOf = (result: object) => (result as { [kHidden]: Hidden })[kHidden];
    const member = (name: string, get: (hidden: Hidden) => unknown) =>
      Object.defineProperty(this.prototype, name, {
        configurable: true,
        get() {
          return get(hiddenOf(this));
        },
        set(value: unknown) {
          Object.defineProperty(this, name, { value, writable: true, configurable: true });
        },
      });
    for (const name of kLookUps) member(name, (hidden) => (hidden.own ??= lookUps(hidden.read))[name]);
    for (const name of ['truncated', 'unknown'] as const) member(name, ({ facts }) => facts[name]);
    // A result is a plain object for whoever logs it.
    Object.defineProperty(this.prototype, 'constructor', { value: Object });
  }
}
