// A model's weights on a device, streamed there as they are asked for.
import type { SeamModel } from '../host/seam.js';
import type { Device } from './device.js';
import type { Plan, Step, Use } from './plan.js';
import type { Halves } from './shaders/product.js';

/** A call of the model's handle, which throws its error. */
export type Call = <A extends { code: number; message: string }>(run: (handle: SeamModel) => A) => A;

export interface Weight {
  type: string;
  shape: Int32Array;
  epsilon: number;
  /** How it can be multiplied in f16; undefined: it cannot, or is not to be. */
  halves: Halves | undefined;
  parts: Map<string, GPUBuffer>;
}

/** Bytes of weights that cross at a time, so that no second copy of a matrix is made. */
const kPiece = 1 << 22;

/** Weights of more than 127 are not multiplied in f16 (shaders/product.ts): the bits of 127 in f16 and in bf16. */
const kMostHalf = { f16: 0x57f0, bf16: 0x42fe };

/** The largest bits of each column of a matrix, without the sign. The matrix comes in pieces of panels of 8 columns, [ceil(n / 8)][k][8]. */
class Largest {
  readonly columns: Uint16Array;
  private at = 0;

  constructor(private readonly shape: Int32Array) {
    this.columns = new Uint16Array(Math.ceil(shape[0]! / 8) * 8);
  }

  take(bytes: Uint8Array): void {
    const { columns, shape } = this;
    for (const bits of new Uint16Array(bytes.slice().buffer)) {
      const column = Math.floor(this.at / (8 * shape[1]!)) * 8 + (this.at & 7);
      columns[column] = Math.max(columns[column]!, bits & 0x7fff);
      ++this.at;
    }
  }

  /** How the matrix can be multiplied in f16. scales: 1 where a column is in bf16 (src/kernels/half.h). */
  halves(scales: Float32Array): Halves | undefined {
    const { columns } = this;
    if (columns.some((bits, i) => bits > (scales[i] === 1 ? kMostHalf.bf16 : kMostHalf.f16))) return undefined;
    return columns.some((bits, i) => bits > 0 && scales[i] === 1) ? 'mixed' : 'f16';
  }
}

export class Weights {
  private readonly held = new Map<number, Weight>();

  constructor(
    private readonly device: Device,
    private readonly plan: Plan,
    private readonly call: Call,
    /** Whether products in f16 are wanted. */
    private readonly halves: boolean,
  ) {}

  /** The weight that a step reads. */
  of(use: Use, step: Step): Weight {
    const number = this.plan.weights[use.firstWeight + step.weight]!;
    let weight = this.held.get(number);
    if (weight) return weight;
    const { type, shape, epsilon, names, sizes } = this.call((handle) => handle.device_weight(step.number, number));
    weight = { type, shape, epsilon, halves: undefined, parts: new Map() };
    const largest = this.halves && type === 'f16' && names.includes('weight') ? new Largest(shape) : undefined;
    const scales = new Float32Array(largest?.columns.length ?? 0);
    names.forEach((name, part) => {
      const size = sizes[part]!;
      const buffer = this.device.storage(size);
      for (let at = 0; at < size; at += kPiece) {
        const { bytes } = this.call((handle) => handle.device_bytes(part, at, Math.min(size, at + kPiece)));
        this.device.write(buffer, bytes, at);
        if (name === 'weight') largest?.take(bytes);
        if (largest && name === 'scale') scales.set(new Float32Array(bytes.slice().buffer), at / 4);
      }
      weight!.parts.set(name, buffer);
    });
    weight.halves = largest?.halves(scales);
    this.held.set(number, weight);
    return weight;
  }
}
