// What `info()` says of a GPU.

/** Facts about the device, in `info()`. */
export interface DeviceFacts {
  device: 'webgpu' | 'wasm';
  device_reason?: string;
  gpu?: GpuFacts;
}
/** How a model runs on a GPU. */
export interface GpuFacts {
  /** The adapter's name, as reported by the platform. */
  adapter: string;
  /** Bytes of its GPU buffers. */
  bytes: number;
  /** Relative difference between the states that the GPU and the processor compute for the probe texts: root mean square over all tokens. */
  distance: number;
  /** The upper bound that `distance` met. */
  bound: number;
  /** The arithmetic of products: 'int8' if weights are held as `q8` or `q4`; 'f16' if they are held as `f16` and the device computes with it; else 'f32'. */
  products?: 'f32' | 'f16' | 'int8';
  /** How often the device was lost and replaced. */
  recovered: number;
  /** Number of texts, windows or generation calls that the processor computed again, because the GPU's numbers were not finite. */
  recomputed: number;
  /** For `AutoModel` and its variants: passes that ran on the processor, because they asked for more than a GPU returns (docs/gpu.md). */
  processor_passes?: number;
  /** For a decoder that has generated: bytes that the processor holds for keys, values and activations. 0 while the GPU generates; more after the processor took over. */
  processor_bytes?: number;
  /** With `device: 'auto'`: milliseconds that were measured on the GPU for a few tokens (`text-generation`: one) and for many, and on the processor for the many. */
  timing?: { tokens: number; few: number; many: number; processor: number };
}
