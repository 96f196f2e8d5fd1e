// Texts of many requests in few calls of the model. No request waits for others to come: a call takes what came while the last one ran.
import { abortError, onAbort } from '../core/signal.js';
import { AbortError, StateError } from '../core/errors.js';

/** A text's answer. */
export interface Answer<Result> {
  result: Result;
  tokens: number;
  /** Whether the text was too long, and its end was left out. */
  truncated: boolean;
}

/** One call of the model. */
export type RunBatch<Item, Options, Result> = (
  items: readonly Item[],
  options: Options,
  signal: AbortSignal,
) => Promise<Answer<Result>[]>;

export interface BatchSettings<Item> {
  /** Tokens of a call, at most; a single text may have more. */
  tokens: number;
  /** Calls at a time. */
  calls: number;
  /** How many tokens a text is taken for. */
  sizeOf(item: Item): number;
  /** Told of each call. */
  onCall?(items: number, tokens: number): void;
}

/** What one request asks for. */
interface Job<Item, Options, Result> {
  items: readonly Item[];
  options: Options;
  /** Jobs of one key may share a call. */
  key: string;
  answers: Answer<Result>[];
  /** The first item that no call has taken. */
  next: number;
  /** Items without an answer. */
  left: number;
  isGone: boolean;
  resolve(answers: Answer<Result>[]): void;
  reject(error: unknown): void;
}

/** A job's items of one call. */
interface Part<Item, Options, Result> {
  job: Job<Item, Options, Result>;
  begin: number;
  end: number;
}

interface Call<Item, Options, Result> {
  parts: readonly Part<Item, Options, Result>[];
  controller: AbortController;
}

let keys = 0;

export class Batches<Item, Options extends object, Result> {
  private readonly jobs: Job<Item, Options, Result>[] = [];
  private readonly calls = new Set<Call<Item, Options, Result>>();
  private isPlanned = false;

  constructor(
    private readonly run: RunBatch<Item, Options, Result>,
    private readonly settings: BatchSettings<Item>,
  ) {}

  /** Requests of which some text waits for a call. */
  get waiting(): number {
    return this.jobs.length;
  }

  /** The answers of a request's items, in their order. options: plain data. alone: shares its calls with no other request. */
  ask(items: readonly Item[], options: Options, signal: AbortSignal, alone = false): Promise<Answer<Result>[]> {
    if (signal.aborted) return Promise.reject(abortError(signal));
    let job!: Job<Item, Options, Result>;
    const answers = new Promise<Answer<Result>[]>((resolve, reject) => {
      const key = alone ? `alone ${++keys}` : JSON.stringify(options);
      job = { items, options, key, answers: [], next: 0, left: items.length, isGone: false, resolve, reject };
    });
    if (items.length === 0) return Promise.resolve([]);
    this.jobs.push(job);
    this.plan();
    const stop = onAbort(signal, () => this.leave(job, abortError(signal)));
    return answers.finally(stop);
  }

  /** After all requests that have arrived by now were read. */
  private plan(): void {
    if (this.isPlanned) return;
    this.isPlanned = true;
    setImmediate(() => {
      this.isPlanned = false;
      while (this.jobs.length > 0 && this.calls.size < this.settings.calls) void this.call(this.take());
    });
  }

  /** The parts of the next call: of the first job, and of those after it that may share its call. */
  private take(): Part<Item, Options, Result>[] {
    const { key } = this.jobs[0] as Job<Item, Options, Result>;
    const parts: Part<Item, Options, Result>[] = [];
    let tokens = 0;
    for (const job of this.jobs.filter((each) => each.key === key)) {
      const begin = job.next;
      while (job.next < job.items.length) {
        const size = this.settings.sizeOf(job.items[job.next] as Item);
        const isFirst = parts.length === 0 && job.next === begin;
        if (!isFirst && tokens + size > this.settings.tokens) break;
        tokens += size;
        ++job.next;
      }
      if (job.next === begin) break;
      parts.push({ job, begin, end: job.next });
      this.jobs.splice(this.jobs.indexOf(job), 1);
      if (job.next < job.items.length) this.jobs.push(job); // others come before the rest of a long one
    }
    return parts;
  }

  private async call(parts: readonly Part<Item, Options, Result>[]): Promise<void> {
    const call = { parts, controller: new AbortController() };
    this.calls.add(call);
    try {
      await this.answer(call, parts);
    } finally {
      this.calls.delete(call);
      this.plan();
    }
  }

  /** Where a call of several requests fails, each is asked for again, so that the one to blame fails alone. */
  private async answer(call: Call<Item, Options, Result>, parts: readonly Part<Item, Options, Result>[]): Promise<void> {
    const here = parts.filter(({ job }) => !job.isGone);
    const [first] = here;
    if (!first) return;
    try {
      const items = here.flatMap(({ job, begin, end }) => job.items.slice(begin, end));
      const answers = await this.run(items, first.job.options, call.controller.signal);
      this.settings.onCall?.(
        items.length,
        answers.reduce((sum, { tokens }) => sum + tokens, 0),
      );
      let at = 0;
      for (const { job, begin, end } of here) {
        for (let i = begin; i < end; ++i) job.answers[i] = answers[at++] as Answer<Result>;
        job.left -= end - begin;
        if (job.left === 0) job.resolve(job.answers);
      }
    } catch (error) {
      if (here.length > 1 && !(error instanceof StateError) && !(error instanceof AbortError)) {
        for (const part of here) await this.answer(call, [part]);
        return;
      }
      for (const { job } of here) this.leave(job, error);
    }
  }

  /** Ends a job. A call whose requests have all gone ends, too. */
  private leave(job: Job<Item, Options, Result>, error: unknown): void {
    job.isGone = true;
    if (this.jobs.includes(job)) this.jobs.splice(this.jobs.indexOf(job), 1);
    job.reject(error);
    for (const { parts, controller } of this.calls) {
      if (parts.every((part) => part.job.isGone)) controller.abort(new Error('no request waits for the answer'));
    }
  }
}
