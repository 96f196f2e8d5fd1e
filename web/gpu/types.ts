// What `info()` says of a GPU.

/** What `info()` says of the device. */
export interface DeviceFacts {
  device: 'webgpu' | 'wasm';
  device_reason?: string;
  gpu?: GpuFacts;
}
/** How a GPU runs a model. */
export interface GpuFacts {
  /** The adapter's names, as the platform gives them. */
  adapter: string;
  /** Bytes of its buffers. */
  bytes: number;
  /** The distance of the probe texts' states from the processor's, over the length of those: the root of the mean square over all tokens. */
  distance: number;
  /** What `distance` is below. */
  bound: number;
  /** Times that a device was lost and found again. */
  recovered: number;
  /** Texts, windows or calls that write texts that were computed again on the processor, as the GPU's numbers were not finite. */
  recomputed: number;
  /** With `device: 'auto'`: milliseconds that were measured for a few tokens (of `text-generation`: one) and for many, and the processor's for the many. */
  timing?: { tokens: number; few: number; many: number; processor: number };
}
