// What is done to an index as it lies in its store: listing, checking, repairing, deleting.
import { ModelFormatError, UnsupportedError } from '../core/errors.js';
import { readOptions, type Rules } from '../core/options.js';
import { Breather } from '../core/signal.js';
import { beginHead, readHead, removeHead, type FoundHead, type Head } from './head.js';
import { checkName } from './names.js';
import { listGiven, openGiven } from './given_store.js';
import { chainOf, covers, isLeftOver, newIndex, parseName, SegmentLog, textOf, type SegmentName } from './segment_log.js';
import { Damage, decodeSegment, encodeSegment, salvageSegment, type Segment } from './segments.js';
import { placeOf, type SegmentStore } from './stores.js';
import type { IndexCheck, IndexListing, IndexProblem, IndexRepair, IndexStoreOptions } from './types.js';

const kRules: Rules = { store: 'any' };
const kHead = 'head';
const never = new AbortController().signal;

async function withStore<T>(
  where: string,
  name: string,
  options: IndexStoreOptions | undefined,
  run: (store: SegmentStore) => Promise<T>,
): Promise<T> {
  checkName(where, name);
  options = readOptions(where, options, kRules);
  const store = await openGiven(name, options?.store);
  try {
    return await run(store);
  } finally {
    store.close();
  }
}

export async function list(options: IndexStoreOptions | undefined): Promise<IndexListing[]> {
  options = readOptions('Index.list', options, kRules);
  return (await listGiven(options?.store)).sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
}

export function remove(name: string, options: IndexStoreOptions | undefined): Promise<void> {
  return withStore('Index.delete', name, options, async (store) => {
    if ((await store.list()).length === 0) return store.leave();
    await store.alone(() => new SegmentLog(placeOf(name, store), store).destroy(), never);
    await store.leave();
  });
}

/** A segment as it was found: whole, or with a reason why not, and then with what of it is sound. */
interface Found {
  name: SegmentName;
  segment: Segment | undefined;
  problem: IndexProblem | undefined;
}

interface Survey {
  head: Head | undefined;
  found: Found[];
  problems: IndexProblem[];
  leftOver: string[];
}

async function surveyOf(where: string, store: SegmentStore): Promise<Survey> {
  const problems: IndexProblem[] = [];
  let found: FoundHead | undefined;
  try {
    found = await readHead(where, store);
    if (found?.wrong) problems.push({ file: found.wrong, state: 'unfinished', what: 'the other file of the head is intact' });
  } catch (error) {
    if (!(error instanceof Damage)) throw error;
    problems.push({ file: kHead, state: 'damaged', what: error.message });
  }
  const files = (await store.list()).sort();
  const leftOver = files.filter(isLeftOver);
  for (const file of leftOver) problems.push({ file, state: 'left over', what: 'its writer ended early' });
  const segments: Found[] = [];
  for (const file of files) {
    const name = parseName(file);
    if (name) segments.push(await findSegment(where, store, name));
  }
  judge(found?.head, segments, problems);
  return {
    head: found?.head,
    found: segments,
    problems: [...segments.flatMap(({ problem }) => problem ?? []), ...problems],
    leftOver,
  };
}

async function findSegment(where: string, store: SegmentStore, name: SegmentName): Promise<Found> {
  const file = textOf(name);
  const bytes = (await store.read(file)) ?? new Uint8Array();
  try {
    const segment = await decodeSegment(`${where}: segment ${file}`, bytes);
    if (segment.version > 1 && segment.name !== file) {
      const what = `it says that it is ${segment.name ?? 'part of a file'}`;
      return { name, segment, problem: { file, state: 'foreign', what } };
    }
    return { name, segment, problem: undefined };
  } catch (error) {
    if (!(error instanceof Damage) && !(error instanceof UnsupportedError)) throw error;
    const saved = await salvageSegment(bytes);
    // The head of a segment tells whether a later version wrote it, or one bit of its version is another.
    if (error instanceof UnsupportedError && !saved) throw error;
    const lost = saved && { documents: saved.documents - saved.segment.documents.length, of: saved.documents };
    const state = error instanceof Damage && error.cutAt === 0 ? 'unfinished' : 'damaged';
    return { name, segment: saved?.segment, problem: { file, state, what: error.message, lost } };
  }
}

