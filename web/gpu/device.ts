// A GPU: its adapter, its buffers and pipelines, and what went wrong with it. Nothing here writes to the console.
import { env } from '../core/env.js';
import { UnsupportedError } from '../core/errors.js';
import type { Kernel } from './shaders/shader.js';

/** Why a device cannot be used, or no longer. */
export class DeviceError extends Error {}

const why = (error: unknown): string => String((error as Error)?.message ?? error).split('\n')[0]!;

// GPUBufferUsage, GPUMapMode and GPUShaderStage, which Node lacks.
const [kMapRead, kCopySource, kCopyTarget, kUniform, kStorage] = [1, 4, 8, 64, 128];
const kMapModeRead = 1;

/** What of a device's limits a model may need more of than each device has. */
const kLimits = ['maxBufferSize', 'maxStorageBufferBindingSize'] as const;

export class Device {
  /** Set once the device failed. */
  failed: DeviceError | undefined;
  /** Buffers, in bytes. */
  bytes = 0;
  private readonly pipelines = new Map<string, Promise<GPUComputePipeline>>();
  private readonly staging: GPUBuffer[] = [];

  private constructor(
    private readonly gpu: GPUDevice,
    /** The adapter's names. */
    readonly name: string,
    /** Whether WGSL has products of packed bytes. */
    readonly packedDot: boolean,
    /** Whether WGSL has arithmetic in f16. */
    readonly halves: boolean,
  ) {
    gpu.addEventListener?.('uncapturederror', (event) => {
      event.preventDefault?.();
      this.fail(why(event.error));
    });
    gpu.lost.then(
      ({ message, reason }) => this.fail(`the device was lost${reason === 'destroyed' ? '' : `: ${message}`}`),
      () => {},
    );
  }

  /** A DeviceError if there is none. */
  static async open(): Promise<Device> {
    const own = (env.gpu ?? (globalThis.navigator as Navigator | undefined)?.gpu) as GPU | undefined;
    if (!own) throw new DeviceError('this platform has no WebGPU (navigator.gpu, env.gpu)');
    try {
      const adapter = await own.requestAdapter({ powerPreference: 'high-performance' });
      if (!adapter) throw new DeviceError('WebGPU has no adapter here');
      const requiredLimits = Object.fromEntries(kLimits.map((limit) => [limit, adapter.limits[limit]]));
      const halves = adapter.features?.has('shader-f16') ?? false;
      const device = await adapter.requestDevice({ requiredLimits, requiredFeatures: halves ? ['shader-f16'] : [] });
      const { vendor = '', architecture = '', device: model = '', description = '' } = adapter.info ?? {};
      const name = [vendor, architecture, model, description].filter(Boolean).join(' ') || 'unnamed';
      const packedDot = own.wgslLanguageFeatures?.has('packed_4x8_integer_dot_product') ?? false;
      return new Device(device, name, packedDot, halves);
    } catch (error) {
      throw error instanceof DeviceError ? error : new DeviceError(`WebGPU's adapter or device: ${why(error)}`);
    }
  }

  fail(reason: string): DeviceError {
    return (this.failed ??= new DeviceError(reason));
  }

  /** Runs work and throws what the device says of it. */
  async checked<T>(work: () => T | Promise<T>): Promise<T> {
    if (this.failed) throw this.failed;
    const { gpu } = this;
    const scopes = ['validation', 'out-of-memory', 'internal'] as const;
    for (const scope of scopes) gpu.pushErrorScope(scope);
    let result: T | undefined;
    let thrown: unknown;
    try {
      result = await work();
    } catch (error) {
      thrown = error;
    }
    const found = await Promise.all(scopes.map(() => gpu.popErrorScope().catch((error: unknown) => error as GPUError)));
    const error = found.find(Boolean);
    if (error) throw this.fail(why(error));
    if (thrown instanceof UnsupportedError) throw thrown;
    if (thrown) throw this.failed ?? (thrown instanceof DeviceError ? thrown : this.fail(why(thrown)));
    if (this.failed) throw this.failed;
    return result as T;
  }

