// A loaded model in its WebAssembly instance: loading, and embedding of texts.
import { InputError, UnsupportedError } from '../core/errors.js';
import { dtypeOf } from '../source/bundled_model.js';
import { openGguf, openGgufModel } from '../source/gguf_file.js';
import { loadFrom } from '../source/load_from.js';
import { kGenerationFiles, kSpanConfig, readJson, type NamedBytes, type Progress } from '../source/model_files.js';
import { kSourceRules, openModel } from '../source/model_source.js';
import { openModelFiles, streamWeights } from '../source/weight_files.js';
import { ownCopy, readOptions, type Rules } from '../core/options.js';
import type { ChatTemplates } from '../tokenizer/types.js';
import type { HelpersAnswer, SeamEmbedOptions, LoadedHead, SeamLoadRequest, SeamModel } from '../host/seam.js';
import { SeamHost } from '../host/seam_host.js';
import { jobPace, runJob } from './job.js';
import { abortable, Breather, throwIfAborted } from '../core/signal.js';
import { adapted, runTask, type OnPiece } from './task.js';
import type { AbortSignalLike } from '../core/types.js';
import type { AdaptedEngine, AdapterChange, Adapters, HeldAdapter } from './adapter_types.js';
import type { LoadOptions, MemoryInfo, ModelInfo, PrefixInfo } from './types.js';
import type { ModelSource, OpenFile } from '../source/source.js';
import type { Accelerator } from '../gpu/accelerator.js';
import type { AdaptedBase } from '../source/adapted_base.js';
import type { WeightsAt } from '../source/weights_at.js';
import type { ModelSpecifier } from '../source/types.js';
import { concat } from '../core/texts.js';
import { startHelpers } from '../host/threads.js';
import { fullWasm, type WasmFiles } from '../host/wasm_loader.js';
import { Loading } from './loading.js';

export const kDtypes: readonly unknown[] = ['f32', 'fp32', 'f16', 'q16', 'q8', 'q4'];

export const kLoadRules: Rules = {
  ...kSourceRules,
  dtype: kDtypes as readonly string[],
  prefer: ['packed'],
  route: 'string',
  precision: ['exact', 'fast'],
  threads: 'count',
  context_length: 'count',
  prefix_cache_bytes: 'index',
  kv_cache_dtype: ['f32', 'q8'],
};

export interface EmbedResult {
  data: Float32Array;
  dim: number;
  pooled: boolean;
  tokens: Int32Array; // [texts]
  truncated: boolean[]; // [texts]
  windows: Int32Array; // [texts]
  unknown: number[]; // [texts]
}

/** A loaded model, on this thread or in workers (remote_engine.ts). */
export interface AnyEngine extends AdaptedEngine {
  readonly info: ModelInfo;
  readonly memory: MemoryInfo;
  /** The small files, for fields that are read in JS. */
  readonly files: readonly NamedBytes[];
  chatTemplates?: () => ChatTemplates | null;
  embed(texts: readonly string[], options: SeamEmbedOptions, signal: AbortSignalLike | undefined): Promise<EmbedResult>;
  /** Runs a task on items, with one result each; see task.ts. */
  run(
    task: string,
    items: readonly unknown[],
    options: unknown,
    signal: AbortSignalLike | undefined,
    onPiece?: OnPiece,
  ): Promise<unknown[]>;
  warmup(): Promise<void>;
  dispose(): void;
}

// JavaScript engines first compile WebAssembly without optimising, then optimise busy functions. The warm-up runs texts of two lengths
// until six runs in a row are no faster, at most for this long.
const kWarmupMs = 2000;
const kWarmupTexts = ['warm', 'the quick brown fox jumps over the lazy dog and runs along the river to the old mill by the sea'];

/** Bytes of weights per call: they stay in the CPU's cache, and the engine can switch to optimised code between calls. */
const kPushBytes = 1 << 18;

const nextTask = () => new Promise<void>((resolve) => setTimeout(resolve));

/** Limits of one job. Splitting a call does not change its vectors. */
const kMostTexts = 4096;
const kMostChars = 1 << 22;

