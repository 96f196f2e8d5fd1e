// The proof itself: starts contenders, takes turns between them, and reports what it finds while it runs.
import type { ModelSpecifier } from 'wattn';
import { leastCosine, median } from '../ui/numbers.js';
import { startContender, type Running } from './contender.js';
import type { Contender, Facts, Sizes } from './contender_worker.js';
import { hashOfVectors, kPublished, thousandSentences } from './thousand.mjs';

const kFresh = 3; // workers of each contender, for the first vector
const kRounds = 5;
const kAlone = 3; // texts by themselves, in each round

/** One row of the table; what is not measured yet, or cannot be, is not there. */
export interface Row {
  name: string;
  library: Contender['library'];
  dtype: string;
  error?: string;
  facts?: Facts;
  /** How the library was asked, if there was a choice. */
  way?: string | undefined;
  firstVectorMs?: number;
  /** A hash of the vectors of 1,000 sentences. */
  hash?: string;
  /** The published hash; only the bundled model has one. */
  published?: string | undefined;
  textsPerSecond?: number;
  /** One text alone. */
  aloneMs?: number;
  /** The longest round less the shortest, as a share of the median. */
  spread?: number;
  /** Smallest cosine of a vector to that of the first row. */
  agreement?: number;
  sizes?: Sizes;
}

export interface Progress {
  what: string;
  done: number;
  of: number;
}

export interface ProofOptions {
  model: ModelSpecifier | null;
  threads: number;
  /** The folder with transformers.js, if this page was served with it. */
  rival: string | undefined;
  /** Sentences of a round. */
  sentences: number;
  signal: AbortSignal;
  report: (rows: readonly Row[], progress: Progress) => void;
}

type Entry = { row: Row; contender: Contender; running?: Running };

function contendersOf({ model, threads, rival }: ProofOptions): Entry[] {
  const ours = (['f32', 'q16', 'q8'] as const).map((dtype): Entry => {
    const published = model === null ? kPublished[dtype] : undefined;
    const row: Row = { name: `wattn ${dtype}`, library: 'wattn', dtype, published };
    return { row, contender: { library: 'wattn', dtype, model, threads } };
  });
  if (!rival || model === null) return ours;
  const theirs = (['fp32', 'q8'] as const).map((dtype): Entry => {
    const row: Row = { name: `transformers.js ${dtype}`, library: 'transformers.js', dtype };
    return { row, contender: { library: 'transformers.js', dtype, model, threads, rival } };
  });
  return [...ours, ...theirs];
}

/** Every so-manieth of a list, so that all kinds are there. */
const some = <T>(list: readonly T[], count: number) => list.filter((_, i) => i % Math.ceil(list.length / count) === 0);

export async function prove(options: ProofOptions): Promise<readonly Row[]> {
  const { signal, report, sentences } = options;
  const entries = contendersOf(options);
  const all = thousandSentences();
  const texts = some(all, sentences);
  const of = entries.length * (kFresh + 1 + kRounds);
  let done = 0;
  const live = () => entries.filter(({ row }) => row.error === undefined);
  const step = (what: string) => {
    signal.throwIfAborted();
    report(entries.map(({ row }) => ({ ...row })), { what, done: done++, of }); // prettier-ignore
  };
  try {
    const first = new Map<Entry, number[]>();
    for (let turn = 0; turn < kFresh; ++turn) {
      for (const entry of live()) {
        const { row } = entry;
        step(`First vector of ${row.name}, in a fresh worker: ${turn + 1} of ${kFresh}`);
        entry.running?.stop();
        try {
          const running = (entry.running = await startContender(entry.contender, all[100] as string, signal));
          const times = [...(first.get(entry) ?? []), running.firstVectorMs];
          first.set(entry, times);
          Object.assign(row, { facts: running.facts, firstVectorMs: median(times) });
        } catch (error) {
          signal.throwIfAborted();
          row.error = (error as Error).message;
        }
      }
    }
    if (live().length === 0) return entries.map(({ row }) => row);
    for (const { row, running } of live()) {
      step(row.library === 'wattn' ? `The bits of 1,000 vectors: ${row.name}` : `Warming up: ${row.name}`);
      if (row.library === 'wattn') row.hash = await hashOfVectors((await (running as Running).embed(all)).data);
      else await (running as Running).warmUp(texts);
    }
    await race(live(), texts, options.signal, step);
    for (const { row, running } of live()) row.sizes = await (running as Running).sizes();
    return entries.map(({ row }) => row);
  } finally {
    for (const { running } of entries) running?.stop();
  }
}

/** The rounds: in each, every contender gets the same texts, one after the other. */
async function race(entries: Entry[], texts: string[], signal: AbortSignal, step: (what: string) => void): Promise<void> {
  const times = new Map<Entry, { rounds: number[]; alone: number[] }>(entries.map((entry) => [entry, { rounds: [], alone: [] }]));
  let reference: Float32Array | undefined;
  for (let round = 0; round < kRounds; ++round) {
    for (const entry of entries) {
      const { row } = entry;
      const running = entry.running as Running;
      const { rounds, alone } = times.get(entry) as { rounds: number[]; alone: number[] };
      step(`Speed, round ${round + 1} of ${kRounds}: ${row.name}`);
      const { data, ms, way } = await running.embed(texts);
      rounds.push(ms);
      for (let i = 0; i < kAlone; ++i) alone.push((await running.embed([texts[round * kAlone + i] as string])).ms);
      signal.throwIfAborted();
      reference ??= data;
      const typical = median(rounds);
      Object.assign(row, {
        way,
        textsPerSecond: (1000 * texts.length) / typical,
        aloneMs: median(alone),
        spread: (Math.max(...rounds) - Math.min(...rounds)) / typical,
        agreement: leastCosine(data, reference, data.length / texts.length),
      });
    }
  }
}
