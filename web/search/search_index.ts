// Index: documents found by their words and their meaning, kept where the page or the program keeps its data.
import { disposable } from '../core/disposable.js';
import { describe, InputError, ModelFormatError, StateError } from '../core/errors.js';
import { ownCopy, readOptions, type Rules } from '../core/options.js';
import { Progress } from '../core/progress.js';
import { Breather, throwIfAborted } from '../core/signal.js';
import { concat, itemsOf } from '../core/texts.js';
import { Bm25 } from './bm25.js';
import { Contents, withTitle, type Passing } from './contents.js';
import { Embedder, isSameModel } from './embedder.js';
import { expand } from './expand.js';
import { readDocument } from './document.js';
import { toFilter, warnOfUnknown } from './filter.js';
import { hasTextField, hasWords, narrowed } from './conditions.js';
import { candidates, isAbove, listed, reranked, toHits, withSentences } from './find.js';
import { cutStopwords, isStemmed, kLanguageNames, loadLanguage } from './languages.js';
import { checkName } from './names.js';
import { openGiven } from './given_store.js';
import { isTyped, readQuery, type Query } from './query.js';
import { SegmentLog } from './segment_log.js';
import {
  Damage,
  decodeSegments,
  encodeSegment,
  rowsOf,
  storedRowBytes,
  type DecodedSegment,
  type Segment,
  type StoredDocument,
  type VectorModel,
} from './segments.js';
import { placeOf, type SegmentStore } from './stores.js';
import { suggest } from './suggest.js';
import type {
  AddOptions,
  AddProgress,
  AddResult,
  IndexChunk,
  IndexDocument,
  IndexHit,
  IndexInfo,
  IndexOptions,
  IndexPrecision,
  IndexSearchOptions,
  IndexSuggestion,
  IndexSuggestOptions,
} from './types.js';
import { VectorRows } from './vector_rows.js';
import { Analyser, type Analysis } from './words.js';

const kOpenRules: Rules = {
  embed: 'any',
  store: 'any',
  precision: ['float32', 'int8', 'binary'],
  truncate_dim: 'count',
  chunk: 'any',
  words: 'any',
  language: ['auto', 'none', ...kLanguageNames],
  rerank: 'any',
  model: 'string',
  other_model: ['refuse', 're-embed'],
  signal: 'signal',
};
const kChunkRules: Rules = { max_tokens: 'count', overlap: 'index' };
const kWordRules: Rules = { stem: 'function', stopwords: 'any', k1: 'number', b: 'number' };
const kAddRules: Rules = { signal: 'signal' };
const kSearchRules: Rules = {
  top_k: 'count',
  mode: ['hybrid', 'words', 'meaning'],
  fusion: ['coverage', 'minmax', 'zscore', 'rrf'],
  weights: 'any',
  filter: 'any',
  min_score: 'any',
  rerank: 'any',
  rerank_depth: 'count',
  group_by: ['document', 'chunk'],
  syntax: ['auto', 'always', 'never'],
  prefix: 'boolean',
  sentences: 'boolean',
  fuzzy: 'boolean',
  signal: 'signal',
};

/** Characters that are embedded and stored at once: some work for a model, and soon done. */
const kLeastChars = 2_000;
const kMostChars = 200_000;
const kPortionMs = 400;
const kMostDocuments = 256;
const kExportDocuments = 4096;
/** Other writers that may be faster than a write before it fails. */
const kTries = 100;

const never = new AbortController().signal;

/** An open index; see `Index` in open.ts. */
export class Index {
  private readonly log: SegmentLog;
  /** Gives vectors their stored form; it has no rows between two writes. */
  private scratch: VectorRows | undefined;
  private queue: Promise<unknown> = Promise.resolve();
  private isOpen = true;
  private catching: Progress<AddProgress, AddResult> | undefined;

  private constructor(
    /** The name it was opened by. */
    readonly name: string,
    private readonly store: SegmentStore,
    private readonly embedder: Embedder | undefined,
    private readonly options: IndexOptions,
    private contents: Contents,
  ) {
    this.log = new SegmentLog(placeOf(name, store), store);
  }

