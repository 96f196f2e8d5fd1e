// Reads a tokenizer's files out of the header of a GGUF file: what models/gguf_config.cpp does for models, for tokenizers alone.
import { ModelFormatError } from '../core/errors.js';
import type { NamedBytes } from './model_files.js';

/** Bytes of a value, by ggml's number of its type; 0: a string or an array. */
const kBytes = [1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8];
const [kString, kArray] = [8, 9];
const [kNormal, kControl] = [1, 3];

/** Where a value is: arrays are read when they are needed. */
interface Place {
  type: number;
  count: number;
  at: number;
}

/** ggml's number of W8, the rows that q8 multiplies. */
const kW8 = 1 << 16;

const kWord = '▁';
/** llama.cpp's names of the special tokens, and ours. */
const kNames = {
  bos: 'bos_token',
  eos: 'eos_token',
  unknown: 'unk_token',
  seperator: 'sep_token', // llama.cpp's spelling
  separator: 'sep_token',
  padding: 'pad_token',
  cls: 'cls_token',
  mask: 'mask_token',
};

class Header {
  private readonly view: DataView;
  private readonly values = new Map<string, Place>();
  private readonly numTensors: number;
  private readonly tensors: number;
  private at = 8; // after the magic and the version

  constructor(private readonly bytes: Uint8Array) {
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.numTensors = this.size();
    for (let left = this.size(); left > 0; --left) {
      const key = this.text();
      let type = this.number();
      const isArray = type === kArray;
      if (isArray) type = this.number();
      const count = isArray ? this.size() : 1;
      this.values.set(key, { type, count, at: this.at });
      this.skip(type, count);
    }
    this.tensors = this.at;
  }

  /** Whether a tensor has this type. */
  hasTensors(wanted: number): boolean {
    this.at = this.tensors;
    for (let left = this.numTensors; left > 0; --left) {
      this.part(); // its name
      const sizes = this.number();
      this.at += 8 * sizes;
      if (this.number() === wanted) return true;
      this.at += 8; // where it is
    }
    return false;
  }

  private number(): number {
    const value = this.view.getUint32(this.at, true);
    this.at += 4;
    return value;
  }
  private size(): number {
    const value = Number(this.view.getBigUint64(this.at, true));
    this.at += 8;
    return value;
  }
  private part(): Uint8Array {
    const size = this.size();
    return this.bytes.subarray(this.at, (this.at += size));
  }
  private text = () => new TextDecoder('utf-8', { ignoreBOM: true }).decode(this.part());
  private skip(type: number, count: number): void {
    const each = kBytes[type];
    if (each === undefined) throw new ModelFormatError(`GGUF: expected a value of a known type, found type ${type}`);
    if (each > 0) this.at += each * count;
    else for (let i = 0; i < count; ++i) this.part();
  }

  parts(key: string): Uint8Array[] {
    const place = this.values.get(key);
    if (place?.type !== kString) return [];
    this.at = place.at;
    return Array.from({ length: place.count }, () => this.part());
  }
  strings(key: string): string[] {
    const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
    return this.parts(key).map((part) => decoder.decode(part));
  }
  /** Whole numbers of 32 bits, as ids and kinds of tokens are. */
  wholes(key: string): number[] {
    const place = this.values.get(key);
    if (place?.type !== 4 && place?.type !== 5) return [];
    return Array.from({ length: place.count }, (_, i) => this.view.getUint32(place.at + 4 * i, true));
  }
}

const isWordPiece = (header: Header) => header.strings('tokenizer.ggml.model')[0] === 'bert';

/** The vocabulary. llama.cpp marks the pieces that begin a word, WordPiece those that continue one. */
function pieces(header: Header): string[] {
  const kinds = header.wholes('tokenizer.ggml.token_type');
  const isMarked = isWordPiece(header);
  return header.strings('tokenizer.ggml.tokens').map((token, id) => {
    if (!isMarked || kinds[id] === kControl) return token;
    if (token.startsWith(kWord)) return token.slice(1);
    return (kinds[id] ?? kNormal) === kNormal && !/^\[.+\]$/.test(token) ? `##${token}` : token;
  });
}