/** Called at the beginning of each run of a load; returns what receives the bytes of the weight files once they are accepted. */
type Watch = () => (file: string, chunk: Uint8Array) => void;

/** What a load is asked for. */
export interface LoadRequest {
  /** The function that was called, for messages. */
  where: string;
  model: ModelSpecifier | undefined | null;
  options: LoadOptions;
  /** The head that the checkpoint must contain. */
  head: LoadedHead;
  /** Adapters that are loaded next may have the head. */
  adaptedHead?: boolean;
  /** The model reads no texts, so that it needs no tokenizer. */
  idsOnly?: boolean;
}

interface OwnLoadRequest extends LoadRequest {
  watch?: Watch;
  /** Instead of the entry's own files. */
  wasm?: WasmFiles | undefined;
}

/** The same once its options were read. */
interface Wanted extends OwnLoadRequest {
  gguf: ReturnType<typeof openGguf>;
  /** Whether the head is one that generates text. */
  generates: boolean;
}

const adaptedOf = (options: LoadOptions) => (options as { adapted_base?: AdaptedBase | undefined }).adapted_base;

/** What finish() says of each file: 255, then a number for each tensor. */
function splitHeld(held: Uint8Array, files: number): Uint8Array[] {
  const begins = [...held.keys()].filter((i) => held[i] === 255);
  return Array.from({ length: files }, (_, i) => held.subarray((begins[i] ?? held.length) + 1, begins[i + 1]));
}

/** Heads of transformers alone: Python reads no file of sentence-transformers for them, and a request for one that is not there would show. */
const kOwnHeads: readonly LoadedHead[] = ['token', 'answer', 'masked_lm'];

/** Heads of models that a GPU runs. All but the one over the vocabulary are the processor's, over the GPU's states. */
const kOnDevice: readonly LoadedHead[] = [...kOwnHeads, 'none', 'sequence', 'ranking', 'sparse', 'token_vectors', 'causal_lm'];

const kUnpooled =
  "the files do not say how to pool (no modules.json): a text gives one vector for each token, unless a call sets the option 'pooling'";

/** The adapters of a checkpoint for its own tasks, of which none is active. */
export function heldTasks(tasks: readonly string[], hold: (number: number) => HeldAdapter | undefined): Adapters {
  return { held: new Map(tasks.map((name, i) => [name, hold(i + 1)])), active: false, last: false, own: tasks.length };
}

export class Engine implements AnyEngine {
  /** Resolves once helper threads are running or cannot start. Awaiting it is optional: results are the same. */
  helped: Promise<void> = Promise.resolve();
  adapters?: Adapters;
  chatTemplates?: () => ChatTemplates | null;
  /** What is kept once the model generated, and what the last call had of it. */
  prefixes?: PrefixInfo | undefined;
  /** With the option `device`. */
  gpu?: Accelerator;

  private constructor(
    private readonly host: SeamHost<SeamModel>,
    private readonly about: ModelInfo & { weight_bytes: number; arena_bytes: number; prefix_bytes: number },
    public files: readonly NamedBytes[],
    private readonly endHelpers: () => void,
  ) {}

