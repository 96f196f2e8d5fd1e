// Worker mode: an engine in one or several workers, used by messages (serve_engine.ts is the other side). Calls are split into jobs of a
// fraction of a second, so that short calls need not wait for long ones and signals take effect soon.
import { plainCallback } from '../core/callback.js';
import { bundledModel, dtypeOf, packagedModel } from '../source/bundled_model.js';
import { heldTasks, type AnyEngine, type EmbedResult, type LoadRequest } from './engine.js';
import type { AdapterChange, Adapters } from './adapter_types.js';
import type { Failure, Request } from './worker_protocol.js';
import { env } from '../core/env.js';
import * as errors from '../core/errors.js';
import { describe, InputError, StateError, WattnError } from '../core/errors.js';
import { platform } from '../source/platform.js';
import type { SeamEmbedOptions } from '../host/seam.js';
import { abortable, abortError, onAbort, throwIfAborted } from '../core/signal.js';
import { concat } from '../core/texts.js';
import { PromptsRead } from './prompts_read.js';
import { sizeOf, type OnPiece, type Piece } from './task.js';
import type { AbortSignalLike } from '../core/types.js';
import type { LoadOptions, MemoryInfo, ModelInfo, PrefixInfo } from './types.js';
import type { AdaptedBase } from '../source/adapted_base.js';
import type { ModelSpecifier, ProgressInfo } from '../source/types.js';
import { ownFiles } from '../host/own_files.js';
import { compileWasm, fullWasm, wasmIsGiven, wasmIsInside } from '../host/wasm_loader.js';
import type { WorkerHandle } from '../host/worker_port.js';
import { workers } from '../host/workers.js';

// Limits of one job: a few micro-batches, so that a call with several hundred texts keeps every worker of a pool busy.
const kJobTexts = 32;
const kJobChars = 4000;

function toError({ name, message, url, status }: Failure): WattnError {
  if (name === 'NetworkError') return new errors.NetworkError(message, url ?? '', status);
  const known = errors as unknown as Record<string, new (message: string) => WattnError>;
  return new (Object.hasOwn(known, name) && name.endsWith('Error') ? known[name]! : StateError)(message);
}

interface Answered {
  id: number;
  progress?: ProgressInfo;
  result?: unknown;
  failure?: Failure;
  prefixes?: PrefixInfo | undefined;
}

interface Job {
  request: Request;
  /** Short: it need not wait for the long ones. */
  urgent: boolean;
  settle: { resolve: (result: any) => void; reject: (error: Error) => void };
  onProgress?: ((info: any) => void) | undefined;
}

/** One worker and its jobs: at most one that is urgent and one that is not, of which the worker runs a step each in turn. */
class Member {
  private readonly worker: WorkerHandle;
  private readonly jobs = new Map<number, Job>();
  private broken: WattnError | undefined;
  private last = 0;
  private readonly read = new PromptsRead();
  /** What its engine keeps of prompts; undefined: it has generated nothing. */
  prefixes: PrefixInfo | undefined;