  static async open(name: string, options: IndexOptions = {}): Promise<Index> {
    const where = 'Index.open';
    checkName(where, name);
    options = readOptions(where, options, kOpenRules);
    const { chunk, embed } = options;
    if (chunk !== undefined && chunk !== null && typeof chunk !== 'function' && chunk !== false)
      options.chunk = readOptions(`${where}: option 'chunk'`, chunk, kChunkRules);
    const words = readOptions(`${where}: option 'words'`, options.words, kWordRules);
    if (typeof words.stopwords === 'string')
      words.stopwords = (await loadLanguage(`${where}: option 'words': stopwords`, words.stopwords)).stopwords;
    throwIfAborted(options?.signal ?? undefined);
    const embedder = embed ? new Embedder(embed, options) : undefined;
    const analyser = new Analyser(words);
    const makeWords = () => new Bm25(analyser, words);
    const store = await openGiven(name, options?.store);
    const index = new Index(name, store, embedder, ownCopy({ ...options, words }), new Contents(makeWords));
    try {
      await index.choose(options.language === 'auto' ? undefined : options.language);
      await index.refresh(true);
      await index.detect(
        function* (this: Index) {
          for (const { document } of this.contents.documents.values()) yield document.text;
        }.call(index),
      );
      if (index.contents.stale > 0 && embedder) index.catchUp();
      return disposable(index, () => index.release());
    } catch (error) {
      index.release();
      throw error;
    }
  }

  /** Words are read with the stemmer of this language from now on. undefined: as it was. */
  private async choose(language: string | undefined): Promise<void> {
    if (language === undefined || language === this.contents.language) return;
    const words = this.options.words ?? {};
    const known = isStemmed(language) ? await loadLanguage('Index', language) : undefined;
    const analyser = new Analyser(words as Analysis, known?.stem);
    const stopwords = known && !words.stopwords ? cutStopwords(known.stopwords) : undefined;
    this.contents.readAs(language, stopwords, () => new Bm25(analyser, words));
  }

  /** Chooses the language of these texts, if it is to be found and was not yet. */
  private async detect(texts: Iterable<string>): Promise<void> {
    if (this.options.language !== 'auto' || this.contents.language !== undefined) return;
    await this.choose((await import('./detect.js')).languageOf(texts));
  }

  /** Number of documents. */
  get size(): number {
    return this.contents.documents.size;
  }

  /** The ids of all documents. */
  ids(): string[] {
    return [...this.contents.documents.keys()];
  }

  /** A document by its id. */
  get(id: string): IndexDocument | undefined {
    return this.contents.documents.get(id)?.document;
  }

  /**
   * All chunks with their vectors, for a map, for `k_means`, or for another database. Documents that change meanwhile may be left out.
   *
   *     for (const { id, start, end, vector } of index.chunks()) await insert(id, start, end, vector);
   */
  *chunks(): Generator<IndexChunk, void, undefined> {
    this.checkOpen();
    for (const entry of [...this.contents.documents.values()]) {
      const { document, chunks, stale } = entry;
      for (let at = 0; at < chunks.length; at += 2) {
        const { model, vectors, documents } = this.contents;
        if (!this.isOpen || documents.get(document.id) !== entry) break;
        const [start, end] = [chunks[at]!, chunks[at + 1]!];
        const vector = vectors && model && !stale ? floatsOf(vectors.stored(entry.first + at / 2, 1), model) : undefined;
        yield { id: document.id, text: document.text.slice(start, end), start, end, vector };
      }
    }
  }

  /** Facts about the index: how many documents and chunks, which model, how many bytes. */
  info(): IndexInfo {
    const { contents } = this;
    return {
      name: this.name,
      store: this.store.kind,
      documents: this.size,
      chunks: contents.rows,
      dim: contents.model?.dim ?? 0,
      precision: contents.model?.precision ?? this.options.precision ?? 'int8',
      model: contents.model?.name,
      language: isStemmed(contents.language) ? contents.language : undefined,
      stale: contents.model || this.embedder ? contents.stale : 0,
      memory: contents.vectors?.bytes ?? 0,
      stored: this.log.bytes,
    };
  }

  /** The work that gives documents vectors of the present model, while there is such work. Searches find their words meanwhile. */
  get reembedding(): Progress<AddProgress, AddResult> | undefined {
    return this.catching;
  }

