// A model on a GPU beside the same model on the processor, which does everything that the GPU cannot answer for.
import { UnsupportedError } from '../core/errors.js';
import { abortable, throwIfAborted } from '../core/signal.js';
import type { AbortSignalLike } from '../core/types.js';
import type { ForwardResult, JobAnswer } from '../host/seam.js';
import { Device } from './device.js';
import { runsOnDevice, type ForwardPasses, type Pass } from './forward.js';
import { readPlan, unsupportedIn, type Plan } from './plan.js';
import { Program } from './program.js';
import type { Proof } from './proof.js';
import type { DeviceFacts, GpuFacts } from './types.js';
import type { Call } from './weights.js';

/** The data types of weights that a device reads. */
const kTypes = ['f32', 'f16', 'q8', 'q4'];
/** Those of them whose products are of whole numbers. */
const kWhole = ['q8', 'q4'];

/** Devices that a call may lose. */
export const kMostLost = 3;

/** Timings by adapter and model, of all models of the realm. */
const timings = new Map<string, Required<GpuFacts>['timing']>();

export interface Owner {
  call: Call;
  isOpen: boolean;
}

export interface How {
  auto: boolean;
  dtype: string;
  /** The name under which timings are kept. */
  key: string;
  /** Keys and values are to be kept in 8 bits. */
  q8Keys: boolean;
  vocab: number;
  /** It reads no texts: probes are ids. */
  idsOnly: boolean;
}

export abstract class Accelerator implements ForwardPasses {
  protected program: Program | undefined;
  protected device: Device | undefined;
  protected plan!: Plan;
  protected off: string | undefined;
  protected recovering: Promise<void> | undefined;
  protected readonly gpu: GpuFacts = { adapter: '', bytes: 0, distance: 0, bound: 0, recovered: 0, recomputed: 0 };
  private lost = 0;

  protected constructor(
    protected readonly owner: Owner,
    protected readonly how: How,
    /** Whether sequences go on in slots of a cache. */
    private readonly cached: boolean,
  ) {}

  /**
   * Opens a device and proves it. What is wrong is in the facts, and calls are then the processor's: so programs that ask for a GPU run with every model. ready: once the
   * processor is as fast as it gets.
   */
  async begin(ready: Promise<void>): Promise<this> {
    const { how, owner } = this;
    try {
      if (!kTypes.includes(how.dtype))
        throw new UnsupportedError(`weights that are held as '${how.dtype}' (a GPU reads dtype 'f32', 'f16', 'q8' or 'q4')`);
      if (how.q8Keys) throw new UnsupportedError("kv_cache_dtype 'q8'");
      this.plan = readPlan(owner.call((handle) => handle.device_plan()));
      const rare = this.plan.uses.length < 2 ? 'no layers' : unsupportedIn(this.plan, this.cached);
      if (rare) throw new UnsupportedError(rare);
      await this.start();
      if (how.auto) await this.measure(ready);
    } catch (error) {
      const { message } = error as Error;
      this.stop(error instanceof UnsupportedError ? `${message}: the processor alone runs it` : message);
    }
    return this;
  }

  /** Proves a device with the model's weights; a DeviceError if it is not right. */
  protected abstract prove(program: Program, q8: boolean): Promise<Proof>;
  /** Measures both. */
  protected abstract time(program: Program): Promise<Required<GpuFacts>['timing']>;
  /** The next step of a job; undefined if the processor is to do it. */
  abstract step(job: number, signal: AbortSignalLike | undefined): Promise<JobAnswer | undefined>;

  /** What a pass of AutoModel or its variants gives; undefined: the processor is to run it. */
  protected abstract pass(pass: Pass, signal: AbortSignalLike | undefined): Promise<ForwardResult | undefined>;

  async forward(pass: Pass, signal: AbortSignalLike | undefined): Promise<ForwardResult | undefined> {
    if (this.off !== undefined) return undefined;
    const result = runsOnDevice(pass, this.how.vocab, this.plan.positions) ? await this.pass(pass, signal) : undefined;
    if (!result && this.off === undefined) this.gpu.processor_passes = (this.gpu.processor_passes ?? 0) + 1;
    return result;
  }

