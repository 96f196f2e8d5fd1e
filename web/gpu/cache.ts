// Keys and values of growing sequences on a device: for each layer a buffer, [slots, length, row].
import type { Device } from './device.js';
import type { Plan } from './plan.js';

/** Tokens by which slots grow. */
const kGrain = 64;

/** Where a layer's keys and values are; reserve() puts another buffer there. */
export interface Layer {
  buffer: GPUBuffer;
  /** Numbers in a row: the keys of all heads, then the values. */
  row: number;
}

export class Cache {
  slots = 0;
  /** Tokens of a slot. */
  length = 0;
  /** By the number of the plan's use. */
  private readonly layers = new Map<number, Layer>();

  constructor(
    private readonly device: Device,
    plan: Plan,
  ) {
    plan.uses.forEach(({ steps }, use) => {
      for (const { op, attention } of steps) {
        if (op !== 'attention') continue;
        const { kvHeads, keyWidth, valueWidth } = plan.attentions[attention]!;
        this.layers.set(use, { buffer: undefined as never, row: kvHeads * (keyWidth + valueWidth) });
      }
    });
  }

  of(use: number): Layer {
    return this.layers.get(use)!;
  }

  /** Whether this device has buffers of that size. */
  fits(slots: number, length: number): boolean {
    const row = Math.max(...[...this.layers.values()].map((layer) => layer.row));
    return 4 * row * slots * (length + kGrain) <= this.device.mostBytes;
  }

  /** Room for so many slots of so many tokens. What the slots that remain have stays. Whether buffers changed. */
  reserve(slots: number, length: number): boolean {
    if (slots <= this.slots && length <= this.length) return false;
    const tokens = Math.ceil(length / kGrain) * kGrain;
    for (const layer of this.layers.values()) {
      const { buffer: old, row } = layer;
      layer.buffer = this.device.storage(4 * row * slots * tokens);
      const size = 4 * row * Math.min(tokens, this.length);
      for (let slot = 0; slot < Math.min(slots, this.slots); ++slot)
        this.device.copy(old, 4 * row * this.length * slot, layer.buffer, 4 * row * tokens * slot, size);
      if (old as GPUBuffer | undefined) this.device.free(old);
    }
    this.slots = slots;
    this.length = tokens;
    return true;
  }

  /** Slot `to` gets the first tokens of slot `from`. */
  copy(from: number, to: number, tokens: number): void {
    if (tokens === 0) return;
    const bytes = ({ row }: Layer) => 4 * row * tokens;
    const between = this.device.storage(Math.max(...[...this.layers.values()].map(bytes))); // a buffer is not copied to itself
    for (const layer of this.layers.values()) {
      const at = (slot: number) => 4 * layer.row * this.length * slot;
      this.device.copy(layer.buffer, at(from), between, 0, bytes(layer));
      this.device.copy(between, 0, layer.buffer, at(to), bytes(layer));
    }
    this.device.free(between);
  }
}
