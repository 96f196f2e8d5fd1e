// Word vectors: nearest words, analogies, and word2vec and GloVe files. Results equal those of gensim's KeyedVectors.
import { describe, InputError, ModelFormatError } from '../core/errors.js';
import { readOptions, type Rules } from '../core/options.js';
import { Tensor } from '../core/tensor.js';
import { TensorBase } from '../core/tensor_base.js';
import { concat, floatText } from '../core/texts.js';
import { best } from './similarity.js';

/** A word and its cosine similarity to the query, from -1 to 1. */
export type Neighbour = [word: string, score: number];

/** Options of `most_similar`. */
export interface MostSimilarOptions {
  /** Words or vectors to add: `['king', 'woman']` in king - man + woman. Default: none. */
  positive?: string | readonly (string | ArrayLike<number>)[];
  /** Words or vectors to subtract: `'man'` in king - man + woman. Default: none. */
  negative?: string | readonly (string | ArrayLike<number>)[];
  /** Number of words to return. Default 10. */
  topn?: number;
  /** Searches only this many of the most common words. */
  restrict_vocab?: number;
}

/** Options for reading a file of word vectors. */
export interface ReadOptions {
  /** `'word2vec'` (default): the file begins with the number of words and the vector size. `'glove'`: it does not. */
  format?: 'word2vec' | 'glove';
  /** `true`: word2vec's binary format. */
  binary?: boolean;
  /** Reads only this many words. */
  limit?: number;
}
/** Options for writing a file of word vectors. */
export interface WriteOptions {
  /** `'word2vec'` (default): the file begins with the number of words and the vector size. `'glove'`: it does not. */
  format?: 'word2vec' | 'glove';
  /** `true`: word2vec's binary format. Default `false`: text. */
  binary?: boolean;
}

const kSimilarRules: Rules = { positive: 'any', negative: 'any', topn: 'count', restrict_vocab: 'count' };
const kReadRules: Rules = { format: ['word2vec', 'glove'], binary: 'boolean', limit: 'count' };

type Wanted = string | readonly (string | ArrayLike<number>)[] | undefined;
const asList = (wanted: Wanted) => (wanted === undefined ? [] : typeof wanted === 'string' ? [wanted] : [...wanted]);

/**
 * Word vectors: similarity, analogies, and reading and writing files.
 *
 * @example
 * const words = WordVectors.load(new TextEncoder().encode('2 2\nboat 1 0\nsea 0.9 0.1\n'));
 * words.similarity('boat', 'sea'); // => 0.9939
 */
export class WordVectors {
  /** The words, the most common first. */
  readonly words: readonly string[];
  /** Components per vector. */
  readonly vector_size: number;
  /** The vectors, `[words, vector_size]`. */
  readonly vectors: Float32Array;
  private readonly ids: Map<string, number>;
  private unit: Float32Array | undefined;

  constructor(words: readonly string[], vectors: Float32Array, vector_size: number) {
    if (words.length * vector_size !== vectors.length) {
      throw new InputError(`WordVectors: expected ${words.length} x ${vector_size} numbers, found ${vectors.length}`);
    }
    this.words = words;
    this.vectors = vectors;
    this.vector_size = vector_size;
    this.ids = new Map();
    words.forEach((word, id) => this.ids.has(word) || this.ids.set(word, id));
  }

  /** Number of words. */
  get size(): number {
    return this.words.length;
  }

  /** Whether the word has a vector. */
  has(word: string): boolean {
    return this.ids.has(word);
  }

  /** A copy of a word's vector. */
  get(word: string): Tensor<'float32'> {
    const begin = this.idOf(word) * this.vector_size;
    return new Tensor('float32', this.vectors.slice(begin, begin + this.vector_size), [this.vector_size]);
  }

  private idOf(word: unknown): number {
    const id = this.ids.get(word as string);
    if (id === undefined) throw new InputError(`WordVectors: ${describe(word)} is not among the ${this.size} words`);
    return id;
  }

  // All vectors scaled to length 1; zero vectors stay zero.
  private normed(): Float32Array {
    if (this.unit) return this.unit;
    const { vectors, vector_size: size } = this;
    const out = new Float32Array(vectors.length);
    for (let begin = 0; begin < vectors.length; begin += size) {
      let squares = 0;
      for (let j = 0; j < size; ++j) squares += (vectors[begin + j] as number) ** 2;
      const scale = squares > 0 ? 1 / Math.sqrt(squares) : 0;
      for (let j = 0; j < size; ++j) out[begin + j] = (vectors[begin + j] as number) * scale;
    }
    return (this.unit = out);
  }

  // The vector of a word, or a given vector, scaled to length 1.
  private direction(wanted: string | ArrayLike<number>): Float32Array {
    const { vector_size: size } = this;
    if (typeof wanted === 'string') {
      const begin = this.idOf(wanted) * size;
      return this.normed().subarray(begin, begin + size);
    }
    const given = wanted instanceof TensorBase ? (wanted.data as Float32Array) : wanted;
    if (typeof given !== 'object' || given === null || given.length !== size) {
      throw new InputError(`WordVectors: expected a word or ${size} numbers, found ${describe(wanted)}`);
    }
    const norm = Math.sqrt(Array.from(given).reduce((sum, value) => sum + value * value, 0));
    return Float32Array.from(given, (value) => value / (norm || 1));
  }

