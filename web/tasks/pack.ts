// Packs a model as one GGUF file, with the repository's small files as metadata and tensors under the checkpoint's names.
import { InputError, UnsupportedError } from '../core/errors.js';
import { openGguf } from '../source/gguf_file.js';
import { loadFrom } from '../source/load_from.js';
import { openModelFiles, streamWeights } from '../source/weight_files.js';
import { kSourceRules, openModel } from '../source/model_source.js';
import { checkOptions } from '../core/options.js';
import { floatToHalf } from '../core/half.js';
import { concat } from '../core/texts.js';
import { isFloat, readSafetensors, toFloats, type StoredTensor } from '../source/safetensors.js';
import type { ModelSpecifier, SourceOptions } from '../source/types.js';

export interface PackOptions extends SourceOptions {
  /** Data type of the matrices: `'q8'` (default; blocks of 32 int8 with a scale, GGUF's q8_0), `'q4'` (q4_0) or `'f32'`. */
  dtype?: 'f32' | 'q8' | 'q4' | undefined;
}

const kAlignment = 32;
/** ggml's numbers of the types, and bytes of a block of 32. */
const kTypes = { f32: { type: 0, blockBytes: 128 }, q4: { type: 2, blockBytes: 18 }, q8: { type: 8, blockBytes: 34 } };

/** Blocks of 32: an f16 scale and int8 (ggml's quantize_row_q8_0_ref). */
function toQ8(values: Float32Array): Uint8Array {
  const out = new DataView(new ArrayBuffer((values.length / 32) * 34));
  for (let block = 0; block < values.length / 32; ++block) {
    const part = values.subarray(32 * block, 32 * block + 32);
    const scale = Math.fround(part.reduce((most, value) => Math.max(most, Math.abs(value)), 0) / 127);
    const inverse = scale === 0 ? 0 : Math.fround(1 / scale);
    out.setUint16(34 * block, floatToHalf(scale), true);
    part.forEach((value, i) => {
      const scaled = Math.fround(value * inverse);
      out.setInt8(34 * block + 2 + i, Math.sign(scaled) * Math.floor(Math.abs(scaled) + 0.5));
    });
  }
  return new Uint8Array(out.buffer);
}

/** Blocks of 32: an f16 scale and four bits less 8, the low nibbles first (ggml's quantize_row_q4_0_ref). */
function toQ4(values: Float32Array): Uint8Array {
  const out = new DataView(new ArrayBuffer((values.length / 32) * 18));
  for (let block = 0; block < values.length / 32; ++block) {
    const part = values.subarray(32 * block, 32 * block + 32);
    const extreme = part.reduce((most, value) => (Math.abs(value) > Math.abs(most) ? value : most), 0);
    const scale = Math.fround(extreme / -8);
    const inverse = scale === 0 ? 0 : Math.fround(1 / scale);
    out.setUint16(18 * block, floatToHalf(scale), true);
    const nibble = (i: number) => Math.min(15, Math.floor(Math.fround(Math.fround((part[i] as number) * inverse) + 8.5)));
    for (let i = 0; i < 16; ++i) out.setUint8(18 * block + 2 + i, nibble(i) | (nibble(i + 16) << 4));
  }
  return new Uint8Array(out.buffer);
}

class Bytes {
  readonly parts: Uint8Array[] = [];
  size = 0;

  add(bytes: Uint8Array): void {
    this.parts.push(bytes);
    this.size += bytes.length;
  }
  number(value: number, bytes: 4 | 8): void {
    const view = new DataView(new ArrayBuffer(bytes));
    if (bytes === 4) view.setUint32(0, value, true);
    else view.setBigUint64(0, BigInt(value), true);
    this.add(new Uint8Array(view.buffer));
  }
  text(text: string | Uint8Array): void {
    const bytes = typeof text === 'string' ? new TextEncoder().encode(text) : text;
    this.number(bytes.length, 8);
    this.add(bytes);
  }
  align(): void {
    this.add(new Uint8Array((kAlignment - (this.size % kAlignment)) % kAlignment));
  }
  joined(): Uint8Array {
    return concat(Uint8Array, this.parts);
  }
}

const kString = 8;
const kArray = 9;

