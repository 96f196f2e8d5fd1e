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

/** The contents of a tokenizer.json. file: its name, without folders. */
export function tiktokenToJson(file: string, bytes: Uint8Array): Uint8Array {
  const kind = kKinds[file.replace(/\.tiktoken$/i, '')];
  if (!kind) {
    const known = Object.keys(kKinds).filter((name) => !name.includes('.'));
    throw new UnsupportedError(`${file}: expected a vocabulary of a known name, ${known.join(', ')} with .tiktoken`);
  }
  const ranks = new Map<string, number>();
  for (const [i, line] of new TextDecoder().decode(bytes).split(/\r?\n/).entries()) {
    if (line === '') continue;
    const [, base64, rank] = /^([A-Za-z0-9+/]+={0,2}) (\d{1,9})$/.exec(line) ?? [];
    if (base64 === undefined || base64.length % 4 !== 0) {
      throw new ModelFormatError(
        `${file}: line ${i + 1}: expected a token in base64 and its rank, found ${JSON.stringify(line.slice(0, 40))}`,
      );
    }
    const token = Array.from(atob(base64), (char) => kBytes[char.charCodeAt(0)]).join('');
    if (ranks.has(token)) throw new ModelFormatError(`${file}: line ${i + 1}: expected each token once, found it again`);
    ranks.set(token, Number(rank));
  }
  const missing = kBytes.findIndex((char) => !ranks.has(char));
  if (missing >= 0) throw new ModelFormatError(`${file}: expected a token for each byte, found none for ${missing}`);
  const [least] = Object.values(kind.special);
  if (kind.first && ranks.size !== least) {
    throw new UnsupportedError(`${file}: expected the ${least} tokens of Llama 3, found ${ranks.size}: use a tokenizer.json`);
  }
  // Two neighbours may merge if they are a token together, and the lowest rank merges first.
  const merges: [left: string, right: string][] = [];
  for (const [token] of [...ranks].sort(([, a], [, b]) => a - b)) {
    for (let i = 1; i < token.length; ++i) {
      const pair: [string, string] = [token.slice(0, i), token.slice(i)];
      if (pair.every((part) => ranks.has(part))) merges.push(pair);
    }
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
    model: { type: 'BPE', ignore_merges: true, vocab: { ...Object.fromEntries(ranks), ...kind.special }, merges },
  };
  return new TextEncoder().encode(JSON.stringify(json));
}