  get facts(): DeviceFacts {
    if (this.off !== undefined)
      return { device: 'wasm', device_reason: this.off, ...(this.gpu.adapter && { gpu: { ...this.gpu } }) };
    return { device: 'webgpu', gpu: { ...this.gpu, bytes: this.device?.bytes ?? 0 } };
  }

  /** The processor takes over, for good. */
  stop(reason: string): void {
    this.off ??= reason;
    this.program = undefined;
    this.device?.destroy();
    this.device = undefined;
  }

  /** Whether to go by what was measured. */
  protected get isTimed(): boolean {
    return this.how.auto && this.gpu.timing !== undefined;
  }

  /** A device with the model's weights, which has shown that it is right. halves: products in f16 are tried first. */
  private async start(halves = this.how.dtype === 'f16'): Promise<void> {
    const { owner, plan, gpu, how } = this;
    const device = await Device.open();
    this.device = device;
    gpu.adapter = device.name;
    const whole = kWhole.includes(how.dtype);
    const wanted = halves && device.halves;
    try {
      const program = await Program.make(device, plan, (run) => owner.call(run), this.cached, wanted);
      Object.assign(gpu, await this.prove(program, whole));
      gpu.products = whole ? 'int8' : program.halves > 0 ? 'f16' : 'f32';
      this.program = program;
    } catch (error) {
      if (!wanted) throw error;
      device.destroy();
      await this.start(false); // what fails or computes wrong in f16 may be right in f32
    }
  }

  /** Measures both, unless this adapter and this kind of model were measured before. */
  private async measure(ready: Promise<void>): Promise<void> {
    const { gpu, program, how } = this;
    const name = `${gpu.adapter} ${how.key}`;
    let timing = timings.get(name);
    if (!timing) {
      await ready;
      timing = await this.time(program!);
      timings.set(name, timing);
    }
    gpu.timing = timing;
  }

  /**
   * Runs work on a device, or on the next one if that is lost. undefined: the processor is to do it, as no device is left, as work gave nothing, or as a number
   * is not finite.
   */
  protected async onDevice(
    work: (program: Program) => Promise<Float32Array | undefined>,
    signal: AbortSignalLike | undefined,
  ): Promise<Float32Array | undefined> {
    for (let tries = 0; this.off === undefined && tries < kMostLost; ++tries) {
      await abortable(this.recovering ?? Promise.resolve(), signal);
      const { program } = this;
      try {
        if (program) {
          const values = await work(program);
          if (!values || isFinite(values)) return values;
          this.gpu.recomputed += 1;
          return undefined;
        }
      } catch (error) {
        throwIfAborted(signal);
        if (this.off === undefined && !this.device?.failed) throw error;
      }
      if (this.off === undefined) await abortable(this.recover(), signal);
    }
    return undefined;
  }

  /** Another device in place of one that failed, which has to show again that it is right; once for all who wait. */
  protected recover(): Promise<void> {
    return (this.recovering ??= this.replace().finally(() => (this.recovering = undefined)));
  }

  private async replace(): Promise<void> {
    const why = this.device?.failed?.message ?? 'the device failed';
    this.program = undefined;
    this.device?.destroy();
    if (++this.lost > kMostLost) return this.stop(`${why}, for the ${this.lost}th time`);
    try {
      await this.start();
      this.gpu.recovered += 1;
    } catch (error) {
      this.stop(`${why}; then: ${(error as Error).message}`);
    }
  }
}

/** Whether no number is NaN or infinite. */
function isFinite(values: Float32Array): boolean {
  let sum = 0;
  for (const value of values) sum += 0 * value;
  return sum === 0;
}

/** Milliseconds of the best of three runs. */
export async function best(work: () => unknown): Promise<number> {
  let least = Infinity;
  for (let i = 0; i < 3; ++i) {
    const begin = performance.now();
    await work();
    least = Math.min(least, performance.now() - begin);
  }
  return least;
}
