// Documents that are added: cut, embedded and stored, some at a time.
import { describe, InputError } from '../core/errors.js';
import { Breather, throwIfAborted } from '../core/signal.js';
import { concat, itemsOf } from '../core/texts.js';
import { withTitle } from './contents.js';
import { readDocument } from './document.js';
import type { Segment } from './segments.js';
import { rowsOf, storedRowBytes, type StoredDocument } from './stored_documents.js';
import type { StoredContents } from './stored_contents.js';
import type { AddProgress, AddResult, IndexDocument } from './types.js';

/** Characters that are embedded and stored at once: some work for a model, and soon done. */
const kLeastChars = 2_000;
const kMostChars = 200_000;
const kPortionMs = 400;
const kMostDocuments = 256;

export async function addAll(
  kept: StoredContents,
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
    await addBatch(kept, batch, result, signal, isCatchingUp, (made, all) => {
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
async function addBatch(
  kept: StoredContents,
  batch: readonly IndexDocument[],
  result: AddResult,
  signal: AbortSignal,
  isCatchingUp: boolean,
  report: (made: number, all: number) => void,
): Promise<void> {
  const { embedder } = kept;
  const isKnown = (document: IndexDocument) => {
    const entry = kept.contents.documents.get(document.id);
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
    if (own && !kept.contents.model) await kept.setModel({ ...own, precision: kept.precision() });
    await kept.detect(batch.map(({ text }) => text));
    const { contents } = kept;
    const { model } = contents;
    // Documents whose text is as before keep their rows.
    const changed = batch.filter((document) => {
      const entry = isKnown(document);
      return entry && fieldsOf(entry.document) !== fieldsOf(document);
    });
    const rest = await contents.segment(changed.map((document) => ({ ...contents.documents.get(document.id)!, document })));
    let vectors = await kept.storedForm(model, data, texts.length);
    const stale = model !== undefined && data === undefined;
    let documents = made.map((each) => (stale ? { ...each, stale } : each));
    if (isCatchingUp) {
      // A document that was changed or removed meanwhile does not come back.
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
  await kept.exclusive(() => kept.write(make), signal);
  for (const name of ['added', 'updated', 'unchanged'] as const) result[name] += counts[name];
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
