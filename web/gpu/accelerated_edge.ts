// In place of accelerated.ts on the edge, where there is no GPU: the processor computes, and says so.
const processor = {
  facts: { device: 'wasm', device_reason: 'there is no GPU on the edge' },
  step: () => undefined,
  forward: () => undefined,
  stop: () => undefined,
} as const;

export const accelerated = async () => processor;
