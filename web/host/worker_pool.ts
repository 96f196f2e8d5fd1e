// A pool of workers that answer requests; web/engine/serve_engine.ts is the other side. Each worker has at most one urgent job and one other,
// and runs a step of each in turn.
import * as errors from '../core/errors.js';
import { describe, InputError, StateError, WattnError } from '../core/errors.js';
import { env } from '../core/env.js';
import { abortable, abortError, onAbort, throwIfAborted } from '../core/signal.js';
import type { AbortSignalLike } from '../core/types.js';
import { platform } from '../source/platform.js';
import { ownFiles } from './own_files.js';
import { compileWasm, fullWasm, wasmIsGiven, wasmIsInside } from './wasm_loader.js';
import type { WorkerHandle } from './worker_port.js';

/** An error as it crosses to the caller. */
export interface Failure {
  name: string;
  message: string;
  url?: string | undefined;
  status?: number | undefined;
}

interface Answered {
  id: number;
  progress?: unknown;
  result?: unknown;
  failure?: Failure;
}

export interface Job<Request> {
  request: Request;
  /** Short: it need not wait for the long ones. */
  urgent: boolean;
  settle: { resolve: (result: any) => void; reject: (error: Error) => void };
  onProgress?: ((info: any) => void) | undefined;
}

export type StartWorker = () => WorkerHandle;

/** How a request is sent: to the given member, or to the first that is idle. */
export interface Sending<Request> {
  member?: Member<Request>;
  onProgress?: ((info: any) => void) | undefined;
  urgent?: boolean;
  signal?: AbortSignalLike | undefined;
}

/** What a pool's owner adds. */
export interface PoolOwner<Request> {
  /** The end of the error for failed workers: '; load the model again'. */
  again: string;
  /** Called with every answer of a job. */
  onAnswer?(member: Member<Request>, request: Request, message: object): void;
  /** Which of several free members takes a job. Default: the first. */
  choose?(free: readonly Member<Request>[], request: Request): Member<Request>;
}

function toError({ name, message, url, status }: Failure): WattnError {
  if (name === 'NetworkError') return new errors.NetworkError(message, url ?? '', status);
  const known = errors as unknown as Record<string, new (message: string) => WattnError>;
  return new (Object.hasOwn(known, name) && name.endsWith('Error') ? known[name]! : StateError)(message);
}

/** One worker and its jobs. */
export class Member<Request> {
  private readonly worker: WorkerHandle;
  private readonly jobs = new Map<number, Job<Request>>();
  private broken: WattnError | undefined;
  private last = 0;

  /** onIdle: called after each job. */
  constructor(
    start: StartWorker,
    owner: PoolOwner<Request>,
    private readonly onIdle: () => void,
  ) {
    this.worker = start();
    this.worker.onMessage((message: Answered) => {
      const job = this.jobs.get(message.id);
      if (!job) return;
      if (message.progress) return this.report(job, message.progress);
      owner.onAnswer?.(this, job.request, message);
      this.jobs.delete(message.id);
      if (this.jobs.size === 0) this.worker.keepAlive(false);
      if (message.failure) job.settle.reject(toError(message.failure));
      else job.settle.resolve(message.result);
      onIdle();
    });
    this.worker.onError((error) => {
      if (this.broken) return; // ended on purpose, or a second report
      const again = () => new StateError(`worker: failed: ${error.message}${owner.again}`, { cause: error });
      this.end(error instanceof WattnError ? error : again());
      onIdle();
    });
  }

  /** Whether it can take a job. */
  isFree(urgent: boolean): boolean {
    return this.broken === undefined && [...this.jobs.values()].every((job) => urgent && !job.urgent);
  }

  get failure(): WattnError | undefined {
    return this.broken;
  }

  run(job: Job<Request>): void {
    if (this.broken) return job.settle.reject(this.broken);
    try {
      this.worker.post({ id: ++this.last, request: job.request });
    } catch (cause) {
      const { message } = Object(cause) as { message?: unknown }; // structured cloning cannot copy it
      job.settle.reject(new InputError(`worker: an argument cannot be sent to a worker: ${String(message ?? cause)}`, { cause }));
      return queueMicrotask(this.onIdle);
    }
    this.jobs.set(this.last, job);
    this.worker.keepAlive(true);
  }