/** tokenizer.json of a packed model, which may leave its vocabulary and merges to llama.cpp's keys (GgufMetadata::fill_tokenizer). */
function filled(header: Header, packed: string): string {
  const vocab = (_: string, count: string) =>
    `{${pieces(header)
      .slice(0, Number(count))
      .map((piece, id) => `${JSON.stringify(piece)}:${id}`)}}`; // an object would sort "0"
  return packed
    .replace(/\{"tokenizer\.ggml\.tokens":(\d+)\}/, vocab)
    .replace('"tokenizer.ggml.merges"', () => JSON.stringify(header.strings('tokenizer.ggml.merges')));
}

/** The files of a model, with the whole tokenizer.json: the engine reads the vocabulary of a packed WordPiece from the GGUF file itself. */
export function withVocabulary(files: readonly NamedBytes[]): readonly NamedBytes[] {
  const gguf = files.find(([name]) => name.endsWith('.gguf'));
  if (!gguf || !files.some(([name]) => name === 'tokenizer.json')) return files;
  const own = new Map(ggufTokenizerFiles(gguf[1]));
  return files.map(([name, bytes]): NamedBytes => [name, (name === 'tokenizer.json' && own.get(name)) || bytes]);
}

/**
 * The files of the tokenizer in a GGUF file. bytes: its beginning, all metadata included. Other programs' have no vocabulary but
 * that of WordPiece, as vocab.txt. */
export function ggufTokenizerFiles(bytes: Uint8Array): NamedBytes[] {
  const header = new Header(bytes);
  const contents = header.parts('wattn.contents');
  const names = header.strings('wattn.files');
  const vocabulary: NamedBytes[] =
    isWordPiece(header) && !names.includes('tokenizer.json')
      ? [['vocab.txt', new TextEncoder().encode(pieces(header).join('\n'))]]
      : [];
  if (names.length > 0) {
    const packed = names.flatMap((name, i): NamedBytes[] => {
      const content = contents[i];
      if (!content || !/^((tokenizer(_config)?|special_tokens_map|added_tokens)\.json|chat_template\.jinja)$/.test(name)) return [];
      if (name !== 'tokenizer.json') return [[name, content.slice()]];
      return [[name, new TextEncoder().encode(filled(header, new TextDecoder().decode(content)))]];
    });
    return [...vocabulary, ...packed];
  }
  const config: Record<string, string> = {}; // WordPiece has the usual names, some of which such files lack
  const tokens = header.parts('tokenizer.ggml.tokens');
  for (const [key, name] of Object.entries(kNames)) {
    const token = tokens[header.wholes(`tokenizer.ggml.${key}_token_id`)[0] ?? -1];
    if (token && !isWordPiece(header)) config[name] = new TextDecoder().decode(token);
  }
  const [template] = header.strings('tokenizer.chat_template');
  if (template !== undefined) config.chat_template = template;
  return [...vocabulary, ['tokenizer_config.json', new TextEncoder().encode(JSON.stringify(config))]];
}

/** All small files in a file that `wattn pack` wrote. bytes: its beginning, all metadata included. */
export function packedFiles(bytes: Uint8Array): NamedBytes[] {
  const header = new Header(bytes);
  const contents = header.parts('wattn.contents');
  return header.strings('wattn.files').map((name, i): NamedBytes => {
    const content = contents[i] as Uint8Array;
    const isFilled = name === 'tokenizer.json';
    return [name, isFilled ? new TextEncoder().encode(filled(header, new TextDecoder().decode(content))) : content.slice()];
  });
}

/** Our own models, which were trained to be run as q8 (bundled_model.ts). */
const kOwnModels = /^wattn-[a-z]+$/;

/** The data type that a packed model is run as: rows that q8 multiplies were written to be used as they are. header: whole. */
export function ownDtype(bytes: Uint8Array): 'q8' | 'f32' {
  try {
    const header = new Header(bytes);
    return kOwnModels.test(header.strings('general.name')[0] ?? '') || header.hasTensors(kW8) ? 'q8' : 'f32';
  } catch {
    return 'f32'; // a damaged header, which loading reports
  }
}
