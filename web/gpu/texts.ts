// Jobs over texts on a GPU, which computes states or pooled vectors. Everything before and after is the processor's.
import { abortable, Pace, throwIfAborted } from '../core/signal.js';
import type { AbortSignalLike } from '../core/types.js';
import type { DeviceBatchAnswer, ForwardResult, JobAnswer, PoolingMode } from '../host/seam.js';
import { Accelerator, best, kMostLost, type How, type Owner } from './accelerator.js';
import { positionsOf, windowsOf, type Sequences } from './batch.js';
import { sequencesOfPass, type Pass } from './forward.js';
import type { Program } from './program.js';
import { beginProbe, kProbes, probesOf, prove, provePooling, referenceOf, type Proof } from './proof.js';
import type { GpuFacts } from './types.js';

/** Bytes of a step's states. */
const kMostRows = 64 << 20;

/** How many texts a timing runs, with `device: 'auto'`. */
const kTimedTexts = 12;

/** Milliseconds of a batch on the GPU, so that what draws the page gets its turn. */
const kBatchMs = 30;
const kLeastTokens = 512;
/** Batches that are in the queue together. */
const kInFlight = 2;
const kProcessorMs = 100;

export class TextAccelerator extends Accelerator {
  private proven = new Map<string, Promise<void>>();
  private tokens = kLeastTokens;

  /** modes: how it is mostly pooled; empty: heads read all states. */
  constructor(
    owner: Owner,
    how: How,
    private readonly modes: readonly PoolingMode[],
  ) {
    super(owner, how, false);
  }

  protected async prove(program: Program, q8: boolean): Promise<Proof> {
    this.proven = new Map();
    const { plan, owner, how } = this;
    const own = how.idsOnly ? probesOf(how.vocab, plan) : undefined;
    return prove(
      program,
      plan,
      referenceOf(plan, q8, (run) => owner.call(run), own),
    );
  }

  /** A DeviceError unless pooling is right on this device; proven once. */
  private provePooling(program: Program, modes: readonly PoolingMode[]): Promise<void> {
    const key = modes.join();
    let proof = this.proven.get(key);
    if (!proof) {
      proof = modes.length > 0 ? provePooling(program, modes, this.plan, (run) => this.owner.call(run)) : Promise.resolve();
      this.proven.set(key, proof);
    }
    return proof;
  }

  protected async time(program: Program): Promise<Required<GpuFacts>['timing']> {
    const { owner, modes } = this;
    if (this.how.idsOnly) return this.timeOfPasses(program);
    const texts = Array.from({ length: kTimedTexts }, () => kProbes[kProbes.length - 1]!);
    const { job, batch } = beginProbe((run) => owner.call(run), texts);
    try {
      const few = await best(() => program.run(windowsOf(batch, 0, 1), modes));
      const many = await best(() => program.run(windowsOf(batch, 0, kTimedTexts), modes));
      const processor = await best(() => owner.call((handle) => handle.device_rows(job, 0, kTimedTexts)));
      return { tokens: batch.ids.length, few, many, processor };
    } finally {
      owner.call((handle) => handle.cancel(job));
    }
  }

  /** The same for passes over ids. */
  private async timeOfPasses(program: Program): Promise<Required<GpuFacts>['timing']> {
    const { owner, plan, how } = this;
    const { ids, starts } = probesOf(how.vocab, plan);
    const own = ids.subarray(starts.at(-2));
    const copies = (count: number): Sequences => ({
      ids: Int32Array.from({ length: count * own.length }, (_, i) => own[i % own.length]!),
      typeIds: new Int32Array(count * own.length),
      starts: Int32Array.from({ length: count + 1 }, (_, i) => i * own.length),
      skip: new Int32Array(count),
    });
    const [one, all] = [copies(1), copies(kTimedTexts)];
    const positions = positionsOf(one);
    const here = () =>
      owner.call((handle) =>
        handle.forward(one.ids, one.typeIds, positions, one.starts, null, null, null, null, [], [], { logits: false }),
      );
    const few = await best(() => program.run(one, []));
    const many = await best(() => program.run(all, []));
    const processor = await best(() => {
      for (let i = 0; i < kTimedTexts; ++i) here();
    });
    return { tokens: all.ids.length, few, many, processor };
  }

  /** Whether the GPU is expected to be faster for so many tokens: a call has a cost of its own there, and each token one here and there. */
  private suits(tokens: number): boolean {
    const { timing } = this.gpu;
    if (!this.isTimed || !timing) return true;
    const each = Math.max(timing.many - timing.few, 0) / (timing.tokens * (1 - 1 / kTimedTexts));
    const once = Math.max(timing.few - (each * timing.tokens) / kTimedTexts, 0);
    return once + each * tokens < (timing.processor / timing.tokens) * tokens;
  }

  protected async pass(pass: Pass, signal: AbortSignalLike | undefined): Promise<ForwardResult | undefined> {
    const { owner } = this;
    const tokens = pass.input_ids.length;
    if (!this.suits(tokens)) return undefined;
    const states = await this.onDevice(
      async (program) => (tokens > program.budget ? undefined : abortable(program.run(sequencesOfPass(pass), []), signal)),
      signal,
    );
    if (!states) return undefined;
    const { input_ids, token_type_ids, position_ids, seq_start, logits } = pass;
    const ends = owner.call((handle) => handle.device_forward(input_ids, token_type_ids, position_ids, seq_start, states, logits));
    return { last_hidden_state: states, pooler_output: ends.pooler_output, logits: ends.logits };
  }