function writeHeader(files: readonly [string, Uint8Array][], dtype: string, tensors: number): Bytes {
  const out = new Bytes();
  out.add(new TextEncoder().encode('GGUF'));
  out.number(3, 4);
  out.number(tensors, 8);
  out.number(4, 8);
  for (const [key, value] of [
    ['general.architecture', 'wattn'],
    ['wattn.dtype', dtype],
  ] as const) {
    out.text(key);
    out.number(kString, 4);
    out.text(value);
  }
  for (const [key, side] of [
    ['wattn.files', 0],
    ['wattn.contents', 1],
  ] as const) {
    out.text(key);
    out.number(kArray, 4);
    out.number(kString, 4);
    out.number(files.length, 8);
    for (const file of files) out.text(file[side]);
  }
  return out;
}

function writeTensors(header: Bytes, tensors: readonly StoredTensor[], dtype: keyof typeof kTypes): Uint8Array {
  const data = new Bytes();
  const quantize = { f32: (values: Float32Array) => new Uint8Array(values.buffer), q8: toQ8, q4: toQ4 };
  for (const tensor of tensors) {
    const matrix = tensor.shape.length === 2 && (tensor.shape[1] as number) % 32 === 0;
    const kind = matrix ? dtype : 'f32';
    header.text(tensor.name);
    header.number(tensor.shape.length, 4);
    for (const dim of [...tensor.shape].reverse()) header.number(dim, 8);
    header.number(kTypes[kind].type, 4);
    header.number(data.size, 8);
    data.add(quantize[kind](toFloats(tensor)));
    data.align();
  }
  header.align();
  header.add(data.joined());
  return header.joined();
}

/** A JSON file among these; undefined if it is absent. The engine validates modules.json and the index. */
function jsonOf<T>(files: readonly [string, Uint8Array][], name: string): T | undefined {
  const bytes = files.find(([file]) => file === name)?.[1];
  return bytes && (JSON.parse(new TextDecoder().decode(bytes)) as T);
}

const isIndex = (file: string) => file.endsWith('.index.json');

/** The weight files that the index lists, in the order in which the engine reads them. */
function shardsOf(files: readonly [string, Uint8Array][]): string[] {
  const index = files.find(([file]) => isIndex(file))?.[0] ?? '';
  return [...new Set(Object.values(jsonOf<{ weight_map: Record<string, string> }>(files, index)?.weight_map ?? {}))].sort();
}

/** The weight files of the modules behind the pooling. */
function moduleWeights(files: readonly [string, Uint8Array][]): string[] {
  const modules = jsonOf<{ type: string; path: string }[]>(files, 'modules.json') ?? [];
  return modules.filter(({ type }) => /(^|\.)(Dense|LayerNorm)$/.test(type)).map(({ path }) => `${path}/model.safetensors`);
}

/**
 * Packs a model as one GGUF file. It contains the small files, so that it loads like the original. The whole model is held in memory
 * while it is packed.
 */
export async function packModel(model: ModelSpecifier, options: PackOptions = {}): Promise<Uint8Array> {
  checkOptions('pack', options, { ...kSourceRules, dtype: ['f32', 'q8', 'q4'] });
  if (openGguf(model, options)) throw new InputError('pack: expected a model of safetensors or .bin files, found a GGUF file');
  return loadFrom(openModel(model, options), options, async (source, progress, signal) => {
    const { files, single, from = source } = await openModelFiles(source, progress, signal);
    const names = [...(single ? [single.name] : shardsOf(files)), ...moduleWeights(files)];
    const tensors: StoredTensor[] = [];
    let held = new Bytes();
    let current = '';
    const close = () => {
      const folder = current.slice(0, current.lastIndexOf('/') + 1); // a module's tensors are prefixed with its folder
      const found = current === '' ? [] : readSafetensors(held.joined(), current);
      tensors.push(...found.map((tensor) => ({ ...tensor, name: folder + tensor.name })));
      held = new Bytes();
    };
    const sink = {
      begin(file: string) {
        close();
        current = file;
      },
      push: (chunk: Uint8Array) => held.add(chunk.slice()),
    };
    await streamWeights(from, names, single, sink, progress, signal);
    close();
    // Integers are buffers, such as position ids, except in static embeddings.
    const isStatic = jsonOf<{ skip_unknown?: boolean }>(files, 'config.json')?.skip_unknown !== undefined;
    const kept = tensors.filter(({ dtype }) => isStatic || isFloat(dtype));
    if (kept.length === 0) throw new UnsupportedError('pack: expected tensors of F32, F16, BF16 or F64, found none');
    const dtype = options.dtype ?? 'q8';
    const small = files.filter(([name]) => !isIndex(name));
    return writeTensors(writeHeader(small, dtype, kept.length), kept, dtype);
  });
}
