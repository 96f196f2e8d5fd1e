// Reads tiktoken's vocabularies as tokenizer.json. A line is a token in base64 and its rank. The files name neither what divides words nor the
// special tokens. Those are in the code that comes with them (https://github.com/openai/tiktoken, tiktoken_ext/openai_public.py; Qwen's
// tokenization_qwen.py). So a vocabulary is known by its name.
import { ModelFormatError, UnsupportedError } from '../core/errors.js';

const kGpt2 = "'(?:[sdmt]|ll|ve|re)| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";
const kShort = "(?i:'s|'t|'re|'ve|'m|'ll|'d)";
const kSpaces = '\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+';
const wordsOf = (digits: string) => `${kShort}|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|${digits}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|${kSpaces}`;
const [kUpper, kLower] = ['[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]', '[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]'];
const kO200k =
  `[^\\r\\n\\p{L}\\p{N}]?${kUpper}*${kLower}+${kShort}?|[^\\r\\n\\p{L}\\p{N}]?${kUpper}+${kLower}*${kShort}?|\\p{N}{1,3}|` +
  ` ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|${kSpaces}`;

interface Kind {
  words: string;
  special: Record<string, number>;
  normalizer?: object;
  /** Put before each text. */
  first?: string;
}

const [kEnd, kPrompt] = ['<|endoftext|>', '<|endofprompt|>'];
const middle = (at: number) => ({ '<|fim_prefix|>': at, '<|fim_middle|>': at + 1, '<|fim_suffix|>': at + 2 });
const kQwen = [kEnd, '<|im_start|>', '<|im_end|>', ...Array.from({ length: 205 }, (_, i) => `<|extra_${i}|>`)];

// Meta's llama3/llama/tokenizer.py. Later models name the reserved ones otherwise, in tokenizer.json.
const kReserved = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, i) => `<|reserved_special_token_${from + i}|>`);
const kLlama3 = [
  ...['<|begin_of_text|>', '<|end_of_text|>', ...kReserved(0, 4), '<|start_header_id|>', '<|end_header_id|>'],
  ...[...kReserved(4, 5), '<|eot_id|>', ...kReserved(5, 251)],
];

const kKinds: Record<string, Kind> = {
  gpt2: { words: kGpt2, special: { [kEnd]: 50256 } },
  r50k_base: { words: kGpt2, special: { [kEnd]: 50256 } },
  p50k_base: { words: kGpt2, special: { [kEnd]: 50256 } },
  p50k_edit: { words: kGpt2, special: { [kEnd]: 50256, ...middle(50281) } },
  cl100k_base: { words: wordsOf('\\p{N}{1,3}'), special: { [kEnd]: 100257, ...middle(100258), [kPrompt]: 100276 } },
  o200k_base: { words: kO200k, special: { [kEnd]: 199999, [kPrompt]: 200018 } },
  qwen: {
    words: wordsOf('\\p{N}'),
    special: Object.fromEntries(kQwen.map((token, i) => [token, 151643 + i])),
    normalizer: { type: 'NFC' },
  },
  'tokenizer.model': {
    words: wordsOf('\\p{N}{1,3}'),
    special: Object.fromEntries(kLlama3.map((token, i) => [token, 128000 + i])),
    first: '<|begin_of_text|>',
  },
};

/** The character of each byte in byte-level BPE: printable ones stand for themselves, the others for those from U+0100 on. */
const kBytes = (() => {
  let next = 256;
  const isPrintable = (byte: number) => (byte > 32 && byte < 127) || (byte > 160 && byte !== 173);
  return Array.from({ length: 256 }, (_, byte) => String.fromCharCode(isPrintable(byte) ? byte : next++));
})();

/** A template that puts a token before each text. */
function startingWith(id: string, number: number): object {
  const of = (text: string, type_id: number) => [{ SpecialToken: { id, type_id } }, { Sequence: { id: text, type_id } }];
  return {
    type: 'TemplateProcessing',
    single: of('A', 0),
    pair: [...of('A', 0), ...of('B', 1)],
    special_tokens: { [id]: { id, ids: [number], tokens: [id] } },
  };
}

