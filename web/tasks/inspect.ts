// A model's layers, shapes, parameters, MACs, bytes and memory, as printed by `wattn inspect`.
import { Engine, kLoadRules } from '../engine/engine.js';
import { ownCopy, readOptions } from '../core/options.js';
import { Loading } from '../engine/loading.js';
import { fullWasm } from '../host/wasm_loader.js';
import { openGguf, openGgufModel } from '../source/gguf_file.js';
import { loadFrom } from '../source/load_from.js';
import { kSourceRules, openModel } from '../source/model_source.js';
import { readConfig } from '../source/weight_files.js';
import type { LoadOptions, MemoryInfo, ModelDescription } from '../engine/types.js';
import { headerBytes, kPrefixBytes, parseHeader } from '../source/safetensors.js';
import type { ModelSpecifier, SourceOptions } from '../source/types.js';

/** One layer, as listed by `inspectModel`. */
export interface InspectedLayer {
  /** The name in the checkpoint. */
  name: string;
  /** The type: `'Linear'`, `'LayerNorm'`, `'Embedding'`, .. */
  type: string;
  /** Shape of the output for one sequence of `seq` tokens. */
  output: number[];
  /** Shape of the weight, [out, in]; empty if there is none. */
  kernel: number[];
  /** Number of weights. */
  parameters: number;
  /** Multiply-accumulate operations of the products, including attention, like `macs` of `nn.summary`. */
  macs: number;
}

/** The result of `inspectModel`. */
export interface Inspection {
  /** The architecture, as in config.json: `'bert'`. */
  model_type: string;
  /** The sequence length for output shapes and MACs. */
  seq: number;
  /** The layers in the order of the forward pass. */
  layers: InspectedLayer[];
  /** Number of weights. */
  parameters: number;
  /** Multiply-accumulate operations for one sequence of `seq` tokens. */
  macs: number;
  /** Bytes by data type, in the files and in memory. A GGUF file, whose blocks mix types, counts as a whole. */
  bytes: { stored: Record<string, number>; held: Record<string, number> };
  /** Bytes of each weight file. */
  files: Record<string, number>;
  /** Memory of the loaded model, in bytes. */
  memory: MemoryInfo;
  /** With the option `plan`: the steps of the forward pass, one per line. */
  plan?: string;
}

const isGguf = (file: string) => /\.gguf$/i.test(file);

/** Collects the header of a safetensors file while its bytes stream past. The engine has checked them before. */
class HeaderReader {
  private head = new Uint8Array(kPrefixBytes); // the prefix, then the header
  private filled = 0;
  private hasLength = false;
  bytes = 0;

  constructor(private readonly file: string) {}

  push(chunk: Uint8Array): void {
    this.bytes += chunk.length;
    if (isGguf(this.file)) return;
    const rest = this.fill(chunk);
    if (this.hasLength || this.filled < kPrefixBytes) return;
    this.hasLength = true;
    this.head = new Uint8Array(headerBytes(this.head, Infinity, this.file));
    this.filled = 0;
    this.fill(rest);
  }

  /** Copies what still fits and returns the rest. */
  private fill(chunk: Uint8Array): Uint8Array {
    const part = chunk.subarray(0, this.head.length - this.filled);
    this.head.set(part, this.filled);
    this.filled += part.length;
    return chunk.subarray(part.length);
  }

  /** Bytes by dtype, once the whole file has passed. */
  dtypes(): (readonly [dtype: string, bytes: number])[] {
    if (isGguf(this.file)) return [['GGUF', this.bytes]];
    return parseHeader(this.head, this.bytes, this.file).map(({ dtype, begin, end }) => [dtype, end - begin]);
  }
}

function planOf(engine: Engine): string {
  return engine.call((handle) => handle.plan()).text;
}

