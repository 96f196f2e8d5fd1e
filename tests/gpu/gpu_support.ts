// A GPU for tests (tools/lib/software_gpu.mjs), and ways to let it fail as GPUs do.
import { filesOf, type Files } from '../web/support.js';

/** The package `webgpu` with an adapter; undefined, and a message once, where there is none. */
export async function findGpu(): Promise<GPU | undefined> {
  try {
    const { create } = (await import('webgpu' as string)) as { create(flags: string[]): GPU };
    const gpu = create([]);
    if (await gpu.requestAdapter()) return gpu;
    console.warn('skipped: the package webgpu finds no adapter (a Vulkan driver, or libvk_swiftshader.so of Chromium)');
  } catch (error) {
    console.warn(`skipped: the package webgpu cannot be loaded: ${(error as Error).message}`);
  }
  return undefined;
}

export interface Faults {
  /** Changes the text of each shader. */
  shader?: (code: string) => string;
  /** Called with each device. */
  onDevice?: (device: GPUDevice) => void;
  /** Called with the number of each submit, from 1 on, over all devices, before it. */
  onSubmit?: (count: number, device: GPUDevice) => void;
  /** In place of createBuffer. */
  buffer?: (device: GPUDevice, description: GPUBufferDescriptor, make: () => GPUBuffer) => GPUBuffer;
  /** Changes what is read, of each submit. */
  onRead?: (values: Float32Array, submits: number) => void;
}

/** gpu with faults put in. */
export function faulty(gpu: GPU, faults: Faults): GPU {
  let submits = 0;
  const wrapped = (device: GPUDevice) => {
    const { createShaderModule, createBuffer, queue } = device;
    const { submit } = queue;
    const own = device as unknown as Record<string, unknown>;
    own.createShaderModule = (description: GPUShaderModuleDescriptor) =>
      createShaderModule.call(device, { ...description, code: faults.shader?.(description.code) ?? description.code });
    own.createBuffer = (description: GPUBufferDescriptor) => {
      const make = () => createBuffer.call(device, description);
      const buffer = faults.buffer?.(device, description, make) ?? make();
      const { getMappedRange } = buffer;
      if (faults.onRead)
        buffer.getMappedRange = (...range) => {
          const memory = getMappedRange.apply(buffer, range);
          faults.onRead!(new Float32Array(memory), submits);
          return memory;
        };
      return buffer;
    };
    queue.submit = (buffers) => {
      submit.call(queue, buffers);
      faults.onSubmit?.(++submits, device);
      return undefined;
    };
    faults.onDevice?.(device);
    return device;
  };
  return {
    wgslLanguageFeatures: gpu.wgslLanguageFeatures,
    requestAdapter: async (options?: GPURequestAdapterOptions) => {
      const adapter = await gpu.requestAdapter(options);
      if (!adapter) return adapter;
      const { requestDevice } = adapter;
      adapter.requestDevice = async (description) => wrapped(await requestDevice.call(adapter, description));
      return adapter;
    },
  } as unknown as GPU;
}

/** A tokenizer that makes a token of each small letter, for models without one. */
const tokenizer = () => ({
  version: '1.0',
  truncation: null,
  padding: null,
  added_tokens: [],
  normalizer: null,
  pre_tokenizer: { type: 'Split', pattern: { Regex: '' }, behavior: 'Isolated', invert: false },
  post_processor: null,
  decoder: null,
  model: {
    type: 'WordLevel',
    unk_token: '[UNK]',
    vocab: Object.fromEntries(['[PAD]', '[UNK]', ...'abcdefghijklmnopqrstuvwxyz'].map((word, i) => [word, i])),
  },
});

/** The files of a model that has no tokenizer. */
export function withLetters(directory: string): Files {
  const files = filesOf(directory);
  const json = (value: unknown) => new TextEncoder().encode(JSON.stringify(value));
  files.delete('model.gguf');
  files.set('tokenizer.json', json(tokenizer()));
  return files.set('tokenizer_config.json', json({ tokenizer_class: 'PreTrainedTokenizerFast' }));
}