/** [character of base64] its six bits; 64 for any other. */
const kSextets = (() => {
  const sextets = new Uint8Array(256).fill(64);
  const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
  for (let i = 0; i < letters.length; ++i) sextets[letters.charCodeAt(i)] = i;
  return sextets;
})();
const [kSpace, kNewline, kReturn, kEquals, kZero] = [32, 10, 13, 61, 48];

/** Tokens by their bytes, without a string for each: a vocabulary has 200,000, and twice as many merges. */
class ByteTokens {
  count = 0;
  readonly bytes: Uint8Array;
  readonly begins: Uint32Array;
  readonly ranks: Uint32Array;
  private readonly places: Int32Array;

  constructor(mostBytes: number, mostTokens: number) {
    this.bytes = new Uint8Array(mostBytes);
    this.begins = new Uint32Array(mostTokens + 1);
    this.ranks = new Uint32Array(mostTokens);
    this.places = new Int32Array(2 ** Math.ceil(Math.log2(2 * mostTokens + 2))).fill(-1);
  }

  /** The token of bytes [begin, end), or -1 - the place where it belongs. */
  find(bytes: ArrayLike<number>, begin: number, end: number): number {
    let hash = 0;
    for (let at = begin; at < end; ++at) hash = Math.imul(hash ^ (bytes[at] as number), 0x01000193);
    const last = this.places.length - 1;
    for (let place = (hash ^ (hash >>> 15)) & last; ; place = (place + 1) & last) {
      const token = this.places[place] as number;
      if (token < 0) return -1 - place;
      let at = this.begins[token] as number;
      if ((this.begins[token + 1] as number) - at !== end - begin) continue;
      let from = begin;
      while (from < end && this.bytes[at] === bytes[from]) [at, from] = [at + 1, from + 1];
      if (from === end) return token;
    }
  }

  /** Adds the bytes that were written after the last token; false if there is such a token. */
  add(end: number, rank: number): boolean {
    const place = -1 - this.find(this.bytes, this.begins[this.count] as number, end);
    if (place < 0) return false;
    this.places[place] = this.count;
    this.ranks[this.count] = rank;
    this.begins[++this.count] = end;
    return true;
  }
}

function readTokens(file: string, bytes: Uint8Array): ByteTokens {
  const lines = bytes.reduce((count, byte) => count + (byte === kNewline ? 1 : 0), 1);
  const tokens = new ByteTokens(bytes.length, lines);
  for (let begin = 0, line = 1; begin < bytes.length; ++line) {
    const found = bytes.indexOf(kNewline, begin);
    const next = found < 0 ? bytes.length : found;
    const end = next > begin && bytes[next - 1] === kReturn ? next - 1 : next;
    const fail = (what: string) => new ModelFormatError(`${file}: line ${line}: expected ${what}`);
    let to = tokens.begins[tokens.count] as number;
    let at = begin;
    let bits = 0;
    for (let sextet; at < end && (sextet = kSextets[bytes[at] as number] as number) < 64; ++at) {
      bits = (bits << 6) | sextet;
      const spare = 6 - 2 * ((at - begin) % 4); // bits of the next byte
      if (spare < 6) tokens.bytes[to++] = bits >> spare;
    }
    const letters = at - begin;
    while (at < end && bytes[at] === kEquals && at - begin < letters + 2) ++at;
    let isRead = letters > 0 && (at - begin) % 4 === 0 && at < end && bytes[at] === kSpace;
    const digits = end - ++at;
    let rank = 0;
    for (; at < end && isRead; ++at) {
      const digit = (bytes[at] as number) - kZero;
      isRead = digit >= 0 && digit <= 9;
      rank = 10 * rank + digit;
    }
    if (end > begin && !(isRead && digits > 0 && digits <= 9)) {
      const text = new TextDecoder().decode(bytes.subarray(begin, end)).slice(0, 40);
      throw fail(`a token in base64 and its rank, found ${JSON.stringify(text)}`);
    }
    if (end > begin && !tokens.add(to, rank)) throw fail('each token once, found it again');
    begin = next + 1;
  }
  return tokens;
}

/** [byte] its character in JSON, in UTF-8. */
const kJsonBytes = kBytes.map((char) => [...new TextEncoder().encode(JSON.stringify(char).slice(1, -1))]);

