// What a model is made of: layers, shapes, parameters, work, bytes and memory. The command `wattn inspect` prints it.
import { Engine } from '../engine/engine.js';
import { UnsupportedError } from '../core/errors.js';
import { checkOptions } from '../core/options.js';
import type { HeadKind } from '../host/seam.js';
import type { LoadOptions, MemoryInfo } from '../engine/types.js';
import type { ModelSpecifier } from '../source/types.js';

export interface InspectedLayer {
  /** The checkpoint's words. */
  name: string;
  type: string;
  /** For one sequence of `seq` tokens. */
  output: number[];
  /** Of the weight, [out, in]; empty for none. */
  kernel: number[];
  parameters: number;
  mult_adds: number;
}

export interface Inspection {
  model_type: string;
  /** Tokens of the sequence that output shapes and mult_adds are for. */
  seq: number;
  layers: InspectedLayer[];
  parameters: number;
  mult_adds: number;
  /** Bytes by dtype: of the files' tensors (of a GGUF file, whose blocks mix types, the whole file), and as they are held. */
  bytes: { stored: Record<string, number>; held: Record<string, number> };
  /** Bytes of the weight files. */
  files: Record<string, number>;
  memory: MemoryInfo;
}

const kPrefixBytes = 8;

const isGguf = (file: string) => /\.gguf$/i.test(file);

/** Keeps the header of a safetensors file as its bytes pass. */
class HeaderReader {
  private head: number[] = [];
  private header: Uint8Array | undefined;
  private filled = 0;
  bytes = 0;

  constructor(private readonly file: string) {}

  push(chunk: Uint8Array): void {
    this.bytes += chunk.length;
    if (isGguf(this.file)) return; // its header is another
    let at = 0;
    while (at < chunk.length && this.head.length < kPrefixBytes) this.head.push(chunk[at++] as number);
    if (this.head.length < kPrefixBytes) return;
    this.header ??= new Uint8Array(this.head.slice(0, 4).reduceRight((length, byte) => length * 256 + byte, 0));
    const part = chunk.subarray(at, at + this.header.length - this.filled);
    this.header.set(part, this.filled);
    this.filled += part.length;
  }

  /** Bytes by dtype. The engine has checked the header by the time this is asked. */
  *dtypes(): Generator<[dtype: string, bytes: number]> {
    if (isGguf(this.file)) {
      yield ['GGUF', this.bytes];
      return;
    }
    const tensors = JSON.parse(new TextDecoder().decode(this.header)) as Record<
      string,
      { dtype: string; data_offsets: [number, number] }
    >;
    for (const [name, tensor] of Object.entries(tensors)) {
      if (name !== '__metadata__') yield [tensor.dtype, tensor.data_offsets[1] - tensor.data_offsets[0]];
    }
  }
}

/** Loads a model and tells what it is made of. seq: tokens of the sequence to reckon with; default: the model's max_length. */
export async function inspectModel(
  model?: ModelSpecifier | null,
  { seq, ...options }: LoadOptions & { seq?: number | undefined } = {},
): Promise<Inspection> {
  checkOptions('inspect', { seq }, { seq: 'count' });
  const readers = new Map<string, HeaderReader>();
  const load = (head: HeadKind) => {
    readers.clear();
    return Engine.load('inspect', model, options, head, (file, chunk) => {
      const reader = readers.get(file) ?? new HeaderReader(file);
      readers.set(file, reader);
      reader.push(chunk);
    });
  };
  // An encoder; what is none may be a decoder, whose module then says what is wrong with it.
  const engine = await load('none').catch((error: Error) => {
    if (!(error instanceof UnsupportedError) || !/model_type|general\.architecture/.test(error.message)) throw error;
    return load('causal_lm').catch((other: Error) => {
      if (!(other instanceof UnsupportedError) || !other.message.includes('text2text-generation')) throw other;
      return load('seq2seq_lm');
    });
  });
  try {
    const { model_type, max_length } = engine.info;
    const tokens = seq ?? max_length;
    const layers = engine.call((handle) => handle.summary(tokens)).rows;
    const stored: Record<string, number> = {};
    for (const reader of readers.values()) {
      for (const [dtype, bytes] of reader.dtypes()) stored[dtype] = (stored[dtype] ?? 0) + bytes;
    }
    const sum = (field: 'parameters' | 'mult_adds') => layers.reduce((total, layer) => total + layer[field], 0);
    return {
      model_type,
      seq: tokens,
      layers: layers.map(({ name, type, output, kernel, parameters, mult_adds }) => ({
        name,
        type,
        output,
        kernel,
        parameters,
        mult_adds,
      })),
      parameters: sum('parameters'),
      mult_adds: sum('mult_adds'),
      bytes: { stored, held: { [engine.info.dtype]: engine.memory.weights } },
      files: Object.fromEntries([...readers].map(([file, reader]) => [file, reader.bytes])),
      memory: engine.memory,
    };
  } finally {
    engine.dispose();
  }
}
