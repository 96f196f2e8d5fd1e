// Worker mode: an engine in one or several workers, used by messages (serve_engine.ts is the other side). Calls are split into jobs of a
// fraction of a second, so that short calls need not wait for long ones and signals take effect soon.
import { plainCallback } from '../core/callback.js';
import { bundledModel, dtypeOf, packagedModel } from '../source/bundled_model.js';
import { heldTasks, type AnyEngine, type EmbedResult, type LoadRequest } from './engine.js';
import type { AdapterChange, Adapters } from './adapter_types.js';
import type { Request } from './worker_protocol.js';
import { StateError, type WattnError } from '../core/errors.js';
import { platform } from '../source/platform.js';
import type { SeamEmbedOptions } from '../host/seam.js';
import { throwIfAborted } from '../core/signal.js';
import { concat } from '../core/texts.js';
import { PromptsRead } from './prompts_read.js';
import { sizeOf, type OnPiece, type Piece } from './task.js';
import type { AbortSignalLike } from '../core/types.js';
import type { LoadOptions, MemoryInfo, ModelInfo, PrefixInfo } from './types.js';
import type { AdaptedBase } from '../source/adapted_base.js';
import type { ModelSpecifier, ProgressInfo } from '../source/types.js';
import { wasmIsInside } from '../host/wasm_loader.js';
import { toWorkerCount, toWorkerEnv, WorkerPool, type Member, type Sending, type StartWorker } from '../host/worker_pool.js';
import { workers } from '../host/workers.js';

// Limits of one job: a few micro-batches, so that a call with several hundred texts keeps every worker of a pool busy.
const kJobTexts = 32;
const kJobChars = 4000;

/** What a worker has read and keeps of prompts, which only generation does. */
interface Kept {
  read: PromptsRead;
  prefixes?: PrefixInfo | undefined;
}

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

/** How many workers the option asks for. */
const toCount = (where: string, worker: unknown): number =>
  worker === true ? 1 : toWorkerCount(`${where}: option 'worker'`, worker, 'true, false or ');

export class RemoteEngine implements AnyEngine {
  adapters?: Adapters;
  private about!: { info: ModelInfo; memory: MemoryInfo; files: AnyEngine['files'] };
  private readonly pool: WorkerPool<Request>;
  private readonly kept = new Map<Member<Request>, Kept>();

  private constructor(start: StartWorker, count: number) {
    this.pool = new WorkerPool(start, count, {
      again: '; load the model again',
      onAnswer: (member, request, { prefixes }: { prefixes?: PrefixInfo }) => {
        const kept = this.keptOf(member);
        kept.prefixes = prefixes;
        if (prefixes && request.type === 'task') kept.read.add(request.items);
      },
      // The worker that has read most of the prompts' beginnings.
      choose: (free, request) => {
        const read = free.map((member) => (request.type === 'task' ? this.keptOf(member).read.shared(request.items) : 0));
        return free[read.indexOf(Math.max(...read))] as Member<Request>;
      },
    });
  }

  private keptOf(member: Member<Request>): Kept {
    let kept = this.kept.get(member);
    if (!kept) this.kept.set(member, (kept = { read: new PromptsRead() }));
    return kept;
  }

  static async load(
    { where, model, options, head, adaptedHead = false, idsOnly = false }: LoadRequest,
    worker: unknown,
    start: StartWorker = () => workers.start('engine'),
  ): Promise<RemoteEngine> {
    const { progress_callback, signal, worker: _worker, ...rest } = options;
    throwIfAborted(signal ?? undefined);
    const settings = await toWorkerEnv(`${where}: option 'worker'`);
    const count = toCount(where, worker);
    const engine = new RemoteEngine(start, count);
    const load = (member: Member<Request>, makes_copies: boolean, onProgress: ((info: ProgressInfo) => void) | undefined) =>
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
      for (const [i, member] of engine.pool.members.entries()) {
        const isLast = i + 1 === count; // the file may go once there is a copy of it
        const loaded = await load(member, isLast, i === 0 && progress_callback ? plainCallback(progress_callback) : undefined);
        if (i === 0) engine.about = loaded;
      }
      const { tasks } = engine.info;
      if (tasks) engine.adapters = heldTasks(tasks, () => undefined);
      return engine;
    } catch (error) {
      engine.pool.end(error as WattnError);
      throw error;
    }
  }

  get info(): ModelInfo {
    const { info } = this.about;
    const prefixes = sumOf([...this.kept.values()].flatMap((kept) => kept.prefixes ?? []));
    return { ...info, prompts: { ...info.prompts }, workers: this.pool.members.length, ...(prefixes && { prefixes }) };
  }

  /** The sum over all workers. */
  get memory(): MemoryInfo {
    const count = this.pool.members.length;
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
      Promise.allSettled(this.pool.members.map((member) => this.ask({ type: 'adapt', change }, { member })));
    const answers = await ask(change);
    for (const answer of answers) {
      if (answer.status === 'fulfilled') this.about.memory = answer.value;
    }
    const failed = answers.find((answer) => answer.status === 'rejected');
    if (!failed) return;
    if (change.action === 'load' && this.pool.isOpen) await ask({ action: 'delete', name: change.name });
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
      return (await Promise.all(this.pool.members.map((member) => this.ask(request, { member, signal })))).flat();
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
    await Promise.all(this.pool.members.map(() => this.ask({ type: 'warmup' }, {}))); // each runs long enough that every worker gets one
  }

  dispose(): void {
    this.pool.end(new StateError('this model was disposed'));
  }

  private ask(request: Request, how: Sending<Request>): Promise<any> {
    return this.pool.ask(request, how);
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