  static async load(request: OwnLoadRequest): Promise<Engine> {
    const { where, model, head, watch } = request;
    const options = readOptions(where, request.options, {
      ...kLoadRules,
      weights_at: 'any',
      device: 'any',
      adapted_base: 'any',
      makes_copies: 'boolean',
    });
    throwIfAborted(options.signal ?? undefined);
    const generates = head === 'causal_lm' || head === 'seq2seq_lm';
    for (const name of ['context_length', 'prefix_cache_bytes', 'kv_cache_dtype'] as const) {
      if (options[name] && !generates && head !== 'own_lm' && head !== 'ranking')
        throw new InputError(`${where}: option '${name}': expected a model that generates text`);
    }
    const own = openGguf(model, options);
    const gguf = own || !options.prefer ? own : await (await import('../source/packed_file.js')).openPacked(model!, options);
    const dtype = dtypeOf(model, options.dtype);
    const { makes_copies: makes = true } = options as { makes_copies?: boolean };
    const copies = dtype === 'q8' && !watch ? { makes, load: () => import('../source/held_copy.js') } : undefined;
    const given = gguf?.source ?? openModel(model as ModelSpecifier, options, copies);
    const at = (options as { weights_at?: WeightsAt }).weights_at;
    const placed = at ? (await import('../source/weights_at.js')).weightsAt(given, at) : given;
    const base = adaptedOf(options);
    const source = base ? (await import('../source/adapted_base.js')).withTokenizerOf(placed, base, options) : placed;
    const wanted = { ...request, gguf, options: ownCopy({ ...options, dtype }), generates };
    try {
      return await loadFrom(source, options, (...from) => Engine.loadOnce(wanted, ...from));
    } catch (error) {
      if (!(error as { packed?: boolean }).packed) throw error; // of original.ts
      const file = await (await import('../source/packed_file.js')).findPacked(source, options);
      if (!file) throw error;
      const inside = { ...wanted, gguf: { source, file } };
      return await loadFrom(source, options, (...from) => Engine.loadOnce(inside, ...from));
    }
  }