  /**
   * Adds documents, and replaces those with the same id. A text is embedded only if it or its title changed. Documents are found as soon as they
   * are stored, some at a time. An `InputError` if an id occurs twice.
   *
   *     await index.add(documents);
   *     for await (const { done, total, seconds_left } of index.add(documents)) show(done / total);
   */
  add(
    documents: IndexDocument | Iterable<IndexDocument> | AsyncIterable<IndexDocument>,
    options: AddOptions = {},
  ): Progress<AddProgress, AddResult> {
    options = readOptions('Index.add', options, kAddRules);
    this.checkOpen();
    const isOne = typeof documents === 'object' && documents !== null && typeof (documents as IndexDocument).id === 'string';
    const list = isOne ? [documents as IndexDocument] : documents;
    const run = (report: (progress: AddProgress) => void, signal: AbortSignal) =>
      this.addAll(list as Iterable<IndexDocument>, report, signal, false);
    return new Progress(run, options?.signal ?? undefined);
  }

  /** Changes fields of documents that are there. An `InputError` for an unknown id, before anything changes. */
  update(
    changes: (Partial<IndexDocument> & { id: string }) | readonly (Partial<IndexDocument> & { id: string })[],
    options: AddOptions = {},
  ): Progress<AddProgress, AddResult> {
    const list = (Array.isArray(changes) ? changes : [changes]) as (Partial<IndexDocument> & { id: string })[];
    return this.add(
      list.map((change) => {
        const own = ownCopy(Object(change) as typeof change);
        const entry = this.contents.documents.get(own.id);
        if (!entry) throw new InputError(`Index.update: there is no document ${describe(own.id)}`);
        return { ...entry.document, ...own } as IndexDocument;
      }),
      options,
    );
  }

  /** Removes documents by their ids. Returns how many were there. */
  async delete(ids: string | readonly string[]): Promise<number> {
    const list = typeof ids === 'string' ? [ids] : ids;
    if (!Array.isArray(list) || list.some((id) => typeof id !== 'string')) {
      throw new InputError(`Index.delete: expected an id or an array of ids, found ${describe(ids)}`);
    }
    const present = () => [...new Set(list)].filter((id) => this.contents.documents.has(id));
    await this.alone(() => this.refresh(false));
    if (present().length === 0) return 0;
    return this.exclusive(async () => {
      let count = 0;
      await this.write(async () => {
        const deleted = present();
        count = deleted.length;
        return count > 0 ? { ...(await this.contents.segment([])), deleted } : undefined;
      });
      return count;
    }, never);
  }