  abort(job: Job<Request>, reason: string): void {
    for (const [id, own] of this.jobs) if (own === job) this.worker.post({ abort: id, reason });
  }

  end(error: WattnError): void {
    this.broken ??= error;
    this.worker.end();
    for (const job of this.jobs.values()) job.settle.reject(this.broken);
    this.jobs.clear();
  }

  /** An exception from the caller's progress_callback ends the loading, as it does without a worker. */
  private report(job: Job<Request>, info: unknown): void {
    try {
      job.onProgress?.(info);
    } catch (error) {
      job.settle.reject(error as Error);
      this.end(new StateError('worker: the progress_callback stopped the loading'));
    }
  }
}

export class WorkerPool<Request> {
  readonly members: Member<Request>[] = [];
  private readonly urgent: Job<Request>[] = [];
  private readonly queue: Job<Request>[] = [];
  private gone: WattnError | undefined;

  constructor(
    start: StartWorker,
    count: number,
    private readonly owner: PoolOwner<Request>,
  ) {
    try {
      while (this.members.length < count) this.members.push(new Member(start, owner, () => this.dispatch()));
    } catch (error) {
      this.end(error as WattnError); // those that did start
      throw error;
    }
  }

  get isOpen(): boolean {
    return this.gone === undefined;
  }

  /** Sends a request, and returns its answer. */
  ask(request: Request, how: Sending<Request>): Promise<any> {
    if (this.gone) throw this.gone;
    throwIfAborted(how.signal);
    let job!: Job<Request>;
    const answer = new Promise(
      (resolve, reject) =>
        (job = { request, urgent: how.urgent ?? false, settle: { resolve, reject }, onProgress: how.onProgress }),
    );
    const end = () => {
      for (const list of [this.urgent, this.queue]) if (list.includes(job)) list.splice(list.indexOf(job), 1);
      const { message } = abortError(how.signal as AbortSignalLike);
      for (const member of this.members) member.abort(job, message);
    };
    const stop = how.signal && onAbort(how.signal, end);
    if (how.member) {
      how.member.run(job);
    } else {
      (how.urgent ? this.urgent : this.queue).push(job);
      this.dispatch();
    }
    return abortable(answer, how.signal).finally(stop);
  }

  end(error: WattnError): void {
    this.gone ??= error instanceof WattnError ? error : new StateError('loading this model failed');
    for (const member of this.members) member.end(this.gone);
    for (const job of [...this.urgent.splice(0), ...this.queue.splice(0)]) job.settle.reject(this.gone);
  }

  private dispatch(): void {
    const broken = this.members.every((member) => member.failure) ? this.members[0]?.failure : undefined;
    if (broken) return this.end(broken);
    for (const list of [this.urgent, this.queue]) {
      for (let member; list.length > 0 && (member = this.freeMember(list[0] as Job<Request>, list === this.urgent));) {
        member.run(list.shift() as Job<Request>);
      }
    }
  }

  private freeMember({ request }: Job<Request>, urgent: boolean): Member<Request> | undefined {
    const free = this.members.filter((member) => member.isFree(urgent));
    return free.length > 1 && this.owner.choose ? this.owner.choose(free, request) : free[0];
  }
}

/** env as a worker can have it. */
export async function toWorkerEnv(where: string): Promise<Partial<typeof env>> {
  const { fetch, wasm, jinja: _jinja, gpu: _gpu, ...rest } = env;
  if (fetch) throw new InputError(`${where}: env.fetch is a function of this thread, which a worker cannot call`);
  const { url } = wasm;
  // One file, with all that is rare where it is inside too: a worker cannot ask for another.
  if (wasmIsInside() && !wasmIsGiven())
    return { ...rest, wasm: { module: (await compileWasm(false, fullWasm() ?? ownFiles)).module } };
  const absolute = url === undefined ? {} : { url: new URL(typeof url === 'string' ? url : url.href, platform.base()).href };
  return { ...rest, wasm: { ...wasm, ...absolute } };
}

const kMostWorkers = 64;

/** A number of workers that is allowed; expected: the words for what else is. */
export function toWorkerCount(where: string, count: unknown, expected = ''): number {
  if (Number.isInteger(count) && (count as number) >= 1 && (count as number) <= kMostWorkers) return count as number;
  throw new InputError(`${where}: expected ${expected}a number from 1 to ${kMostWorkers}, found ${describe(count)}`);
}