/** A file whose `vocab` is not empty and whose `merges` are, with the tokens in both. */
function withTokens(json: string, tokens: ByteTokens): Uint8Array {
  const { bytes, begins, ranks, count } = tokens;
  let out = new Uint8Array(1 << 20);
  let size = 0;
  const room = (more: number): void => {
    if (size + more <= out.length) return;
    const longer = new Uint8Array(2 * (size + more));
    longer.set(out.subarray(0, size));
    out = longer;
  };
  const put = (text: string): void => {
    room(text.length);
    for (let i = 0; i < text.length; ++i) out[size++] = text.charCodeAt(i); // ASCII
  };
  const putBytes = (begin: number, end: number): void => {
    for (let at = begin; at < end; ++at) {
      const char = kJsonBytes[bytes[at] as number] as number[];
      for (let i = 0; i < char.length; ++i) out[size++] = char[i] as number;
    }
  };
  const [before, middle, after] = json.split(/(?<="vocab":\{)|(?<="merges":\[)/) as [string, string, string];
  put(before);
  for (let token = 0; token < count; ++token) {
    const [begin, end] = [begins[token] as number, begins[token + 1] as number];
    room(2 * (end - begin) + 16);
    out[size++] = 34; // "
    putBytes(begin, end);
    put(`":${ranks[token]},`);
  }
  put(middle);
  // Two neighbours may merge if they are a token together, and the lowest rank merges first.
  const byRank = Uint32Array.from({ length: count }, (_, token) => token).sort((a, b) => ranks[a]! - ranks[b]!);
  let comma = '"';
  for (const token of byRank) {
    const [begin, end] = [begins[token] as number, begins[token + 1] as number];
    for (let at = begin + 1; at < end; ++at) {
      if (tokens.find(bytes, begin, at) < 0 || tokens.find(bytes, at, end) < 0) continue;
      room(2 * (end - begin) + 16);
      put(comma);
      putBytes(begin, at);
      out[size++] = kSpace;
      putBytes(at, end);
      comma = '","';
    }
  }
  if (comma !== '"') put('"');
  put(after);
  return out.subarray(0, size);
}

/** The contents of a tokenizer.json. file: its name, without folders. */
export function tiktokenToJson(file: string, bytes: Uint8Array): Uint8Array {
  const kind = kKinds[file.replace(/\.tiktoken$/i, '')];
  if (!kind) {
    const known = Object.keys(kKinds).filter((name) => !name.includes('.'));
    throw new UnsupportedError(`${file}: expected a vocabulary of a known name, ${known.join(', ')} with .tiktoken`);
  }
  const tokens = readTokens(file, bytes);
  const missing = kBytes.findIndex((_, byte) => tokens.find([byte], 0, 1) < 0);
  if (missing >= 0) throw new ModelFormatError(`${file}: expected a token for each byte, found none for ${missing}`);
  const [least] = Object.values(kind.special);
  if (kind.first && tokens.count !== least) {
    throw new UnsupportedError(`${file}: expected the ${least} tokens of Llama 3, found ${tokens.count}: use a tokenizer.json`);
  }
  const added = Object.entries(kind.special).map(([content, id]) => ({
    id,
    content,
    special: true,
    normalized: false,
    single_word: false,
    lstrip: false,
    rstrip: false,
  }));
  const bytesAs = (more: object) => ({ type: 'ByteLevel', add_prefix_space: false, trim_offsets: false, ...more });
  const json = {
    version: '1.0',
    truncation: null,
    padding: null,
    added_tokens: added,
    normalizer: kind.normalizer ?? null,
    pre_tokenizer: {
      type: 'Sequence',
      pretokenizers: [
        { type: 'Split', pattern: { Regex: kind.words }, behavior: 'Isolated', invert: false },
        bytesAs({ use_regex: false }),
      ],
    },
    post_processor: kind.first === undefined ? null : startingWith(kind.first, kind.special[kind.first] as number),
    decoder: bytesAs({ use_regex: true }),
    // An added token gets its id from the vocabulary. No word is one, as the expressions above divide it.
    model: { type: 'BPE', ignore_merges: true, vocab: kind.special, merges: [] },
  };
  return withTokens(JSON.stringify(json), tokens);
}