  /**
   * The documents that fit a query best, best first: at most `top_k`, none if nothing fits. See `IndexSearchOptions`.
   *
   *     const hits = await index.search('rolls', { filter: { lang: 'en' }, min_score: { words: 0.1, meaning: 0.3 } });
   */
  async search(query: string, options: IndexSearchOptions = {}): Promise<IndexHit[]> {
    const where = 'Index.search';
    if (typeof query !== 'string') throw new InputError(`${where}: expected a query, a string, found ${describe(query)}`);
    options = readOptions(where, options, kSearchRules);
    const finite = { words: '(-Infinity,Infinity)', meaning: '(-Infinity,Infinity)' } as const;
    const weights = readOptions(`${where}: option 'weights'`, options.weights, finite);
    let floor = options.min_score ?? undefined;
    if (typeof floor !== 'number' && floor !== undefined)
      floor = readOptions(`${where}: option 'min_score'`, floor, {
        coverage: 'number',
        words: 'number',
        meaning: 'number',
        rank: 'number',
      });
    const filter = toFilter(options?.filter);
    this.checkOpen();
    const { embedder } = this;
    const mode = options?.mode ?? (embedder ? 'hybrid' : 'words');
    if (mode !== 'words' && !embedder) throw new InputError(`${where}: mode '${mode}' needs the option 'embed' of Index.open`);
    const signal = options?.signal ?? undefined;
    const top_k = options?.top_k ?? 10;
    const rerank = options?.rerank === false ? undefined : (options?.rerank ?? this.options.rerank ?? undefined);
    if (rerank !== undefined && typeof rerank !== 'function') {
      throw new InputError(`${where}: option 'rerank': expected a pipeline or a function, found ${describe(rerank)}`);
    }
    const depth = rerank ? (options?.rerank_depth ?? Math.max(20, 3 * top_k)) : top_k;
    throwIfAborted(signal);
    if (query.trim() === '') return []; // nothing is near to it, whatever a model makes of it
    if (this.store.hasNews()) await this.alone(() => this.refresh(false));
    throwIfAborted(signal);
    const { text, conditions, hasMore } = this.read(query, options.syntax ?? 'auto');
    const isListed = text === '' && conditions.some(({ isExcluded }) => !isExcluded);
    if (text === '' && !isListed) return [];
    const all = await this.contents.words.analyser.read(text, signal);
    const counting = all.filter(({ word }) => !this.contents.stopwords?.has(word));
    const read = counting.length > 0 ? counting : all;
    const last = all.at(-1);
    /** It may be the beginning of another word: nothing follows it. */
    const beginning =
      options.prefix && last && query.endsWith(text.slice(last.start)) && last.end === text.length ? last : undefined;
    const expansion = { beginning, isFuzzy: options.fuzzy ?? false };
    const isExpanded = beginning !== undefined || expansion.isFuzzy;
    const needsWords = mode !== 'meaning' || conditions.length > 0 || isExpanded;
    const readWords = async () => {
      while (needsWords && !this.contents.isRead) await this.contents.readWords(signal);
    };
    if (isExpanded) await readWords();
    const meant = isExpanded ? expand(this.contents.words, text, read, expansion).text : text;
    const asked = mode === 'words' || isListed ? undefined : await embedder!.query(meant, signal);
    // Documents may come and go meanwhile; another tab may even have removed the index, and begun another one.
    if (filter) warnOfUnknown(filter, this.name, this.contents.documents.values());
    let passing: Passing | undefined;
    do {
      passing = filter && (await this.contents.passing(filter.keep, signal));
      await readWords();
      if (conditions.length > 0 && (!passing || passing.owners === this.contents.owners))
        passing = await narrowed(this.contents, conditions, options.syntax === 'always' || !hasMore, passing, signal);
    } while (passing && passing.owners !== this.contents.owners);
    this.checkOpen();
    const words = expand(this.contents.words, text, read, expansion);
    let found = isListed
      ? listed(this.contents, passing!, depth, options.group_by === 'chunk')
      : candidates(this.contents, words, asked, mode, depth, passing, ownCopy({ ...options, weights }));
    if (rerank) found = await reranked(meant || query, found, rerank, signal);
    const best = found.filter((candidate) => isAbove(candidate, floor)).slice(0, top_k);
    const hits = await toHits(this.contents.words.analyser, words.terms, best, signal);
    if (options.sentences && asked)
      await withSentences(hits, asked.vector, (texts) => embedder!.documents(texts, () => {}, signal));
    return hits;
  }

  /**
   * What a text in a search box may become, the likeliest first: its last word completed, by the number of documents that have the word and the text's other words, and titles that have all its
   * words. If a space follows the last word, titles alone.
   *
   *     const [first] = await index.suggest('fresh ro'); // { text: 'fresh rolls', kind: 'word', documents: 2 }
   */
  async suggest(text: string, options: IndexSuggestOptions = {}): Promise<IndexSuggestion[]> {
    const where = 'Index.suggest';
    if (typeof text !== 'string') throw new InputError(`${where}: expected a text, found ${describe(text)}`);
    const { limit, signal } = readOptions(where, options, { limit: 'count', signal: 'signal' });
    this.checkOpen();
    throwIfAborted(signal ?? undefined);
    if (this.store.hasNews()) await this.alone(() => this.refresh(false));
    while (!this.contents.isRead) await this.contents.readWords(signal ?? undefined);
    return suggest(this.contents, text, limit ?? 5, signal ?? undefined);
  }

  /** Operators of a query, if it is one that may have them. */
  private read(query: string, syntax: 'auto' | 'always' | 'never'): Query {
    if (syntax === 'never' || (syntax === 'auto' && !isTyped(query))) return { text: query, conditions: [], hasMore: true };
    return readQuery(query, { isField: (name) => hasTextField(this.contents.documents.values(), name), hasWords });
  }

  /** The whole index as one file, for `import_file` here or elsewhere. */
  async export(): Promise<Uint8Array> {
    this.checkOpen();
    return this.alone(async () => {
      await this.refresh(false);
      const entries = [...this.contents.documents.values()];
      const parts: Uint8Array[] = [];
      const count = Math.max(1, Math.ceil(entries.length / kExportDocuments));
      for (let part = 0; part < count; ++part) {
        const some = entries.slice(part * kExportDocuments, (part + 1) * kExportDocuments);
        parts.push((await encodeSegment(await this.contents.segment(some), { part, parts: count })).bytes);
      }
      return concat(Uint8Array, parts);
    });
  }