  /** onIdle: called after each job. */
  constructor(
    start: StartWorker,
    private readonly onIdle: () => void,
  ) {
    this.worker = start();
    this.worker.onMessage((message: Answered) => {
      const job = this.jobs.get(message.id);
      if (!job) return;
      if (message.progress) return this.report(job, message.progress);
      this.prefixes = message.prefixes;
      if (this.prefixes && job.request.type === 'task') this.read.add(job.request.items);
      this.jobs.delete(message.id);
      if (this.jobs.size === 0) this.worker.keepAlive(false);
      if (message.failure) job.settle.reject(toError(message.failure));
      else job.settle.resolve(message.result);
      onIdle();
    });
    this.worker.onError((error) => {
      if (this.broken) return; // ended on purpose, or a second report
      const again = () => new StateError(`worker: failed: ${error.message}; load the model again`, { cause: error });
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

  /** How much of a job's prompts it has read before. */
  familiarity({ request }: Job): number {
    return request.type === 'task' ? this.read.shared(request.items) : 0;
  }

  run(job: Job): void {
    if (this.broken) return job.settle.reject(this.broken);
    try {
      this.worker.post({ id: ++this.last, request: job.request });
    } catch (cause) {
      const { message } = Object(cause) as { message?: unknown }; // structured cloning cannot copy it
      job.settle.reject(
        new InputError(`worker: what was given cannot be sent to a worker: ${String(message ?? cause)}`, { cause }),
      );
      return queueMicrotask(this.onIdle);
    }
    this.jobs.set(this.last, job);
    this.worker.keepAlive(true);
  }

  abort(job: Job, reason: string): void {
    for (const [id, own] of this.jobs) if (own === job) this.worker.post({ abort: id, reason });
  }

  end(error: WattnError): void {
    this.broken ??= error;
    this.worker.end();
    for (const job of this.jobs.values()) job.settle.reject(this.broken);
    this.jobs.clear();
  }

  /** An exception from the caller's progress_callback ends the loading, as it does without a worker. */
  private report(job: Job, info: ProgressInfo): void {
    try {
      job.onProgress?.(info);
    } catch (error) {
      job.settle.reject(error as Error);
      this.end(new StateError('worker: the progress_callback ended the loading'));
    }
  }
}

type StartWorker = () => WorkerHandle;

/** The model argument in a form that structured cloning supports. */
function toCloneable(model: ModelSpecifier | undefined | null): ModelSpecifier {
  const isUrl = Object.prototype.toString.call(model) === '[object URL]';
  if (isUrl) return (model as { href: string }).href;
  if (typeof model !== 'string' || !/^\.{0,2}\//.test(model)) return model as ModelSpecifier;
  // Relative to the page: the worker's script has another URL.
  const base = platform.base();
  return base === undefined || base.startsWith('file:') ? model : new URL(model, base).href;
}

function toCloneableBase(options: LoadOptions): { adapted_base?: AdaptedBase } {
  const { adapted_base: base } = options as { adapted_base?: AdaptedBase };
  return base ? { adapted_base: { ...base, tokenizer: base.tokenizer && toCloneable(base.tokenizer) } } : {};
}

async function toWorkerEnv(where: string): Promise<Partial<typeof env>> {
  const { fetch, wasm, jinja: _jinja, gpu: _gpu, ...rest } = env;
  if (fetch) throw new InputError(`${where}: option 'worker': env.fetch is a function of this thread, which a worker cannot call`);
  const { url } = wasm;
  // One file, with all that is rare where it is inside too: a worker cannot ask for another.
  if (wasmIsInside() && !wasmIsGiven())
    return { ...rest, wasm: { module: (await compileWasm(false, fullWasm() ?? ownFiles)).module } };
  const absolute = url === undefined ? {} : { url: new URL(typeof url === 'string' ? url : url.href, platform.base()).href };
  return { ...rest, wasm: { ...wasm, ...absolute } };
}

const kMostWorkers = 64;

/** How many workers the option asks for. */
function toCount(where: string, worker: unknown): number {
  if (worker === true) return 1;
  if (Number.isInteger(worker) && (worker as number) >= 1 && (worker as number) <= kMostWorkers) return worker as number;
  throw new InputError(
    `${where}: option 'worker': expected true, false or a number from 1 to ${kMostWorkers}, found ${describe(worker)}`,
  );
}

export class RemoteEngine implements AnyEngine {
  private readonly urgent: Job[] = [];
  private readonly queue: Job[] = [];
  private gone: WattnError | undefined;
  adapters?: Adapters;
  private about!: { info: ModelInfo; memory: MemoryInfo; files: AnyEngine['files'] };
  private readonly members: Member[];

  private constructor(start: StartWorker, count: number) {
    const members: Member[] = [];
    this.members = members;
    try {
      while (members.length < count) members.push(new Member(start, () => this.dispatch()));
    } catch (error) {
      this.end(error as WattnError); // those that did start
      throw error;
    }
  }

  static async load(
    { where, model, options, head, adaptedHead = false, idsOnly = false }: LoadRequest,
    worker: unknown,
    start: StartWorker = () => workers.start('engine'),
  ): Promise<RemoteEngine> {
    const { progress_callback, signal, worker: _worker, ...rest } = options;
    throwIfAborted(signal ?? undefined);
    const settings = await toWorkerEnv(where);
    const count = toCount(where, worker);
    const engine = new RemoteEngine(start, count);
    const load = (member: Member, makes_copies: boolean, onProgress: ((info: ProgressInfo) => void) | undefined) =>
      engine.ask(
        {
          type: 'load',
          where,
          model: toCloneable(packagedModel(model) ?? (wasmIsInside() ? bundledModel().href : model)), // its script has no URL
          head,
          adaptedHead,
          idsOnly,
          options: {
            threads: count > 1 ? 1 : undefined,
            ...rest,
            ...toCloneableBase(rest),
            dtype: dtypeOf(model, options.dtype),
            makes_copies,
          } as LoadOptions,
          env: settings,
          progress: onProgress !== undefined,
        },
        { member, onProgress, signal: signal ?? undefined },
      );
    try {
      // In sequence: the browser's cache has the first worker's downloads for the next ones.
      for (const [i, member] of engine.members.entries()) {
        const isLast = i + 1 === count; // the file may go once there is a copy of it
        const loaded = await load(member, isLast, i === 0 && progress_callback ? plainCallback(progress_callback) : undefined);
        if (i === 0) engine.about = loaded;
      }
      const { tasks } = engine.info;
      if (tasks) engine.adapters = heldTasks(tasks, () => undefined);
      return engine;
    } catch (error) {
      engine.end(error as WattnError);
      throw error;
    }
  }

  get info(): ModelInfo {
    const { info } = this.about;
    const prefixes = sumOf(this.members.flatMap((member) => member.prefixes ?? []));
    return { ...info, prompts: { ...info.prompts }, workers: this.members.length, ...(prefixes && { prefixes }) };
  }

  /** The sum over all workers. */
  get memory(): MemoryInfo {
    const count = this.members.length;
    return Object.fromEntries(
      Object.entries(this.about.memory).map(([key, bytes]) => [key, count * bytes]),
    ) as unknown as MemoryInfo;
  }

  get files(): AnyEngine['files'] {
    return this.about.files;
  }

  /** In every worker, or in none. */
  async adapt(change: AdapterChange): Promise<void> {
    const ask = (change: AdapterChange) =>
      Promise.allSettled(this.members.map((member) => this.ask({ type: 'adapt', change }, { member })));
    const answers = await ask(change);
    for (const answer of answers) {
      if (answer.status === 'fulfilled') this.about.memory = answer.value;
    }
    const failed = answers.find((answer) => answer.status === 'rejected');
    if (!failed) return;
    if (change.action === 'load' && !this.gone) await ask({ action: 'delete', name: change.name });
    throw failed.reason;
  }

  async embed(texts: readonly string[], options: SeamEmbedOptions, signal: AbortSignalLike | undefined): Promise<EmbedResult> {
    const jobs: Promise<EmbedResult>[] = [];
    const ends = jobEnds(texts.map(sizeOf));
    const urgent = isShort(texts.map(sizeOf));
    let begin = 0;
    for (const end of ends) {
      const request: Request = { type: 'embed', texts: texts.slice(begin, end), options: { ...options, first_text: begin } };
      jobs.push(this.ask(request, { urgent, signal }));
      begin = end;
    }
    const parts = await Promise.all(jobs);
    const { dim, pooled } = parts[0] as EmbedResult;
    return {
      data: concat(
        Float32Array,
        parts.map((part) => part.data),
      ),
      dim,
      pooled,
      tokens: Int32Array.from(parts.flatMap((part) => [...part.tokens])),
      windows: Int32Array.from(parts.flatMap((part) => [...part.windows])),
      truncated: parts.flatMap((part) => part.truncated),
      unknown: parts.flatMap((part) => part.unknown),
    };
  }

  async run(
    task: string,
    items: readonly unknown[],
    options: unknown,
    signal: AbortSignalLike | undefined,
    onPiece?: OnPiece,
  ): Promise<unknown[]> {
    // What is kept of calls is kept in every worker.
    if (task === 'load_prefix' || task === 'release_prefix') {
      const request: Request = { type: 'task', task, items: [...items], options, first: 0, pieces: false };
      return (await Promise.all(this.members.map((member) => this.ask(request, { member, signal })))).flat();
    }
    const ends = jobEnds(items.map(sizeOf));
    const urgent = isShort(items.map(sizeOf));
    const jobs = ends.map((end, i) => {
      const first = ends[i - 1] ?? 0;
      const request: Request = { type: 'task', task, items: items.slice(first, end), options, first, pieces: !!onPiece };
      const onProgress = onPiece && ((piece: Piece) => onPiece({ ...piece, prompt: first + piece.prompt }));
      return this.ask(request, { urgent, signal, onProgress });
    });
    return (await Promise.all(jobs)).flat();
  }

  async warmup(): Promise<void> {
    await Promise.all(this.members.map(() => this.ask({ type: 'warmup' }, {}))); // each runs long enough that every worker gets one
  }

  dispose(): void {
    this.end(new StateError('this model was disposed'));
  }

  /** Sends a request to the given member, or to the first idle one, and returns its answer. */
  private ask(
    request: Request,
    how: {
      member?: Member;
      onProgress?: ((info: any) => void) | undefined;
      urgent?: boolean;
      signal?: AbortSignalLike | undefined;
    },
  ): Promise<any> {
    if (this.gone) throw this.gone;
    throwIfAborted(how.signal);
    let job!: Job;
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

  private dispatch(): void {
    const broken = this.members.every((member) => member.failure) ? this.members[0]?.failure : undefined;
    if (broken) return this.end(broken);
    for (const list of [this.urgent, this.queue]) {
      for (let member; list.length > 0 && (member = this.freeMember(list[0] as Job, list === this.urgent));) {
        member.run(list.shift() as Job);
      }
    }
  }

  /** The worker that has read most of a job's prompts' beginnings, among those that can take it; else the first of them. */
  private freeMember(job: Job, urgent: boolean): Member | undefined {
    const free = this.members.filter((member) => member.isFree(urgent));
    if (free.length < 2) return free[0];
    const read = free.map((member) => member.familiarity(job));
    return free[read.indexOf(Math.max(...read))];
  }

  private end(error: WattnError): void {
    this.gone ??= error instanceof WattnError ? error : new StateError('loading this model failed');
    for (const member of this.members) member.end(this.gone);
    for (const job of [...this.urgent.splice(0), ...this.queue.splice(0)]) job.settle.reject(this.gone);
  }
}

/** The sum of what workers keep; undefined: none has generated. */
function sumOf([first, ...rest]: readonly PrefixInfo[]): PrefixInfo | undefined {
  if (!first) return undefined;
  const add = ([key, value]: [string, number]) => [key, rest.reduce((sum, other) => sum + other[key as keyof PrefixInfo], value)];
  return Object.fromEntries(Object.entries(first).map(add)) as PrefixInfo;
}

/** Whether a call's texts are few and short. */
const isShort = (sizes: readonly number[]): boolean =>
  sizes.length <= kJobTexts && sizes.reduce((sum, size) => sum + size, 0) <= kJobChars;

/** The ends of a call's jobs; at least one job. */
function jobEnds(sizes: readonly number[]): number[] {
  const ends: number[] = [];
  let chars = 0;
  let begin = 0;
  sizes.forEach((size, i) => {
    chars += size;
    if (i > begin && (i - begin === kJobTexts || chars > kJobChars)) {
      ends.push(i);
      begin = i;
      chars = size;
    }
  });
  return [...ends, sizes.length];
}
