// A model's weights on a device, streamed there as they are asked for.
import type { SeamModel } from '../host/seam.js';
import type { Device } from './device.js';
import type { Plan, Step, Use } from './plan.js';

/** A call of the model's handle, which throws its error. */
export type Call = <A extends { code: number; message: string }>(run: (handle: SeamModel) => A) => A;

export interface Weight {
  type: string;
  shape: Int32Array;
  epsilon: number;
  parts: Map<string, GPUBuffer>;
}

/** Bytes of weights that cross at a time, so that no second copy of a matrix is made. */
const kPiece = 1 << 22;

export class Weights {
  private readonly held = new Map<number, Weight>();

  constructor(
    private readonly device: Device,
    private readonly plan: Plan,
    private readonly call: Call,
  ) {}

  /** The weight that a step reads. */
  of(use: Use, step: Step): Weight {
    const number = this.plan.weights[use.firstWeight + step.weight]!;
    let weight = this.held.get(number);
    if (weight) return weight;
    const { type, shape, epsilon, names, sizes } = this.call((handle) => handle.device_weight(step.number, number));
    weight = { type, shape, epsilon, parts: new Map() };
    names.forEach((name, part) => {
      const size = sizes[part]!;
      const buffer = this.device.storage(size);
      for (let at = 0; at < size; at += kPiece) {
        const { bytes } = this.call((handle) => handle.device_bytes(part, at, Math.min(size, at + kPiece)));
        this.device.write(buffer, bytes, at);
      }
      weight!.parts.set(name, buffer);
    });
    this.held.set(number, weight);
    return weight;
  }
}
