// Word2Vec: trains word vectors, in steps with breaks in between.
import { plainCallback } from '../core/callback.js';
import { describe, InputError } from '../core/errors.js';
import { readOptions, type Rules } from '../core/options.js';
import { abortable, Breather, throwIfAborted } from '../core/signal.js';
import { itemsOf } from '../core/texts.js';
import type { AbortSignalLike } from '../core/types.js';
import { WordVectors } from './word_vectors.js';

/** A sentence: a list of words, or a text that is split at white space. */
export type Sentence = string | readonly string[];
/** Sentences to train on. A string is a text with one sentence per line. */
export type Sentences = string | Iterable<Sentence> | AsyncIterable<Sentence>;

/** Progress of training word vectors. */
export interface Word2VecProgress {
  /** `'read'`: reading sentences; `'train'`: training; `'ready'`: done. */
  status: 'read' | 'train' | 'ready';
  /** With `'read'`: number of words so far. */
  words?: number;
  /** With `'train'`: progress in percent. */
  progress?: number;
  /** With `'train'`: the epoch, from 1. */
  epoch?: number;
}

/** Options of `Word2Vec.train`, under gensim's names and with its defaults. */
export interface Word2VecOptions {
  /** Components per vector. Default 100. */
  vector_size?: number;
  /** Context words on each side. Default 5. */
  window?: number;
  /** Ignores words with fewer occurrences. Default 5. */
  min_count?: number;
  /** `true`: skip-gram; `false` (default): CBOW. */
  sg?: boolean;
  /** Uses hierarchical softmax instead of negative sampling. Default `false`. */
  hs?: boolean;
  /** Negative samples per pair; 0: no negative sampling. Default 5. */
  negative?: number;
  /** Downsamples words that make up more than this fraction of the corpus. Default 1e-3. */
  sample?: number;
  /** Number of passes over the sentences. Default 5. */
  epochs?: number;
  /** Initial learning rate. Default 0.025. */
  alpha?: number;
  /** Final learning rate, reached linearly. Default 1e-4. */
  min_alpha?: number;
  /** CBOW: uses the mean of the context (default) instead of its sum. */
  cbow_mean?: boolean;
  /** Exponent of word counts when drawing negative samples. Default 0.75. */
  ns_exponent?: number;
  /** `true` (default): each word's window is random, from 1 to `window`, so near words count more. */
  shrink_windows?: boolean;
  /** Seed of SplitMix64; the same seed gives the same vectors everywhere. Default 1. */
  seed?: number;
  /** Converts words to lower case. Default `false`. */
  lowercase?: boolean;
  /** Called while sentences are read and during training. An exception from it stops the training. */
  progress_callback?: (progress: Word2VecProgress) => void;
  /** Cancels the training with an `AbortError`. */
  signal?: AbortSignalLike;
}

const kDefaults = {
  vector_size: 100,
  window: 5,
  min_count: 5,
  sg: false,
  hs: false,
  negative: 5,
  sample: 1e-3,
  epochs: 5,
  alpha: 0.025,
  min_alpha: 0.0001,
  cbow_mean: true,
  ns_exponent: 0.75,
  shrink_windows: true,
  seed: 1,
};
const kRules: Rules = {
  vector_size: 'count',
  window: 'count',
  min_count: 'count',
  sg: 'boolean',
  hs: 'boolean',
  negative: 'index',
  sample: '[0,Infinity)',
  epochs: 'count',
  alpha: '[0,Infinity)',
  min_alpha: '[0,Infinity)',
  cbow_mean: 'boolean',
  ns_exponent: '(-Infinity,Infinity)',
  shrink_windows: 'boolean',
  seed: 'index',
  lowercase: 'boolean',
  progress_callback: 'function',
  signal: 'signal',
};

/** A growing array of sentences as word ids. */
class Corpus {
  readonly ids = new Map<string, number>();
  readonly counts: number[] = [];
  words = new Int32Array(1 << 16);
  used = 0;
  readonly lengths: number[] = [];

  add(sentence: readonly string[]): void {
    if (sentence.length === 0) return;
    while (this.used + sentence.length > this.words.length) {
      const larger = new Int32Array(2 * this.words.length);
      larger.set(this.words);
      this.words = larger;
    }
    for (const word of sentence) {
      let id = this.ids.get(word);
      if (id === undefined) {
        id = this.counts.length;
        this.ids.set(word, id);
        this.counts.push(0);
      }
      this.counts[id] = (this.counts[id] as number) + 1;
      this.words[this.used++] = id;
    }
    this.lengths.push(sentence.length);
  }