  private cosines(direction: ArrayLike<number>, count: number): Float64Array {
    const { vector_size: size } = this;
    const unit = this.normed();
    const out = new Float64Array(count);
    for (let i = 0, at = 0; i < count; ++i) {
      let sum = 0;
      for (let j = 0; j < size; ++j) sum += (unit[at++] as number) * (direction[j] as number);
      out[i] = sum;
    }
    return out;
  }

  private best(scores: Float64Array, without: ReadonlySet<number>, topn: number): Neighbour[] {
    const hits = best(scores, topn + without.size).filter(({ corpus_id }) => !without.has(corpus_id));
    return hits.slice(0, topn).map(({ corpus_id, score }) => [this.words[corpus_id] as string, score]);
  }

  private query(where: string, options: MostSimilarOptions) {
    options = readOptions(where, options, kSimilarRules);
    const positive = asList(options.positive);
    const negative = asList(options.negative);
    if (positive.length + negative.length === 0)
      throw new InputError(`${where}: expected words in 'positive' or 'negative', found none`);
    const without = new Set([...positive, ...negative].filter((each) => typeof each === 'string').map((word) => this.idOf(word)));
    return {
      positive,
      negative,
      without,
      topn: options.topn ?? 10,
      count: Math.min(options.restrict_vocab ?? this.size, this.size),
    };
  }

  /** The words with the highest cosine to the mean of the positive and the negated negative vectors: neighbours, or analogies. */
  most_similar(wanted: string | MostSimilarOptions): Neighbour[] {
    const options = typeof wanted === 'string' ? { positive: wanted } : (wanted ?? {});
    const { positive, negative, without, topn, count } = this.query('WordVectors.most_similar', options);
    const mean = new Float64Array(this.vector_size);
    const add = (wanted: string | ArrayLike<number>, sign: number) =>
      this.direction(wanted).forEach((value, j) => (mean[j] = (mean[j] as number) + sign * value));
    for (const each of positive) add(each, 1);
    for (const each of negative) add(each, -1);
    return this.best(this.cosines(this.direction(mean), count), without, topn);
  }

  /** The same by 3CosMul (Levy and Goldberg 2014): the product of (1 + cos) / 2 over positive words, divided by that over negative words. */
  most_similar_cosmul(options: MostSimilarOptions): Neighbour[] {
    const { positive, negative, without, topn, count } = this.query('WordVectors.most_similar_cosmul', options);
    const scores = new Float64Array(count).fill(1);
    const below = new Float64Array(count).fill(1);
    for (const [list, into] of [[positive, scores] as const, [negative, below] as const]) {
      for (const each of list) {
        const cosines = this.cosines(this.direction(each), count);
        for (let i = 0; i < count; ++i) into[i] = ((into[i] as number) * (1 + (cosines[i] as number))) / 2;
      }
    }
    for (let i = 0; i < count; ++i) scores[i] = (scores[i] as number) / ((below[i] as number) + 1e-6);
    return this.best(scores, without, topn);
  }

  /** Solves an analogy: `a` is to `b` as `c` is to ...? */
  analogy(a: string, b: string, c: string, options: { topn?: number } = {}): Neighbour[] {
    options = readOptions('WordVectors.analogy', options, { topn: 'count' });
    return this.most_similar({ positive: [b, c], negative: [a], topn: options?.topn ?? 1 });
  }

  /** Cosine similarity of two words. */
  similarity(a: string, b: string): number {
    const [left, right] = [this.direction(a), this.direction(b)];
    return left.reduce((sum, value, j) => sum + value * (right[j] as number), 0);
  }

  /** The word that is least similar to the mean of the given words. */
  doesnt_match(words: readonly string[]): string {
    if (!Array.isArray(words) || words.length === 0) {
      throw new InputError(`WordVectors.doesnt_match: expected words, found ${Array.isArray(words) ? 'none' : describe(words)}`);
    }
    const mean = new Float64Array(this.vector_size);
    const directions = words.map((word) => this.direction(word));
    for (const direction of directions) direction.forEach((value, j) => (mean[j] = (mean[j] as number) + value));
    const scores = directions.map((direction) => direction.reduce((sum, value, j) => sum + value * (mean[j] as number), 0));
    return words[scores.indexOf(Math.min(...scores))] as string;
  }