  /**
   * Adds what `export` wrote, without embedding anything. Documents with the same id are replaced. An `InputError` if the file's vectors are of
   * another model than the index', a `ModelFormatError` if it is damaged or no index; then nothing is added.
   */
  async import_file(file: Uint8Array | ArrayBuffer): Promise<number> {
    const where = 'Index.import_file';
    const bytes = ArrayBuffer.isView(file)
      ? new Uint8Array(file.buffer, file.byteOffset, file.byteLength)
      : file instanceof ArrayBuffer
        ? new Uint8Array(file)
        : undefined;
    if (!bytes || bytes.length === 0) throw new InputError(`${where}: expected the bytes of an index, found ${describe(file)}`);
    const segments: DecodedSegment[] = [];
    try {
      for await (const segment of decodeSegments(where, bytes)) segments.push(segment);
    } catch (error) {
      if (!(error instanceof Damage)) throw error;
      throw new ModelFormatError(`${where}: the file is damaged: segment ${segments.length} of it: ${error.message}`, {
        cause: error,
      });
    }
    return this.exclusive(async () => {
      for (const { model } of segments) {
        if (model) await this.fits(model);
        const own = this.contents.model;
        if (model && own && !isSameModel(model, own)) {
          throw new InputError(`Index: '${this.name}' has vectors of ${own.name}, and this file has vectors of ${model.name}`);
        }
      }
      let count = 0;
      if (this.contents.language === undefined) await this.choose(segments.at(-1)?.language);
      for (const segment of segments) {
        await this.write(() => this.converted(segment));
        count += segment.documents.length;
      }
      return count;
    }, never);
  }

  private release(): void {
    if (!this.isOpen) return;
    this.isOpen = false;
    this.catching?.cancel();
    this.catching?.then(undefined, () => {});
    this.store.close();
    this.contents.vectors?.dispose();
    this.scratch?.dispose();
  }

  /** Ends the use of the index, which stays stored. Does not dispose of the models. */
  declare dispose: () => Promise<void>;

  private checkOpen(): void {
    if (!this.isOpen) throw new StateError(`Index: '${this.name}' was disposed of`);
  }

  /** Runs after all earlier work on the contents. */
  private alone<T>(run: () => Promise<T>): Promise<T> {
    const own = this.queue.then(run);
    this.queue = own.catch(() => {});
    return own;
  }

  /** The same, and no other tab or process writes meanwhile. */
  private exclusive<T>(run: () => Promise<T>, signal: AbortSignal): Promise<T> {
    return this.alone(async () => {
      this.checkOpen();
      return this.store.alone(async () => {
        await this.refresh(false);
        return run();
      }, signal);
    });
  }