/** Adds what is wrong with segments among each other. */
function judge(head: Head | undefined, found: Found[], problems: IndexProblem[]): void {
  const names = found.map(({ name }) => name);
  const sound = found.filter(({ problem }) => !problem).map(({ name }) => name);
  if (head?.deleted) {
    for (const each of found) each.problem ??= { file: textOf(each.name), state: 'left over', what: 'its index is deleted' };
    return;
  }
  const index = head?.index ?? bestOf(sound) ?? names[0]?.index;
  if (index === undefined) return;
  const isNew = found.some(({ segment }) => segment !== undefined && 'version' in segment && segment.version !== 1);
  if (!head && isNew && !problems.some(({ file }) => file === kHead)) {
    problems.push({ file: kHead, state: 'missing', what: 'an index of this version has one' });
  }
  for (const each of found) {
    if (each.name.index !== index)
      each.problem ??= { file: textOf(each.name), state: 'foreign', what: 'it belongs to another index' };
  }
  const own = sound.filter((name) => name.index === index);
  const most = Math.max(head?.writes ?? 0, ...names.filter((name) => name.index === index).map(({ to }) => to + 1));
  for (let write = 0; write < most;) {
    const end = coveredUntil(own, write);
    if (end > write) {
      write = end;
      continue;
    }
    const next = Math.min(most, ...own.filter(({ from }) => from > write).map(({ from }) => from));
    const isUnfinished = next === most && write >= (head?.writes ?? most) && !own.some(({ from }) => from > write);
    if (!isUnfinished) {
      const text = next - write === 1 ? `write ${write}` : `writes ${write} to ${next - 1}`;
      problems.push({ file: undefined, state: 'missing', what: `${text}: no intact segment has it` });
    }
    write = next;
  }
}

function coveredUntil(names: readonly SegmentName[], write: number): number {
  const ends = names.filter(({ from, to }) => from <= write && to >= write).map(({ to }) => to + 1);
  return ends.length > 0 ? coveredUntil(names, Math.max(...ends)) : write;
}

function bestOf(names: readonly SegmentName[]): string | undefined {
  const writes = (index: string) => chainOf(names, index).at(-1)?.to ?? -1;
  return [...new Set(names.map(({ index }) => index))].sort((a, b) => writes(b) - writes(a))[0];
}

/** Whether something that was stored may be missing. */
const isLoss = ({ state }: IndexProblem) => state === 'damaged' || state === 'missing' || state === 'foreign';

/** Sound segments in the order of their writes, without those whose writes another one holds. Those of other indexes come first. */
function inOrder({ found, head }: Survey): { name: SegmentName; segment: Segment }[] {
  const usable = found.flatMap(({ name, segment, problem }) => {
    const own = segment && 'name' in segment ? parseName(String(segment.name)) : undefined; // a copy may have another's name
    return segment ? [{ name: own ?? name, segment, isWhole: !problem || problem.state === 'foreign' }] : [];
  });
  const isHeld = (each: SegmentName) => usable.some(({ name, isWhole }) => isWhole && covers(name, each));
  const index = head?.index ?? bestOf(usable.map(({ name }) => name));
  return usable
    .filter(({ name }) => !isHeld(name))
    .sort(
      (a, b) =>
        Number(a.name.index === index) - Number(b.name.index === index) || a.name.from - b.name.from || a.name.to - b.name.to,
    );
}

function countOf(segments: readonly { segment: Segment }[]): number {
  const ids = new Set<string>();
  for (const { segment } of segments) {
    for (const id of segment.deleted) ids.delete(id);
    for (const { document } of segment.documents) ids.add(document.id);
  }
  return ids.size;
}

export function check(name: string, options: IndexStoreOptions | undefined): Promise<IndexCheck> {
  return withStore('Index.check', name, options, async (store) => {
    const survey = await surveyOf(placeOf(name, store), store);
    const { problems, found } = survey;
    const segments = survey.head?.deleted ? [] : inOrder(survey);
    return {
      name,
      store: store.kind,
      sound: !problems.some(isLoss),
      documents: countOf(segments),
      segments: found.length,
      problems,
    };
  });
}

export function repair(name: string, options: IndexStoreOptions | undefined): Promise<IndexRepair> {
  return withStore('Index.repair', name, options, async (store) => {
    if ((await store.list()).length === 0) return { name, store: store.kind, documents: 0, lost: [] };
    return store.alone(() => repaired(name, store), never);
  });
}

async function repaired(name: string, store: SegmentStore): Promise<IndexRepair> {
  const where = placeOf(name, store);
  const survey = await surveyOf(where, store);
  const { head, problems, found, leftOver } = survey;
  const kept = head?.deleted ? [] : inOrder(survey);
  const lost = problems.filter(({ state }) => state === 'damaged' || state === 'missing');
  const result = { name, store: store.kind, documents: countOf(kept), lost };
  if (problems.some(isLoss)) {
    // First all that is sound once more, under a new index; then the head that names it; only then the old segments go.
    const breather = new Breather();
    const index = newIndex();
    let tip = '';
    for (let number = 0; number < kept.length; ++number) {
      const file = textOf({ index, from: number, to: number, version: 0 });
      const written = await encodeSegment(bare(kept[number]!.segment), { name: file, before: tip });
      if (!(await store.add(file, written.bytes))) throw new ModelFormatError(`${where}: ${file} is there already`);
      tip = written.tip;
      await breather.breathe(undefined);
    }
    await removeHead(store, undefined);
    await beginHead(store, { index, deleted: false, writes: kept.length, tip });
    for (const each of found) await store.remove(textOf(each.name));
  }
  for (const file of leftOver) await store.remove(file);
  return result;
}

const bare = ({ model, language, documents, deleted, vectors }: Segment): Segment => ({
  model,
  language,
  documents,
  deleted,
  vectors,
});