  private static async loadOnce(wanted: Wanted, source: ModelSource, progress: Progress, signal: AbortSignal): Promise<Engine> {
    const { gguf, options, head, generates, watch, wasm, adaptedHead = false, idsOnly = false } = wanted;
    const { context_length, prefix_cache_bytes, kv_cache_dtype, route } = options;
    const retrieves = head === 'token_vectors' || head === 'sparse';
    if (route && (head !== 'none' || gguf))
      throw new InputError(`option 'route': expected 'feature-extraction' and a safetensors model`);
    const { device: asked } = options as LoadOptions;
    const device = kOnDevice.includes(head) ? asked : undefined;
    const isRare = device || retrieves || head === 'spans' || adaptedOf(options)?.full;
    const making = new Loading(options.threads ?? undefined, wasm ?? (isRare ? fullWasm() : undefined));
    let endHelpers = () => {};
    let streamed = false;
    try {
      const openFiles = async () => {
        const few = generates ? kGenerationFiles : head === 'spans' ? [kSpanConfig] : [];
        const ofSentences = !kOwnHeads.includes(head);
        if (head === 'ranking') {
          const { openRanking } = await import('../source/ranking_files.js');
          const kindOf = (config: NamedBytes[]) => making.ask((handle) => handle.describe(config));
          return { from: source, ...(await openRanking(source, progress, signal, kindOf)) };
        }
        if (!retrieves) {
          const routed = route ? await (await import('../source/routes.js')).openRoute(source, progress, signal, route) : undefined;
          const at = routed ?? source;
          return { from: at, ...(await openModelFiles(at, progress, signal, few, idsOnly, ofSentences)) };
        }
        const { openRetrieval } = await import('../source/retrieval_files.js');
        const { source: from, more } = await openRetrieval(source, progress, signal, head === 'token_vectors');
        return { from, ...(await openModelFiles(from, progress, signal, more)) };
      };
      const opening = gguf
        ? openGgufModel(gguf, progress, signal, (bytes) => making.ggufFiles(bytes)).then(async (opened) => ({
            from: retrieves ? (await import('../source/retrieval_files.js')).openPackedLayers(source, opened.files) : source,
            ...opened,
            files: head === 'spans' ? (await import('../source/span_files.js')).fromPacked(opened.files) : opened.files,
          }))
        : openFiles();
      const [, { from, files, single }] = await abortable(Promise.all([making.made(), opening]), signal);
      const precision = options.precision ?? 'exact';
      const own = options.dtype ?? (gguf ? (await import('../source/gguf_header.js')).ownDtype(files[0]![1]) : 'f32');
      const dtype = own === 'fp32' ? 'f32' : own;
      const more = { ...(context_length && { context_length }), prefix_cache_bytes, kv_cache_dtype, ...adaptedOf(options)?.words };
      const request: SeamLoadRequest = ownCopy({ precision, dtype, head, adapted_head: adaptedHead, ...more });
      const { weight_files } = await abortable(
        making.ask((handle) => handle.begin(files, request)),
        signal,
      );
      const { compiled, instance, host: loading, ...plan } = await making.made();
      const room = plan.threads > 1 ? loading.call((handle) => handle.make_room_for_helpers(plan.threads - 1)) : undefined;
      const startTeam = (helpers: HelpersAnswer) => {
        const team = startHelpers(compiled.module, instance, helpers);
        endHelpers = team.end;
        return team.ready;
      };
      const requested = room && options.threads ? startTeam(room) : undefined;
      let file = '';
      const onChunk = watch?.();
      const opened: OpenFile[] = [];
      const sink = {
        begin(name: string, bytes: number, open: OpenFile) {
          file = name;
          opened.push(open);
          loading.call((handle) => handle.begin_weight_file(name, bytes));
        },
        push(chunk: Uint8Array) {
          for (let at = 0; at < chunk.length; at += kPushBytes) {
            loading.call((handle) => handle.push(chunk.subarray(at, at + kPushBytes)));
          }
          onChunk?.(file, chunk);
        },
      };
      await abortable(streamWeights(from, weight_files, single, sink, progress, signal), signal);
      streamed = true;
      const { held } = loading.call((handle) => handle.finish());
      for (const [i, each] of splitHeld(held, opened.length).entries()) opened[i]?.keep?.(each);
      const {
        code: _code,
        message: _message,
        adapters,
        prompt_names,
        prompt_texts,
        ...said
      } = loading.call((handle) => handle.info());
      const prompts = Object.fromEntries(prompt_names.map((name, i) => [name, prompt_texts[i] as string]));
      const info = { ...said, prompts };
      const tasks = adapters > 0 ? (readJson(files, 'config.json')?.lora_adaptations as string[]) : undefined;
      const build_id = instance.seam.build_id();
      const why = plan.reason === undefined ? {} : { threads_reason: plan.reason };
      const dtypeAsked = (options as { weights_at?: WeightsAt }).weights_at?.dtype_asked;
      const unpooled = info.pooled || info.head !== 'none' || retrieves ? {} : { pooled_reason: kUnpooled };
      const about = {
        ...info,
        ...unpooled,
        ...(tasks && { tasks }),
        dtype,
        ...(dtypeAsked && { dtype_asked: dtypeAsked }),
        ...(source.replaces && { original: source.name }),
        ...(from.routes && { route: from.routes.own, routes: { query: from.routes.query, document: from.routes.document } }),
        precision,
        wasm: compiled.kind,
        threads: 1,
        ...why,
        ...(asked && { device: 'wasm' as const, device_reason: 'this task runs on the processor' }),
        workers: 0,
        build_id,
      };
      const engine = new Engine(loading, about, files, () => endHelpers());
      if (tasks) engine.adapters = heldTasks(tasks, (number) => ({ number, files }));
      const use = (reason: string | undefined) => engine.useHelpers(plan.threads, reason);
      if (requested) await abortable((engine.helped = requested.then(use)), signal);
      // By default threads start afterwards: their start takes longer than a first text without them.
      else if (room) engine.helped = nextTask().then(() => (loading.isOpen ? startTeam(room).then(use) : undefined));
      if (device) {
        const { accelerated } = await abortable(import('../gpu/accelerated.js'), signal);
        engine.gpu = await abortable(accelerated(engine, { device, head, kv_cache_dtype, idsOnly }, engine.helped), signal);
      }
      progress.ready();
      throwIfAborted(signal);
      return engine;
    } catch (error) {
      endHelpers();
      making.release();
      // Only the last weights show some of what the small one does not support, such as an output that is not tied.
      const full = streamed && error instanceof UnsupportedError ? making.fuller() : undefined;
      if (!full) throw error;
      progress.restart();
      return Engine.loadOnce({ ...wanted, wasm: full }, source, progress, signal);
    }
  }

  get isOpen(): boolean {
    return this.host.isOpen;
  }

