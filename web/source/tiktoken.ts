// Reads tiktoken's vocabularies as tokenizer.json. A line is a token in base64 and its rank. The files name neither what divides words nor the
// special tokens: those are in the code that comes with them (https://github.com/openai/tiktoken, tiktoken_ext/openai_public.py; Qwen's
// tokenization_qwen.py), so that a vocabulary is known by its name.
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
}

const [kEnd, kPrompt] = ['<|endoftext|>', '<|endofprompt|>'];
const middle = (at: number) => ({ '<|fim_prefix|>': at, '<|fim_middle|>': at + 1, '<|fim_suffix|>': at + 2 });
const kQwen = [kEnd, '<|im_start|>', '<|im_end|>', ...Array.from({ length: 205 }, (_, i) => `<|extra_${i}|>`)];

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
};

/** The character of each byte in byte-level BPE: printable ones stand for themselves, the others for those from U+0100 on. */
const kBytes = (() => {
  let next = 256;
  const isPrintable = (byte: number) => (byte > 32 && byte < 127) || (byte > 160 && byte !== 173);
  return Array.from({ length: 256 }, (_, byte) => String.fromCharCode(isPrintable(byte) ? byte : next++));
})();

/** The contents of a tokenizer.json. file: its name, without folders. */
export function tiktokenToJson(file: string, bytes: Uint8Array): Uint8Array {
  const kind = kKinds[file.replace(/\.tiktoken$/i, '')];
  if (!kind) {
    throw new UnsupportedError(`${file}: expected a vocabulary of a known name, ${Object.keys(kKinds).join(', ')} with .tiktoken`);
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
    post_processor: null,
    decoder: bytesAs({ use_regex: true }),
    // An added token gets its id from the vocabulary. No word is one, as the expressions above divide it.
    model: { type: 'BPE', ignore_merges: true, vocab: { ...Object.fromEntries(ranks), ...kind.special }, merges },
  };
  return new TextEncoder().encode(JSON.stringify(json));
}