  /** Removes rare words and numbers the others by decreasing count (ties by first occurrence). */
  settle(min_count: number): { words: string[]; counts: Float64Array; flat: Int32Array; lengths: Int32Array } {
    const names = [...this.ids.keys()];
    const order = names.map((_, id) => id).filter((id) => (this.counts[id] as number) >= min_count);
    order.sort((a, b) => (this.counts[b] as number) - (this.counts[a] as number) || a - b);
    const numbers = new Int32Array(names.length).fill(-1);
    order.forEach((id, number) => (numbers[id] = number));
    const lengths = new Int32Array(this.lengths.length);
    let from = 0;
    let to = 0;
    this.lengths.forEach((length, i) => {
      const begin = to;
      for (const end = from + length; from < end; ++from) {
        const number = numbers[this.words[from] as number] as number;
        if (number >= 0) this.words[to++] = number;
      }
      lengths[i] = to - begin;
    });
    return {
      words: order.map((id) => names[id] as string),
      counts: Float64Array.from(order, (id) => this.counts[id] as number),
      flat: this.words.subarray(0, to),
      lengths,
    };
  }
}

const split = (text: string) => text.split(/\s+/u).filter((word) => word !== '');

function toWords(sentence: unknown, number: number, lowercase: boolean): readonly string[] {
  const words = typeof sentence === 'string' ? split(sentence) : sentence;
  if (!Array.isArray(words) || !words.every((word) => typeof word === 'string')) {
    throw new InputError(
      `Word2Vec.train: expected a string or an array of strings as sentence ${number}, found ${describe(sentence)}`,
    );
  }
  return lowercase ? words.map((word: string) => word.toLowerCase()) : words;
}

async function read(
  sentences: Sentences,
  options: Word2VecOptions,
  breather: Breather,
  report: (progress: Word2VecProgress) => void,
): Promise<Corpus> {
  const source = typeof sentences === 'string' ? sentences.split('\n') : sentences;
  const wrongType = () =>
    new InputError(`Word2Vec.train: expected a string or an (async) iterable of sentences, found ${describe(sentences)}`);
  const signal = options.signal ?? undefined;
  const corpus = new Corpus();
  let number = 0;
  for await (const sentence of itemsOf<Sentence>(source, signal, wrongType)) {
    corpus.add(toWords(sentence, number, options.lowercase ?? false));
    if (number++ % 256 !== 0) continue;
    report({ status: 'read', words: corpus.used });
    await breather.breathe(signal);
  }
  return corpus;
}

/**
 * Word vectors trained from sentences (arXiv 1301.3781, arXiv 1310.4546), as in gensim.
 *
 * @example
 * const sentences = Array.from({ length: 200 }, (_, i) => (i % 2 ? 'the boat sails on the sea' : 'a cook eats bread with salt'));
 * const words = await Word2Vec.train(sentences, { min_count: 1, vector_size: 16 });
 * words.most_similar('boat').length; // => 10
 */
export class Word2Vec extends WordVectors {
  /** Number of occurrences of each word. */
  readonly counts: Float64Array;

  private constructor(words: readonly string[], vectors: Float32Array, vector_size: number, counts: Float64Array) {
    super(words, vectors, vector_size);
    this.counts = counts;
  }

  /**
   * Trains word vectors on sentences: arXiv 1301.3781, 1310.4546. Training runs in steps of a few milliseconds, so pages stay responsive. `signal`
   * cancels it with an `AbortError`.
   */
  static async train(sentences: Sentences, options: Word2VecOptions = {}): Promise<Word2Vec> {
    options = readOptions('Word2Vec.train', options, kRules);
    const given = Object.fromEntries(Object.entries(options ?? {}).filter(([, value]) => value !== undefined && value !== null));
    const wanted = { ...kDefaults, ...given };
    const signal = options.signal ?? undefined;
    throwIfAborted(signal);
    const breather = new Breather();
    const report = plainCallback(options.progress_callback);
    const { words, counts, flat, lengths } = (await read(sentences, options, breather, report)).settle(wanted.min_count);
    const { freshHost } = await import('../host/nn_host.js');
    const outer = await abortable(freshHost('this training'), signal);
    const handle = outer.call((seam) => ({ code: 0, message: '', made: new seam.Word2Vec() })).made;
    try {
      outer.call(() => handle.make(wanted, counts));
      outer.call(() => handle.feed(flat, lengths));
      for (;;) {
        const { more, done, total } = outer.call(() => handle.step());
        const epoch = Math.min(wanted.epochs, 1 + Math.floor((done / Math.max(1, total)) * wanted.epochs));
        report({ status: 'train', progress: (100 * done) / Math.max(1, total), epoch });
        if (!more) break;
        await breather.breathe(signal);
      }
      const { vectors } = outer.call(() => handle.vectors());
      report({ status: 'ready' });
      return new Word2Vec(words, vectors, wanted.vector_size, counts);
    } finally {
      outer.release();
    }
  }
}