/**
 * Loads a model and lists its layers. `seq` is the sequence length for shapes and MACs; default: the model's max_length. `plan: true` adds the steps of
 * the forward pass, which requires the full WebAssembly.
 *
 * @example
 * const { parameters } = await inspectModel();
 */
export async function inspectModel(
  model?: ModelSpecifier | null,
  given: LoadOptions & { seq?: number | undefined; plan?: boolean | undefined } = {},
): Promise<Inspection> {
  given = readOptions('inspectModel', given, { ...kLoadRules, adapter: 'any', adapters: 'any', seq: 'count', plan: 'boolean' });
  const { seq, plan, adapter, adapters, ...base } = given;
  const options = ownCopy({ ...base, adapter, adapters });
  const readers = new Map<string, HeaderReader>();
  const watch = () => {
    readers.clear();
    return (file: string, chunk: Uint8Array) => {
      const reader = readers.get(file) ?? new HeaderReader(file);
      readers.set(file, reader);
      reader.push(chunk);
    };
  };
  const wasm = plan ? fullWasm() : undefined;
  const engine = await Engine.load({ where: 'inspectModel', model, options: base, head: 'own_lm', watch, wasm });
  try {
    if (adapter ?? adapters) await (await import('../engine/adapters.js')).loadAdapters('inspectModel', engine, options);
    const { model_type, max_length } = engine.info;
    const tokens = seq ?? max_length;
    const { names, types, kernels, outputs, parameters, macs } = engine.call((handle) => handle.summary(tokens));
    const layers = names.map((name, i) => ({
      name,
      type: types[i] as string,
      output: Array.from(outputs[i] as Int32Array),
      kernel: Array.from(kernels[i] as Int32Array),
      parameters: parameters[i] as number,
      macs: macs[i] as number,
    }));
    const stored: Record<string, number> = {};
    for (const reader of readers.values()) {
      for (const [dtype, bytes] of reader.dtypes()) stored[dtype] = (stored[dtype] ?? 0) + bytes;
    }
    const sum = (field: 'parameters' | 'macs') => layers.reduce((total, layer) => total + layer[field], 0);
    return {
      model_type,
      seq: tokens,
      layers,
      parameters: sum('parameters'),
      macs: sum('macs'),
      bytes: { stored, held: { [engine.info.dtype]: engine.memory.weights } },
      files: Object.fromEntries([...readers].map(([file, reader]) => [file, reader.bytes])),
      memory: engine.memory,
      ...(plan ? { plan: planOf(engine) } : {}),
    };
  } finally {
    engine.dispose();
  }
}

/**
 * Reads a model's architecture and heads from config.json (or the header of a GGUF file), without loading it.
 *
 *     const { kind, heads } = await describeModel('google/flan-t5-small'); // 'encoder-decoder', ['seq2seq_lm']
 *
 * @example
 * const { kind } = await describeModel();
 */
export async function describeModel(model?: ModelSpecifier | null, options: SourceOptions = {}): Promise<ModelDescription> {
  options = readOptions('describeModel', options, kSourceRules);
  const gguf = openGguf(model, options);
  const source = gguf?.source ?? openModel(model as ModelSpecifier, options);
  const making = new Loading(1);
  try {
    return await loadFrom(source, options, async (from, progress, signal) => {
      const files = gguf
        ? (await openGgufModel(gguf, progress, signal, (bytes) => making.ggufFiles(bytes))).files
        : await readConfig(from, progress, signal);
      const encoder = (await import('../source/span_files.js')).encoderConfigIn(files);
      const { code: _code, message: _message, ...known } = await making.ask((handle) => handle.describe(encoder ?? files));
      const description = encoder ? { ...known, kind: 'encoder' as const, heads: ['spans' as const] } : known;
      if (gguf || from.phase !== 'download') return description;
      const { sizesOf } = await import('../source/packed_file.js');
      return { ...description, ...(await sizesOf(from, options, signal)) };
    });
  } finally {
    making.release();
  }
}