  /** Writes a word2vec or GloVe file and returns its bytes. */
  save(options: WriteOptions = {}): Uint8Array {
    options = readOptions('WordVectors.save', options, { format: ['word2vec', 'glove'], binary: 'boolean' });
    const { format = 'word2vec', binary = false } = options;
    if (format === 'glove' && binary) throw new InputError("WordVectors.save: format 'glove' has no binary form");
    const bad = this.words.find((word) => /[\s]/u.test(word) || word === '');
    if (bad !== undefined)
      throw new InputError(`WordVectors.save: the word ${describe(bad)} contains white space, which ends a word in these files`);
    const encoder = new TextEncoder();
    const parts: Uint8Array[] = format === 'glove' ? [] : [encoder.encode(`${this.size} ${this.vector_size}\n`)];
    this.words.forEach((word, i) => {
      const row = this.vectors.subarray(i * this.vector_size, (i + 1) * this.vector_size);
      if (!binary) {
        parts.push(encoder.encode(`${word} ${Array.from(row, floatText).join(' ')}\n`));
        return;
      }
      parts.push(encoder.encode(`${word} `), new Uint8Array(row.slice().buffer), encoder.encode('\n'));
    });
    return concat(Uint8Array, parts);
  }

  /** Reads files written by `save`, word2vec, gensim or GloVe. */
  static load(bytes: Uint8Array | ArrayBuffer | string, options: ReadOptions = {}): WordVectors {
    options = readOptions('WordVectors.load', options, kReadRules);
    const { format = 'word2vec', binary = false, limit = Infinity } = options;
    if (typeof bytes === 'string') return readText(bytes, format, limit);
    const whole = ArrayBuffer.isView(bytes)
      ? new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength)
      : new Uint8Array(bytes);
    return binary ? readBinary(whole, limit) : readText(new TextDecoder().decode(whole), format, limit);
  }
}

function readHeader(line: string): { count: number; size: number } {
  const found = /^(\d+) (\d+)\s*$/.exec(line);
  const [count, size] = [Number(found?.[1]), Number(found?.[2])];
  if (!found || !(size > 0)) {
    throw new ModelFormatError(
      `word vectors: expected a first line 'words size', found ${describe(line.slice(0, 40))} (a GloVe file? format: 'glove')`,
    );
  }
  return { count, size };
}

/** NaN for what is no decimal number; Number() reads '' and '0x10' too. */
function toNumber(word: string): number {
  return word === '' || /^0[a-df-z]/i.test(word) ? NaN : Math.fround(Number(word));
}

function readText(text: string, format: 'word2vec' | 'glove', limit: number): WordVectors {
  const lines = text.split('\n');
  if (lines[lines.length - 1] === '') lines.pop();
  const header = format === 'word2vec' ? readHeader(lines.shift() ?? '') : undefined;
  if (header && header.count > lines.length) {
    throw new ModelFormatError(`word vectors: expected ${header.count} words, found ${lines.length}`);
  }
  const size = header?.size ?? (lines[0] ?? '').trimEnd().split(' ').length - 1;
  if (size < 1) throw new ModelFormatError('word vectors: expected a word and its numbers in each line, found none');
  const count = Math.min(header?.count ?? lines.length, limit);
  // Before the memory is taken: a number has a digit and a space before it.
  if (2 * count * size > text.length) {
    throw new ModelFormatError(`word vectors: expected ${count} words of ${size} numbers, found ${text.length} characters`);
  }
  const vectors = new Float32Array(count * size);
  const words: string[] = [];
  for (let i = 0; i < count; ++i) {
    const parts = (lines[i] as string).trimEnd().split(' ');
    if (parts.length !== size + 1) {
      throw new ModelFormatError(
        `word vectors: line ${i + (header ? 2 : 1)}: expected a word and ${size} numbers, found ${parts.length - 1}`,
      );
    }
    words.push(parts[0] as string);
    for (let j = 0; j < size; ++j) {
      const value = toNumber(parts[j + 1] as string);
      if (!Number.isFinite(value)) {
        throw new ModelFormatError(
          `word vectors: line ${i + (header ? 2 : 1)}: expected a finite decimal number, found ${describe(parts[j + 1])}`,
        );
      }
      vectors[i * size + j] = value;
    }
  }
  return new WordVectors(words, vectors, size);
}

function readBinary(bytes: Uint8Array, limit: number): WordVectors {
  const lineEnd = bytes.indexOf(10);
  const decoder = new TextDecoder();
  const header = readHeader(decoder.decode(bytes.subarray(0, Math.min(lineEnd < 0 ? 0 : lineEnd, 100))));
  const count = Math.min(header.count, limit);
  const row = header.size * 4;
  if (count * row > bytes.length) {
    throw new ModelFormatError(`word vectors: expected ${count} words of ${row} bytes, found ${bytes.length} bytes`);
  }
  const vectors = new Float32Array(count * header.size);
  const words: string[] = [];
  let at = lineEnd + 1;
  for (let i = 0; i < count; ++i) {
    while (bytes[at] === 10) ++at; // word2vec writes one between words, gensim none
    const space = bytes.indexOf(32, at);
    if (space < 0 || space + 1 + row > bytes.length) {
      throw new ModelFormatError(`word vectors: expected ${count} words, found ${i}`);
    }
    words.push(decoder.decode(bytes.subarray(at, space)));
    vectors.set(new Float32Array(bytes.slice(space + 1, space + 1 + row).buffer), i * header.size);
    at = space + 1 + row;
  }
  return new WordVectors(words, vectors, header.size);
}