  private useHelpers(threads: number, reason: string | undefined): void {
    if (!this.host.isOpen) return;
    if (reason !== undefined) {
      this.about.threads_reason = reason;
    } else {
      this.call((handle) => handle.use_helpers(threads - 1));
      this.about.threads = threads;
    }
  }

  get info(): ModelInfo {
    const { weight_bytes: _weights, arena_bytes: _arena, prefix_bytes: _prefixes, ...info } = this.about;
    return {
      ...info,
      prompts: { ...info.prompts },
      ...(this.gpu && { device_reason: undefined, ...this.gpu.facts }),
      ...(this.prefixes && { prefixes: this.prefixes }),
    };
  }

  get memory(): MemoryInfo {
    const { weight_bytes: weights, arena_bytes: activations, prefix_bytes: prefixes } = this.about;
    return { weights, activations, ...(prefixes && { prefixes }), total: weights + activations + prefixes };
  }

  /** Calls a method of the handle and throws its error, if any. */
  call<A extends { code: number; message: string }>(run: (handle: SeamModel) => A): A {
    return this.host.call(run);
  }

  async adapt(change: AdapterChange): Promise<void> {
    this.gpu?.stop('an adapter was loaded');
    (await import('./adapters.js')).adapt(this, change);
  }

  measure(): void {
    this.about.weight_bytes = this.call((handle) => handle.info()).weight_bytes;
  }

  dispose(): void {
    this.endHelpers();
    this.gpu?.stop('this model was disposed');
    this.host.release();
  }

  async warmup(): Promise<void> {
    await this.helped;
    const breather = new Breather();
    const begin = performance.now();
    let best = Infinity;
    for (let stale = 0; stale < 6 && performance.now() - begin < kWarmupMs; ++stale) {
      const start = performance.now();
      for (const text of kWarmupTexts) await this.embed([text], { pooling: [] }, undefined);
      const took = performance.now() - start;
      if (took < 0.97 * best) stale = -1;
      best = Math.min(best, took);
      await breather.breathe(undefined);
    }
  }

  run(
    task: string,
    items: readonly unknown[],
    options: unknown,
    signal: AbortSignalLike | undefined,
    onPiece?: OnPiece,
  ): Promise<unknown[]> {
    return runTask(this, task, items, options, { first: 0, signal, onPiece });
  }

  /** Embeds texts, in as many jobs as needed. */
  async embed(texts: readonly string[], options: SeamEmbedOptions, signal: AbortSignalLike | undefined): Promise<EmbedResult> {
    const engine = await adapted(this, options);
    const { first_text = 0, adapter: _adapter, ...rest } = ownCopy(options);
    const pace = jobPace();
    const parts: Float32Array[] = [];
    const tokens = new Int32Array(texts.length);
    const truncated: boolean[] = [];
    const windows = new Int32Array(texts.length);
    const unknown: number[] = [];
    let last: { dim: number; pooled: boolean } | undefined;
    let begin = 0;
    do {
      const end = jobEnd(texts, begin);
      const some = end - begin === texts.length ? texts : texts.slice(begin, end);
      const first = first_text + begin;
      const answer = await runJob(engine, pace, signal, (handle, steps) => handle.embed(some, rest, first, steps));
      parts.push(answer.data);
      tokens.set(answer.tokens, begin);
      windows.set(answer.windows, begin);
      answer.tokens.forEach((ran, i) => truncated.push((answer.untruncated[i] as number) > ran));
      answer.unknown.forEach((share) => unknown.push(share));
      last = answer;
      begin = end;
    } while (begin < texts.length);
    return { data: concat(Float32Array, parts), dim: last.dim, pooled: last.pooled, tokens, truncated, windows, unknown };
  }
}

function jobEnd(texts: readonly string[], begin: number): number {
  let chars = 0;
  let end = begin;
  while (end < texts.length && end < begin + kMostTexts) {
    chars += (texts[end] as string).length;
    if (end > begin && chars > kMostChars) break;
    ++end;
  }
  return end;
}
