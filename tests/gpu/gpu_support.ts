// A GPU for tests (tools/lib/software_gpu.mjs), and ways to make it fail as real GPUs do.
import { filesOf, type Files } from '../web/support.js';

/** The package `webgpu` with an adapter; undefined, and a message once, where there is none. */
export async function findGpu(): Promise<GPU | undefined> {
  try {
    const { create } = (await import('webgpu' as string)) as { create(flags: string[]): GPU };
    // SwiftShader takes 1.5 s to compile what clears 8 kB of workgroup memory, and no kernel reads what it has not written.
    const gpu = create(['enable-dawn-features=disable_workgroup_init']);
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

/** What stands for f16 in WGSL where a device lacks it: numbers of f32. The activations are still rounded to f16. */
const withoutHalves = (code: string) =>
  code
    .replace('enable f16;', '')
    .replace('bitcast<vec4<f16>>(two)', 'vec4<f32>(unpack2x16float(two.x), unpack2x16float(two.y))')
    .replace(/\bf16\b/g, 'f32');

/** gpu as one with shader-f16. Where it has none, f32 stands for f16. faults: as of faulty(). */
export function withHalves(gpu: GPU, faults: Faults = {}): GPU {
  let has = false;
  const own = faulty(gpu, {
    ...faults,
    shader: (code) => (has ? (faults.shader?.(code) ?? code) : withoutHalves(faults.shader?.(code) ?? code)),
  });
  return {
    wgslLanguageFeatures: gpu.wgslLanguageFeatures,
    requestAdapter: async (options?: GPURequestAdapterOptions) => {
      const adapter = await own.requestAdapter(options);
      if (!adapter) return adapter;
      has = adapter.features.has('shader-f16');
      const requestDevice = (description?: GPUDeviceDescriptor) =>
        adapter.requestDevice({ ...description, requiredFeatures: has ? description?.requiredFeatures : [] });
      return { limits: adapter.limits, info: adapter.info, features: new Set(['shader-f16']), requestDevice };
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

type Shapes = [name: string, shape: number[]][];

/** A weight in place of a random one. */
type Change = (value: number, name: string, at: number) => number;

/** The files of a model with random weights. */
function randomModel(config: object, shapes: Shapes, change: Change = (value) => value): Files {
  let random = 7;
  const next = () => (random = (Math.imul(random, 1664525) + 1013904223) >>> 0) / 2 ** 32 - 0.5;
  const header: Record<string, object> = {};
  const values: number[] = [];
  for (const [name, shape] of shapes) {
    const count = shape.reduce((a, b) => a * b, 1);
    const scale = shape.length === 1 ? 0.2 : name.includes('embed') ? 2 : 3.5 / Math.sqrt(shape[1]!);
    const middle = /norm.weight/i.test(name) ? 1 : 0;
    header[name] = { dtype: 'F32', shape, data_offsets: [4 * values.length, 4 * (values.length + count)] };
    for (let i = 0; i < count; ++i) values.push(change(middle + scale * next(), name, i));
  }
  const json = (value: unknown) => new TextEncoder().encode(JSON.stringify(value));
  const head = json(header);
  const weights = Buffer.concat([Buffer.alloc(8), head, Buffer.from(Float32Array.from(values).buffer)]);
  weights.writeBigUInt64LE(BigInt(head.length));
  return new Map([
    ['config.json', json(config)],
    ['model.safetensors', new Uint8Array(weights)],
    ['tokenizer.json', json(tokenizer())],
    ['tokenizer_config.json', json({ tokenizer_class: 'PreTrainedTokenizerFast' })],
  ]);
}

/** A BERT of one layer with random weights and rows of three groups of q8. */
export function wideBert(change?: Change): Files {
  const config = {
    model_type: 'bert',
    architectures: ['BertModel'],
    vocab_size: 28,
    hidden_size: 192,
    num_hidden_layers: 1,
    num_attention_heads: 4,
    intermediate_size: 320,
    max_position_embeddings: 64,
    type_vocab_size: 2,
    hidden_act: 'gelu',
    layer_norm_eps: 1e-12,
  };
  const layer = 'encoder.layer.0';
  const linear = (name: string, out: number, width: number): Shapes => [
    [`${name}.weight`, [out, width]],
    [`${name}.bias`, [out]],
  ];
  const norm = (name: string): Shapes => ['weight', 'bias'].map((part) => [`${name}.${part}`, [192]]);
  return randomModel(
    config,
    [
      ['embeddings.word_embeddings.weight', [28, 192]],
      ['embeddings.position_embeddings.weight', [64, 192]],
      ['embeddings.token_type_embeddings.weight', [2, 192]],
      ...norm('embeddings.LayerNorm'),
      ...['query', 'key', 'value'].flatMap((name) => linear(`${layer}.attention.self.${name}`, 192, 192)),
      ...linear(`${layer}.attention.output.dense`, 192, 192),
      ...norm(`${layer}.attention.output.LayerNorm`),
      ...linear(`${layer}.intermediate.dense`, 320, 192),
      ...linear(`${layer}.output.dense`, 192, 320),
      ...norm(`${layer}.output.LayerNorm`),
    ],
    change,
  );
}

/** A Llama of two layers with random weights, rows of several parts and groups, heads of 48 numbers, and texts of 600 tokens. */
export function wideLlama(): Files {
  const config = {
    model_type: 'llama',
    architectures: ['LlamaForCausalLM'],
    vocab_size: 28,
    hidden_size: 192,
    num_hidden_layers: 2,
    num_attention_heads: 4,
    num_key_value_heads: 2,
    intermediate_size: 2200,
    max_position_embeddings: 600,
    rms_norm_eps: 1e-5,
    hidden_act: 'silu',
    tie_word_embeddings: true,
  };
  const layers = [0, 1].flatMap((i): Shapes => {
    const linear = (name: string, out: number, width: number): Shapes[0] => [`model.layers.${i}.${name}.weight`, [out, width]];
    return [
      linear('self_attn.q_proj', 192, 192),
      linear('self_attn.k_proj', 96, 192),
      linear('self_attn.v_proj', 96, 192),
      linear('self_attn.o_proj', 192, 192),
      linear('mlp.gate_proj', 2200, 192),
      linear('mlp.up_proj', 2200, 192),
      linear('mlp.down_proj', 192, 2200),
      [`model.layers.${i}.input_layernorm.weight`, [192]],
      [`model.layers.${i}.post_attention_layernorm.weight`, [192]],
    ];
  });
  return randomModel(config, [['model.embed_tokens.weight', [28, 192]], ...layers, ['model.norm.weight', [192]]]);
}
