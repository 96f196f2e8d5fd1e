// encode_batch: the ids of many texts, by workers where that is faster.
import { StateError, UnsupportedError, type WattnError } from '../core/errors.js';
import { Breather, throwIfAborted } from '../core/signal.js';
import type { AbortSignalLike } from '../core/types.js';
import { toWorkerCount, toWorkerEnv, WorkerPool } from '../host/worker_pool.js';
import { workers } from '../host/workers.js';
import type { NamedBytes } from '../source/model_files.js';
import type { BatchPart, BatchRequest, EncodedPart } from './batch_protocol.js';

const kWhere = "encode_batch: option 'worker'";

/** Characters of one job. */
const kJobChars = 2 ** 18;
/** Characters of one call on this thread, which takes about a millisecond. */
const kStepChars = 2 ** 16;
/** By default there is a worker for each so many characters: it starts in the time in which they are read. */
const kCharsOfWorker = 2 ** 22;
const kMostByDefault = 4;

/** The texts in parts of so many characters; a longer text is a part by itself. */
function* partsOf({ texts, pairs, seam }: BatchPart, most: number): Generator<BatchPart> {
  let begin = 0;
  let chars = 0;
  const part = (end: number): BatchPart => ({ texts: texts.slice(begin, end), pairs: pairs?.slice(begin, end), seam });
  for (const [i, text] of texts.entries()) {
    const size = text.length + (pairs?.[i]?.length ?? 0);
    if (i > begin && chars + size > most) {
      yield part(i);
      begin = i;
      chars = 0;
    }
    chars += size;
  }
  if (begin < texts.length) yield part(texts.length);
}

/** Each text's ids; they share their part's memory. */
function rowsOf({ ids, lengths }: EncodedPart): Int32Array[] {
  let end = 0;
  return Array.from(lengths, (length) => ids.subarray(end, (end += length)));
}

export class Batches {
  private pool: { count: number; started: Promise<WorkerPool<BatchRequest>> } | undefined;

  /** files: a tokenizer's own; undefined: it is a model's. */
  constructor(
    private readonly files: readonly NamedBytes[] | undefined,
    private readonly encodeHere: (part: BatchPart) => EncodedPart,
  ) {}

  async encode(all: BatchPart, worker: boolean | number | undefined, signal: AbortSignalLike | undefined): Promise<Int32Array[]> {
    throwIfAborted(signal);
    const count = this.countFor(all, worker);
    const pool = count > 0 ? await this.poolOf(count, worker !== undefined) : undefined;
    if (!pool) return this.encodeInSteps(all, signal);
    const parts = Array.from(partsOf(all, kJobChars), (part) => pool.ask({ type: 'encode', ...part }, { signal }));
    return (await Promise.all<EncodedPart>(parts)).flatMap(rowsOf);
  }

  /** Ends the workers: the tokenizer has changed or is not used any more. */
  end(): void {
    const { started } = this.pool ?? {};
    this.pool = undefined;
    started?.then(
      (pool) => pool.end(new StateError('this tokenizer was disposed or changed')),
      () => undefined,
    );
  }

  private async encodeInSteps(all: BatchPart, signal: AbortSignalLike | undefined): Promise<Int32Array[]> {
    const breather = new Breather();
    const rows: Int32Array[] = [];
    for (const part of partsOf(all, kStepChars)) {
      await breather.breathe(signal);
      for (const row of rowsOf(this.encodeHere(part))) rows.push(row);
    }
    return rows;
  }

  /** How many workers; 0: none. */
  private countFor({ texts, pairs }: BatchPart, worker: boolean | number | undefined): number {
    if (worker === false) return 0;
    const why =
      workers.none ?? (this.files ? undefined : "a model's tokenizer has none: load it with AutoTokenizer.from_pretrained");
    if (worker !== undefined) {
      const count = worker === true ? 1 : toWorkerCount(kWhere, worker, 'true, false or ');
      if (why !== undefined) throw new UnsupportedError(`${kWhere}: ${why}`);
      return count;
    }
    const chars = [...texts, ...(pairs ?? [])].reduce((sum, { length }) => sum + length, 0);
    const count = Math.min(workers.threads().cores, kMostByDefault, Math.floor(chars / kCharsOfWorker));
    return why === undefined && count > 1 ? count : 0;
  }

  /** Workers that have loaded the tokenizer. undefined: they cannot start here, and nobody insists. */
  private async poolOf(count: number, insists: boolean): Promise<WorkerPool<BatchRequest> | undefined> {
    if (this.pool && this.pool.count < count) this.end();
    this.pool ??= { count, started: this.start(count) };
    try {
      const pool = await this.pool.started;
      if (pool.isOpen) return pool;
      this.pool = undefined; // all its workers failed
      return await this.poolOf(count, insists);
    } catch (error) {
      this.pool = undefined;
      if (insists) throw error;
      return undefined;
    }
  }

  private async start(count: number): Promise<WorkerPool<BatchRequest>> {
    const settings = await toWorkerEnv(kWhere);
    const pool = new WorkerPool<BatchRequest>(() => workers.start('engine'), count, { again: '; call encode_batch again' });
    try {
      const load = { type: 'tokenizer', files: this.files!, env: settings } as const;
      await Promise.all(pool.members.map((member) => pool.ask(load, { member })));
      return pool;
    } catch (error) {
      pool.end(error as WattnError);
      throw error;
    }
  }
}