  /** Heads are the processor's, over the GPU's states. */
  async step(job: number, signal: AbortSignalLike | undefined): Promise<JobAnswer | undefined> {
    if (this.off !== undefined) return undefined;
    const { owner } = this;
    const most = Math.max(kMostRows / (4 * this.plan.hidden), this.program?.budget ?? 0);
    const batch = owner.call((handle) => handle.device_batch(job, most));
    if (batch.here) return undefined;
    const rows = await this.rows(job, batch, signal);
    return owner.call((handle) => handle.device_step(job, rows));
  }

  /** The vectors or states of all windows: each is written once, by whoever computed it. */
  private async rows(job: number, batch: DeviceBatchAnswer, signal: AbortSignalLike | undefined): Promise<Float32Array> {
    const { starts, pooling: modes } = batch;
    const { hidden } = this.plan;
    const windows = starts.length - 1;
    const beginOf = (window: number) => hidden * (modes.length > 0 ? modes.length * window : starts[window]!);
    const out = new Float32Array(beginOf(windows));
    const missing = new Set(Array.from({ length: windows }, (_, i) => i));
    const onProcessor = this.suits(batch.ids.length) ? [] : [...missing];
    for (let tries = 0; onProcessor.length === 0 && missing.size > 0 && this.off === undefined && tries < kMostLost; ++tries) {
      await this.recovering;
      const { program } = this;
      try {
        if (program) await abortable(this.provePooling(program, modes), signal);
      } catch (error) {
        throwIfAborted(signal);
        if (!this.device?.failed) this.stop((error as Error).message);
      }
      await this.runMissing(batch, missing, signal, (begin, values, end) => {
        for (let w = begin, from = 0; w < end; ++w) {
          const size = beginOf(w + 1) - beginOf(w);
          const own = values.subarray(from, (from += size));
          missing.delete(w);
          out.set(own, beginOf(w));
          if (!own.every(Number.isFinite)) onProcessor.push(w);
        }
      });
      if (missing.size === 0) break;
      await abortable(this.recover(), signal);
    }
    if (missing.size === 0) this.gpu.recomputed += onProcessor.length;
    await this.onProcessor(
      job,
      batch,
      [...new Set([...onProcessor, ...missing])].sort((a, b) => a - b),
      signal,
      (w, values) => out.set(values, beginOf(w)),
    );
    return out;
  }

  /** Runs windows that are missing in batches, until all are there or the device fails. */
  private async runMissing(
    batch: DeviceBatchAnswer,
    missing: ReadonlySet<number>,
    signal: AbortSignalLike | undefined,
    take: (begin: number, values: Float32Array, end: number) => void,
  ): Promise<void> {
    const { starts, pooling } = batch;
    const { program, device } = this;
    const running = new Set<Promise<void>>();
    const left = [...missing].sort((a, b) => a - b);
    const stop = () => !program || device!.failed !== undefined || this.off !== undefined;
    for (let at = 0; at < left.length && !stop();) {
      throwIfAborted(signal);
      const begin = left[at]!;
      let end = begin + 1;
      const most = Math.min(this.tokens, program!.budget);
      while (left[at + end - begin] === end && starts[end + 1]! - starts[begin]! <= most) ++end;
      at += end - begin;
      const started = performance.now();
      const alone = running.size === 0;
      const run = program!
        .run(windowsOf(batch, begin, end), pooling)
        .then(
          (values) => {
            take(begin, values, end);
            const took = performance.now() - started;
            if (alone && took < kBatchMs / 2) this.tokens = Math.min(2 * this.tokens, program!.budget);
            if (alone && took > 2 * kBatchMs) this.tokens = Math.max(this.tokens / 2, kLeastTokens);
          },
          () => {}, // the device failed: these windows are still missing
        )
        .finally(() => running.delete(run));
      running.add(run);
      if (running.size >= kInFlight) await abortable(Promise.race(running), signal);
    }
    await abortable(Promise.all(running), signal);
  }

  private async onProcessor(
    job: number,
    batch: DeviceBatchAnswer,
    windows: readonly number[],
    signal: AbortSignalLike | undefined,
    take: (window: number, values: Float32Array) => void,
  ): Promise<void> {
    const pace = new Pace(kProcessorMs, 1, 1, 4096);
    const { starts, pooling } = batch;
    for (let at = 0; at < windows.length;) {
      await pace.wait(signal);
      const begin = windows[at]!;
      let end = begin + 1;
      while (end - begin < pace.count && windows[at + end - begin] === end) ++end;
      at += end - begin;
      const { rows } = pace.run(
        () => this.owner.call((handle) => handle.device_rows(job, begin, end)),
        () => end - begin,
      );
      for (let w = begin, from = 0; w < end; ++w) {
        const size = this.plan.hidden * (pooling.length > 0 ? pooling.length : starts[w + 1]! - starts[w]!);
        take(w, rows.subarray(from, (from += size)));
      }
    }
  }
}
