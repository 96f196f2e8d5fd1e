// Index: documents found by their words and their meaning, kept where the page or the program keeps its data.
import { disposable } from '../core/disposable.js';
import { describe, InputError } from '../core/errors.js';
import { ownCopy, readOptions, type Rules } from '../core/options.js';
import { Progress } from '../core/progress.js';
import { throwIfAborted } from '../core/signal.js';
import { addAll } from './adding.js';
import { Embedder } from './embedder.js';
import { openGiven } from './given_store.js';
import { isStemmed, kLanguageNames } from './language_names.js';
import { loadLanguage } from './languages.js';
import { checkName } from './names.js';
import { search } from './searching.js';
import { StoredContents } from './stored_contents.js';
import { suggest } from './suggest.js';
import { exported, floatsOf, imported } from './transfer.js';
import type {
  AddOptions,
  AddProgress,
  AddResult,
  IndexChunk,
  IndexDocument,
  IndexHit,
  IndexInfo,
  IndexOptions,
  IndexSearchOptions,
  IndexSuggestion,
  IndexSuggestOptions,
} from './types.js';

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
const never = new AbortController().signal;

/** An open index; see `Index` in open.ts. */
export class Index {
  private catching: Progress<AddProgress, AddResult> | undefined;

  private constructor(
    /** The name under which the index was opened. */
    readonly name: string,
    private readonly kept: StoredContents,
  ) {}

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
    const store = await openGiven(name, options?.store);
    const kept = new StoredContents(name, store, embedder, ownCopy({ ...options, words }));
    const index = new Index(name, kept);
    try {
      await kept.choose(options.language === 'auto' ? undefined : options.language);
      await kept.refresh(true);
      await kept.detect(
        (function* () {
          for (const { document } of kept.contents.documents.values()) yield document.text;
        })(),
      );
      if (kept.contents.stale > 0 && embedder) index.catchUp();
      return disposable(index, () => index.release());
    } catch (error) {
      index.release();
      throw error;
    }
  }

  /** Number of documents. */
  get size(): number {
    return this.kept.contents.documents.size;
  }

  /** The ids of all documents. */
  ids(): string[] {
    return [...this.kept.contents.documents.keys()];
  }

  /** The document with this id. */
  get(id: string): IndexDocument | undefined {
    return this.kept.contents.documents.get(id)?.document;
  }

  /**
   * Iterates over all chunks with their vectors, for a map, for `k_means`, or for another database. Documents that change in the meantime may be
   * missing.
   *
   *     for (const { id, start, end, vector } of index.chunks()) await insert(id, start, end, vector);
   */
  *chunks(): Generator<IndexChunk, void, undefined> {
    this.kept.checkOpen();
    for (const entry of [...this.kept.contents.documents.values()]) {
      const { document, chunks, stale } = entry;
      for (let at = 0; at < chunks.length; at += 2) {
        const { model, vectors, documents } = this.kept.contents;
        if (!this.kept.isOpen || documents.get(document.id) !== entry) break;
        const [start, end] = [chunks[at]!, chunks[at + 1]!];
        const vector = vectors && model && !stale ? floatsOf(vectors.stored(entry.first + at / 2, 1), model) : undefined;
        yield { id: document.id, text: document.text.slice(start, end), start, end, vector };
      }
    }
  }

  /** Facts about the index: number of documents and chunks, model, and bytes. */
  info(): IndexInfo {
    const { contents } = this.kept;
    return {
      name: this.name,
      store: this.kept.store.kind,
      documents: this.size,
      chunks: contents.rows,
      dim: contents.model?.dim ?? 0,
      precision: contents.model?.precision ?? this.kept.options.precision ?? 'int8',
      model: contents.model?.name,
      language: isStemmed(contents.language) ? contents.language : undefined,
      stale: contents.model || this.kept.embedder ? contents.stale : 0,
      memory: contents.vectors?.bytes ?? 0,
      stored: this.kept.log.bytes,
    };
  }

  /** Progress of re-embedding documents with the current model, while it runs. Keyword search finds them in the meantime. */
  get reembedding(): Progress<AddProgress, AddResult> | undefined {
    return this.catching;
  }

  /**
   * Adds documents and replaces those with the same id. A text is embedded only if it or its title changed. Documents are stored in batches and can be
   * found once their batch is stored. Throws an `InputError` if an id occurs twice.
   *
   *     await index.add(documents);
   *     for await (const { done, total, seconds_left } of index.add(documents)) show(done / total);
   */
  add(
    documents: IndexDocument | Iterable<IndexDocument> | AsyncIterable<IndexDocument>,
    options: AddOptions = {},
  ): Progress<AddProgress, AddResult> {
    options = readOptions('Index.add', options, kAddRules);
    this.kept.checkOpen();
    const isOne = typeof documents === 'object' && documents !== null && typeof (documents as IndexDocument).id === 'string';
    const list = isOne ? [documents as IndexDocument] : documents;
    const run = (report: (progress: AddProgress) => void, signal: AbortSignal) =>
      addAll(this.kept, list as Iterable<IndexDocument>, report, signal, false);
    return new Progress(run, options?.signal ?? undefined);
  }

  /** Changes fields of existing documents. An unknown id throws an `InputError` before anything changes. */
  update(
    changes: (Partial<IndexDocument> & { id: string }) | readonly (Partial<IndexDocument> & { id: string })[],
    options: AddOptions = {},
  ): Progress<AddProgress, AddResult> {
    const list = (Array.isArray(changes) ? changes : [changes]) as (Partial<IndexDocument> & { id: string })[];
    return this.add(
      list.map((change) => {
        const own = ownCopy(Object(change) as typeof change);
        const entry = this.kept.contents.documents.get(own.id);
        if (!entry) throw new InputError(`Index.update: there is no document ${describe(own.id)}`);
        return { ...entry.document, ...own } as IndexDocument;
      }),
      options,
    );
  }

  /** Deletes documents by id. Returns how many existed. */
  async delete(ids: string | readonly string[]): Promise<number> {
    const list = typeof ids === 'string' ? [ids] : ids;
    if (!Array.isArray(list) || list.some((id) => typeof id !== 'string')) {
      throw new InputError(`Index.delete: expected an id or an array of ids, found ${describe(ids)}`);
    }
    const present = () => [...new Set(list)].filter((id) => this.kept.contents.documents.has(id));
    await this.kept.alone(() => this.kept.refresh(false));
    if (present().length === 0) return 0;
    return this.kept.exclusive(async () => {
      let count = 0;
      await this.kept.write(async () => {
        const deleted = present();
        count = deleted.length;
        return count > 0 ? { ...(await this.kept.contents.segment([])), deleted } : undefined;
      });
      return count;
    }, never);
  }

  /**
   * Finds the documents that match a query, best first: at most `top_k`, none if nothing matches. See `IndexSearchOptions`.
   *
   *     const hits = await index.search('rolls', { filter: { lang: 'en' }, min_score: { words: 0.1, meaning: 0.3 } });
   */
  async search(query: string, options: IndexSearchOptions = {}): Promise<IndexHit[]> {
    return search(this.kept, query, options);
  }

  /**
   * Completions for the text in a search box, the most likely first. First come completions of the last word, by the number of documents that contain it
   * together with the other words. Then come titles that contain all words. If a space follows the last word, only titles.
   *
   *     const [first] = await index.suggest('fresh ro'); // { text: 'fresh rolls', kind: 'word', documents: 2 }
   */
  async suggest(text: string, options: IndexSuggestOptions = {}): Promise<IndexSuggestion[]> {
    const where = 'Index.suggest';
    if (typeof text !== 'string') throw new InputError(`${where}: expected a text, found ${describe(text)}`);
    const { limit, signal } = readOptions(where, options, { limit: 'count', signal: 'signal' });
    this.kept.checkOpen();
    throwIfAborted(signal ?? undefined);
    if (this.kept.store.hasNews()) await this.kept.alone(() => this.kept.refresh(false));
    while (!this.kept.contents.isRead) await this.kept.contents.readWords(signal ?? undefined);
    return suggest(this.kept.contents, text, limit ?? 5, signal ?? undefined);
  }

  /** Returns the whole index as one file, for `import_file`. */
  async export(): Promise<Uint8Array> {
    this.kept.checkOpen();
    return exported(this.kept);
  }

  /**
   * Adds the documents of a file from `export` without embedding anything, and replaces documents with the same id. Returns their number. Throws an
   * `InputError` if the file's vectors are from another model, and a `ModelFormatError` if the file is damaged or not an index. Then nothing is added.
   */
  async import_file(file: Uint8Array | ArrayBuffer): Promise<number> {
    return imported(this.kept, file);
  }

  private release(): void {
    if (!this.kept.isOpen) return;
    this.kept.isOpen = false;
    this.catching?.cancel();
    this.catching?.then(undefined, () => {});
    this.kept.close();
  }

  /** Closes the index, which stays stored. Models are not disposed. */
  declare dispose: () => Promise<void>;

  private catchUp(): void {
    const stale = [...this.kept.contents.documents.values()].filter((entry) => entry.stale).map(({ document }) => document);
    this.catching = new Progress<AddProgress, AddResult>((report, signal) => addAll(this.kept, stale, report, signal, true));
    this.catching.then(
      () => (this.catching = undefined),
      () => {}, // whoever watches it sees the failure
    );
  }
}