  /** Reads what this or another tab has stored since the last time. */
  private async refresh(isFirst: boolean): Promise<void> {
    this.checkOpen();
    let foreign: VectorModel | undefined;
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
  private async fits(model: VectorModel): Promise<boolean> {
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

  private async setModel(model: VectorModel): Promise<void> {
    const vectors = await VectorRows.open(model.dim, model.precision);
    this.contents.begin(model, vectors);
  }

  /** A segment of another index with vectors as this one keeps them. */
  private async converted(stored: Segment): Promise<Segment> {
    const { contents } = this;
    const segment = { ...stored, language: contents.language };
    const { model } = segment;
    if (!contents.model || (model && model.precision === contents.model.precision)) return segment;
    const documents = segment.documents;
    const rows = documents.reduce((sum, each) => sum + rowsOf(each), 0);
    const to = await VectorRows.open(contents.model.dim, contents.model.precision);
    try {
      if (model) to.append(floatsOf(segment.vectors, model));
      else to.append(new Float32Array(rows * contents.model.dim));
      const stale = !model;
      return {
        ...segment,
        model: contents.model,
        documents: stale ? documents.map((each) => ({ ...each, stale })) : documents,
        vectors: to.stored(0, rows),
      };
    } finally {
      to.dispose();
    }
  }

  /**
   * Stores what `make` makes of the contents and takes it in; undefined: nothing. It is made again if another writer was faster, with what that one
   * wrote in the contents. Called while no one else should write.
   */
  private async write(make: () => Promise<Segment | undefined>): Promise<void> {
    for (let tries = 0; tries < kTries; ++tries) {
      const segment = await make();
      if (!segment) return;
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
    throw new StateError(`Index: '${this.name}' cannot be written: ${kTries} times another writer was faster`);
  }

  private async addAll(
    documents: Iterable<IndexDocument> | AsyncIterable<IndexDocument>,
    report: (progress: AddProgress) => void,
    signal: AbortSignal,
    isCatchingUp: boolean,
  ): Promise<AddResult> {
    const start = performance.now();
    const result: AddResult = { added: 0, updated: 0, unchanged: 0 };
    const seen = new Set<string>();
    const check = (value: unknown, i: number) => {
      const document = readDocument(value, `document ${i}`);
      if (seen.has(document.id)) throw new InputError(`Index.add: document ${i}: the id '${document.id}' occurs twice`);
      seen.add(document.id);
      return document;
    };
    const list: IndexDocument[] | undefined = Array.isArray(documents) ? [] : undefined;
    let chars = 0;
    if (list) {
      const breather = new Breather();
      let checked = 0;
      for (const value of [...(documents as Iterable<unknown>)]) {
        const document = check(value, list.length);
        list.push(document);
        chars += document.text.length;
        if (chars - checked < kMostChars && list.length % kMostDocuments > 0) continue;
        checked = chars;
        await breather.breathe(signal);
      }
    }
    const total = list?.length;
    let [done, doneChars, target, count, chunks] = [0, 0, kLeastChars, 0, 0];
    let batch: IndexDocument[] = [];
    let size = 0;
    /** share: of the batch that is on its way. */
    const tell = (share: number) => {
      const read = doneChars + share * size;
      const left = total === undefined || read === 0 ? undefined : ((performance.now() - start) / 1000 / read) * (chars - read);
      report({ done, total, chunks, seconds_left: left });
    };
    const flush = async () => {
      const began = performance.now();
      const before = chunks;
      await this.addBatch(batch, result, signal, isCatchingUp, (made, all) => {
        chunks = before + made;
        if (made < all) tell(made / all);
      });
      const ms = Math.max(1, performance.now() - began);
      target = Math.max(kLeastChars, Math.min(kMostChars, 2 * target, (size * kPortionMs) / ms));
      done += batch.length;
      doneChars += size;
      batch = [];
      size = 0;
      tell(0);
    };
    const wrong = () => {
      // One document whose id is no string, or that has none: the same message as in a list.
      if (Object.prototype.toString.call(documents) === '[object Object]') check(documents, 0);
      return new InputError(`Index.add: expected documents, found ${describe(documents)}`);
    };
    if (typeof documents === 'string') throw wrong(); // its letters are no documents
    for await (const value of itemsOf<unknown>(list ?? documents, signal, wrong)) {
      throwIfAborted(signal);
      const document = list ? (value as IndexDocument) : check(value, count++);
      batch.push(document);
      size += document.text.length;
      if (size >= target || batch.length === kMostDocuments) await flush();
    }
    if (batch.length > 0) await flush();
    else if (total === 0) report({ done: 0, total, chunks: 0, seconds_left: 0 });
    return result;
  }

  /** Embeds what is new of some documents, stores them and takes them in. report: told how many chunks of how many are made. */
  private async addBatch(
    batch: readonly IndexDocument[],
    result: AddResult,
    signal: AbortSignal,
    isCatchingUp: boolean,
    report: (made: number, all: number) => void,
  ): Promise<void> {
    const { embedder } = this;
    const isKnown = (document: IndexDocument) => {
      const entry = this.contents.documents.get(document.id);
      const same = entry !== undefined && entry.document.text === document.text && entry.document.title === document.title;
      return same && !(entry.stale && embedder) ? entry : undefined;
    };
    const fresh = batch.filter((document) => !isKnown(document));
    const before = (document: IndexDocument) => withTitle(document, '');
    const places = embedder
      ? await embedder.chunk(
          fresh.map((document) => ({ id: document.id, text: document.text, before: before(document) })),
          signal,
        )
      : fresh.map(({ text }) => [0, text.length]);
    const made: StoredDocument[] = fresh.map((document, i) => ({ document, chunks: places[i]!.length > 0 ? places[i]! : [0, 0] }));
    const texts = made.flatMap(({ document, chunks }) =>
      Array.from({ length: chunks.length / 2 }, (_, i) => before(document) + document.text.slice(chunks[2 * i], chunks[2 * i + 1])),
    );
    const own = await embedder?.model();
    const data = await embedder?.documents(texts, (made) => report(made, texts.length), signal);
    if (own && data) texts.forEach((text, i) => text.trim() === '' && data.fill(0, i * own.dim, (i + 1) * own.dim)); // near to nothing
    report(texts.length, texts.length);
    throwIfAborted(signal);
    let counts: AddResult = { added: 0, updated: 0, unchanged: 0 };
    const make = async (): Promise<Segment | undefined> => {
      if (own && !this.contents.model) await this.setModel({ ...own, precision: this.precision() });
      await this.detect(batch.map(({ text }) => text));
      const { contents } = this;
      const { model } = contents;
      // Documents whose text is as before keep their rows.
      const changed = batch.filter((document) => {
        const entry = isKnown(document);
        return entry && fieldsOf(entry.document) !== fieldsOf(document);
      });
      const rest = await contents.segment(changed.map((document) => ({ ...contents.documents.get(document.id)!, document })));
      let vectors = await this.storedForm(model, data, texts.length);
      const stale = model !== undefined && data === undefined;
      let documents = made.map((each) => (stale ? { ...each, stale } : each));
      if (isCatchingUp) {
        // Of those that were changed or removed meanwhile, nothing comes back.
        const isWaiting = ({ document }: StoredDocument) => {
          const entry = contents.documents.get(document.id);
          return entry !== undefined && entry.stale && entry.document.text === document.text;
        };
        vectors = rowsWhere(documents, isWaiting, vectors, storedRowBytes(model));
        documents = documents
          .filter(isWaiting)
          .map((each) => ({ ...each, document: contents.documents.get(each.document.id)!.document }));
      }
      const segment: Segment = {
        ...(model && { model }),
        ...(contents.language !== undefined && { language: contents.language }),
        documents: [...documents, ...rest.documents],
        deleted: [],
        vectors: concat(Uint8Array, [vectors, rest.vectors]),
      };
      counts = { added: 0, updated: 0, unchanged: batch.length - fresh.length };
      for (const { id } of fresh) ++counts[contents.documents.has(id) ? 'updated' : 'added'];
      return segment.documents.length > 0 ? segment : undefined;
    };
    await this.exclusive(() => this.write(make), signal);
    for (const name of ['added', 'updated', 'unchanged'] as const) result[name] += counts[name];
  }

  private precision(): IndexPrecision {
    return this.options.precision ?? 'int8';
  }

  /** Vectors in the form of segments; none yet: zeros. */
  private async storedForm(model: VectorModel | undefined, data: Float32Array | undefined, rows: number): Promise<Uint8Array> {
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

  private catchUp(): void {
    const stale = [...this.contents.documents.values()].filter((entry) => entry.stale).map(({ document }) => document);
    this.catching = new Progress<AddProgress, AddResult>((report, signal) => this.addAll(stale, report, signal, true));
    this.catching.then(
      () => (this.catching = undefined),
      () => {}, // whoever watches it sees the failure
    );
  }
}

/** All that a document has beside its text, which may be long, in the order in which it has it. */
const fieldsOf = (document: IndexDocument): string => JSON.stringify({ ...document, text: '' });

/** The rows of those documents for which `wanted` holds. */
function rowsWhere(
  documents: readonly StoredDocument[],
  wanted: (each: StoredDocument) => boolean,
  rows: Uint8Array,
  rowBytes: number,
): Uint8Array {
  const parts: Uint8Array[] = [];
  let at = 0;
  for (const each of documents) {
    const end = at + rowsOf(each) * rowBytes;
    if (wanted(each)) parts.push(rows.subarray(at, end));
    at = end;
  }
  return concat(Uint8Array, parts);
}

/** Stored rows as numbers. */
function floatsOf(bytes: Uint8Array, model: VectorModel): Float32Array {
  const { dim, precision } = model;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const step = storedRowBytes(model);
  const out = new Float32Array((bytes.length / step) * dim);
  for (let row = 0, at = 0; at < bytes.length; ++row, at += step) {
    const scale = precision === 'float32' ? 1 : view.getFloat32(at, true);
    for (let i = 0; i < dim; ++i) {
      out[row * dim + i] = precision === 'float32' ? view.getFloat32(at + 4 * i, true) : scale * view.getInt8(at + 4 + i);
    }
  }
  return out;
}