  /** A pipeline, compiled once for each kernel. */
  pipeline({ code }: Kernel): Promise<GPUComputePipeline> {
    let made = this.pipelines.get(code);
    if (!made) {
      const module = this.gpu.createShaderModule({ code });
      made = this.gpu.createComputePipelineAsync({ layout: 'auto', compute: { module, entryPoint: 'main' } });
      made.catch(() => {}); // whoever awaits it reports it
      this.pipelines.set(code, made);
    }
    return made;
  }

  /** Bytes of a buffer that kernels read. */
  get mostBytes(): number {
    return Math.min(this.gpu.limits.maxBufferSize, this.gpu.limits.maxStorageBufferBindingSize);
  }

  private make(size: number, usage: number): GPUBuffer {
    const whole = Math.max(16, Math.ceil(size / 4) * 4);
    const most = usage & kStorage ? this.mostBytes : this.gpu.limits.maxBufferSize;
    if (whole > most) throw new DeviceError(`a buffer of ${whole} bytes: this device has at most ${most}`);
    this.bytes += whole;
    return this.gpu.createBuffer({ size: whole, usage });
  }
  storage(size: number): GPUBuffer {
    return this.make(size, kStorage | kCopyTarget | kCopySource);
  }
  uniform(size: number): GPUBuffer {
    return this.make(size, kUniform | kCopyTarget);
  }
  write(buffer: GPUBuffer, values: ArrayBufferView, at = 0): void {
    const { buffer: memory, byteOffset, byteLength } = values;
    const whole =
      byteLength % 4 === 0 ? new Uint8Array(memory, byteOffset, byteLength) : new Uint8Array(Math.ceil(byteLength / 4) * 4);
    if (whole.byteLength !== byteLength) whole.set(new Uint8Array(memory, byteOffset, byteLength));
    if (whole.byteLength > 0) this.gpu.queue.writeBuffer(buffer, at, whole as BufferSource);
  }

  /** Once what is in the queue has run. */
  free(buffer: GPUBuffer): void {
    this.bytes -= buffer.size;
    buffer.destroy();
  }
  copy(from: GPUBuffer, begin: number, to: GPUBuffer, at: number, size: number): void {
    const encoder = this.gpu.createCommandEncoder();
    encoder.copyBufferToBuffer(from, begin, to, at, size);
    this.gpu.queue.submit([encoder.finish()]);
  }

  bind(pipeline: GPUComputePipeline, buffers: readonly GPUBuffer[]): GPUBindGroup {
    const entries = buffers.map((buffer, binding) => ({ binding, resource: { buffer } }));
    return this.gpu.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries });
  }

  /** Submits dispatches, and gives the first floats of a buffer behind them. Everything is in the queue when this returns its promise. */
  async read(record: (pass: GPUComputePassEncoder) => void, from: GPUBuffer, floats: number): Promise<Float32Array> {
    if (this.failed) throw this.failed;
    const size = 4 * floats;
    const at = this.staging.findIndex((buffer) => buffer.size >= size);
    const [found] = at < 0 ? [] : this.staging.splice(at, 1);
    return this.checked(async () => {
      const to = found ?? this.make(size, kMapRead | kCopyTarget);
      const encoder = this.gpu.createCommandEncoder();
      const pass = encoder.beginComputePass();
      record(pass);
      pass.end();
      encoder.copyBufferToBuffer(from, 0, to, 0, size);
      this.gpu.queue.submit([encoder.finish()]);
      await to.mapAsync(kMapModeRead);
      const values = new Float32Array(to.getMappedRange(0, Math.max(size, 4)).slice(0, size));
      to.unmap();
      this.staging.push(to);
      return values;
    });
  }

  destroy(): void {
    this.fail('the device was released');
    this.gpu.destroy();
  }
}
