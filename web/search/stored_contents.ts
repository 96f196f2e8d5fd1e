// Contents as they are stored: what others wrote is read, what is new is written, one after another.
import { InputError, StateError } from '../core/errors.js';
import { Bm25 } from './bm25.js';
import { Contents } from './contents.js';
import { isSameModel, type Embedder } from './embedder.js';
import { isStemmed } from './language_names.js';
import { cutStopwords, loadLanguage } from './languages.js';
import { mannerOf } from './manner.js';
import { SegmentLog } from './segment_log.js';
import type { Segment } from './segments.js';
import type { VectorModel } from './stored_documents.js';
import { placeOf, type SegmentStore } from './stores.js';
import type { IndexOptions, IndexPrecision } from './types.js';
import { VectorRows } from './vector_rows.js';
import { Analyser, type Analysis } from './words.js';

/** Other writers that may be faster than a write before it fails. */
const kTries = 100;

export class StoredContents {
  readonly log: SegmentLog;
  /** Gives vectors their stored form; it has no rows between two writes. */
  private scratch: VectorRows | undefined;
  private queue: Promise<unknown> = Promise.resolve();
  isOpen = true;
  contents: Contents;

  constructor(
    readonly name: string,
    readonly store: SegmentStore,
    readonly embedder: Embedder | undefined,
    readonly options: IndexOptions,
  ) {
    this.log = new SegmentLog(placeOf(name, store), store);
    const words = (options.words ?? {}) as Analysis;
    const analyser = new Analyser(words, undefined, mannerOf(undefined));
    this.contents = new Contents(() => new Bm25(analyser, options.words ?? {}));
  }

  /** Words are read with the stemmer of this language from now on. undefined: as it was. */
  async choose(language: string | undefined): Promise<void> {
    if (language === undefined || language === this.contents.language) return;
    const words = this.options.words ?? {};
    const known = isStemmed(language) ? await loadLanguage('Index', language) : undefined;
    const analyser = new Analyser(words as Analysis, known?.stem, mannerOf(known && language));
    const stopwords = known && !words.stopwords ? cutStopwords(known.stopwords) : undefined;
    this.contents.readAs(language, stopwords, () => new Bm25(analyser, words));
  }

  /** Chooses the language of these texts, if it is to be found and was not yet. */
  async detect(texts: Iterable<string>): Promise<void> {
    if (this.options.language !== 'auto' || this.contents.language !== undefined) return;
    await this.choose((await import('./detect.js')).languageOf(texts));
  }

  close(): void {
    this.isOpen = false;
    this.store.close();
    this.contents.vectors?.dispose();
    this.scratch?.dispose();
  }

  checkOpen(): void {
    if (!this.isOpen) throw new StateError(`Index: '${this.name}' was disposed`);
  }

  /** Runs after all earlier work on the contents. */
  alone<T>(run: () => Promise<T>): Promise<T> {
    const own = this.queue.then(run);
    this.queue = own.catch(() => {});
    return own;
  }

  /** The same, and no other tab or process writes meanwhile. */
  exclusive<T>(run: () => Promise<T>, signal: AbortSignal): Promise<T> {
    return this.alone(async () => {
      this.checkOpen();
      return this.store.alone(async () => {
        await this.refresh(false);
        return run();
      }, signal);
    });
  }

  /** Reads what this or another tab has stored since the last time. */
  async refresh(isFirst: boolean): Promise<void> {
    this.checkOpen();
    let foreign: VectorModel | undefined;
    let isWarm = !isFirst || !this.embedder;
    for await (const event of this.log.read()) {
      if ('begins' in event) {
        this.contents.vectors?.dispose();
        this.contents = this.contents.empty();
        continue;
      }
      if ('joined' in event) {
        this.contents.join(event.joined.from, event.joined.to);
        continue;
      }
      const { segment, at } = event;
      const { language } = this.options;
      if (language === undefined || language === null || language === 'auto') await this.choose(segment.language);
      const fits = segment.model ? await this.fits(segment.model) : false;
      if (segment.model && !fits) foreign = segment.model;
      await this.contents.apply(segment, fits, at);
      if (!isWarm && this.contents.rows > 0) this.contents.vectors?.warm();
      isWarm ||= this.contents.rows > 0;
    }
    this.contents.tidy();
    if (foreign && isFirst && this.contents.stale > 0 && this.options.other_model !== 're-embed') {
      const own = this.contents.model!;
      throw new InputError(
        `Index: '${this.name}' has vectors of ${foreign.name} (${foreign.dim} numbers), and the option 'embed' is ${own.name} (${own.dim}): ` +
          "open it with that model, or with other_model: 're-embed'",
      );
    }
  }

  /** The model that vectors here must have: that of `embed`, else that of the newest ones. */
  async fits(model: VectorModel): Promise<boolean> {
    const { embedder } = this;
    if (!this.contents.model) {
      const own = await embedder?.model();
      await this.setModel(own && !isSameModel(model, own) ? { ...own, precision: model.precision } : model);
    } else if (!embedder && !isSameModel(model, this.contents.model)) {
      await this.setModel(model);
    }
    const own = this.contents.model!;
    return isSameModel(model, own) && model.precision === own.precision;
  }

  async setModel(model: VectorModel): Promise<void> {
    const vectors = await VectorRows.open(model.dim, model.precision);
    this.contents.begin(model, vectors);
  }

  /**
   * Stores what `make` makes of the contents and takes it in; undefined: nothing. It is made again if another writer was faster, with what that one
   * wrote in the contents. Called while no one else should write.
   */
  async write(make: () => Promise<Segment | undefined>): Promise<void> {
    for (let tries = 0; tries < kTries; ++tries) {
      const made = await make();
      if (!made) return;
      const segment = this.store.forgets ? made : { ...made, words: await this.contents.storedWords(made.documents) };
      const fits = segment.model ? await this.fits(segment.model) : false;
      const number = await this.log.append(segment);
      if (number === undefined) {
        await this.refresh(false);
        continue;
      }
      await this.contents.apply(segment, fits, number);
      // What is stored is stored: a full disk prevents merging, which costs nothing but the room.
      await this.log.merge(this.contents).catch(() => {});
      this.contents.tidy();
      return;
    }
    throw new StateError(`Index: '${this.name}' cannot be written: another writer was faster ${kTries} times`);
  }

  precision(): IndexPrecision {
    return this.options.precision ?? 'int8';
  }

  /** Vectors in the form of segments; none yet: zeros. */
  async storedForm(model: VectorModel | undefined, data: Float32Array | undefined, rows: number): Promise<Uint8Array> {
    if (!model) return new Uint8Array();
    if (this.scratch?.dim !== model.dim || this.scratch.precision !== model.precision) {
      this.scratch?.dispose();
      this.scratch = await VectorRows.open(model.dim, model.precision);
    }
    this.scratch.append(data ?? new Float32Array(rows * model.dim));
    const stored = this.scratch.stored(0, rows);
    this.scratch.compact(new Int32Array());
    return stored;
  }
}
