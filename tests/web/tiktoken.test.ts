// tiktoken's vocabularies, compared with its rule: among all neighbours in a word, the pair with the lowest rank merges first.
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { AutoTokenizer } from 'wattn';
import { expectError, mixedTexts, root } from './support.js';

const short = "'s|'t|'re|'ve|'m|'ll|'d";
const rest = '| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+';
const folded = short.replace(/[a-z]/g, (letter) => `[${letter}${letter.toUpperCase()}]`);
const [upper, lower] = ['[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]', '[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]'];
const words = {
  gpt2: new RegExp(`${short}| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+`, 'gu'),
  cl100k_base: new RegExp(`${folded}|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}${rest}`, 'gu'),
  o200k_base: new RegExp(
    `[^\\r\\n\\p{L}\\p{N}]?${upper}*${lower}+(?:${folded})?|[^\\r\\n\\p{L}\\p{N}]?${upper}+${lower}*(?:${folded})?|\\p{N}{1,3}` +
      rest.replace('[\\r\\n]*|', '[\\r\\n/]*|'),
    'gu',
  ),
  qwen: new RegExp(`${folded}|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}${rest}`, 'gu'),
};

const texts = [
  "The old boat's waiting, isn't it? I'LL wait 12345 years.\r\n\r\n  Two  spaces",
  'naïve café 日本語 😀\u0301\n\n\tx = 1;',
  ...mixedTexts(60),
].map((text) => Buffer.from(text).toString()); // without lone surrogates
const latin = (text: string) => Buffer.from(text, 'utf8').toString('latin1');

/** Bytes first, in an order of their own, then the pieces that repeated merging of the most frequent pair makes. */
function learned(): Map<string, number> {
  const ranks = new Map(Array.from({ length: 256 }, (_, i) => [String.fromCharCode((i * 7 + 33) % 256), i] as const));
  const pieces = texts.flatMap((text) => (text.match(words.gpt2) ?? []).map((word) => [...latin(word)]));
  while (ranks.size < 600) {
    const counts = new Map<string, number>();
    for (const parts of pieces)
      for (let i = 1; i < parts.length; ++i) {
        const pair = (parts[i - 1] as string) + parts[i];
        counts.set(pair, (counts.get(pair) ?? 0) + 1);
      }
    const best = [...counts].filter(([pair]) => !ranks.has(pair)).sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1))[0];
    if (!best) break;
    ranks.set(best[0], ranks.size);
    for (const parts of pieces)
      for (let i = 1; i < parts.length; ++i) if ((parts[i - 1] as string) + parts[i] === best[0]) parts.splice(i - 1, 2, best[0]);
  }
  return ranks;
}

function encodeWord(word: string, ranks: Map<string, number>): number[] {
  const parts = ranks.has(word) ? [word] : [...word];
  for (;;) {
    let at = -1;
    let lowest = Infinity;
    for (let i = 1; i < parts.length; ++i) {
      const rank = ranks.get((parts[i - 1] as string) + parts[i]) ?? Infinity;
      if (rank < lowest) [at, lowest] = [i, rank];
    }
    if (at < 0) return parts.map((part) => ranks.get(part) as number);
    parts.splice(at - 1, 2, (parts[at - 1] as string) + parts[at]);
  }
}

describe('a .tiktoken file', () => {
  const ranks = learned();
  // Many more that no text has, as in a real vocabulary.
  for (let i = 0; i < 9000; ++i)
    ranks.set(`\xfe\xff\xfe${String.fromCharCode(0xf5 + (i % 8), 0xf5 + ((i >> 3) % 8))}${i}`, ranks.size);
  const file = [...ranks].map(([token, rank]) => `${Buffer.from(token, 'latin1').toString('base64')} ${rank}\n`).join('');
  const bytes = new TextEncoder().encode(file);

  it.each(Object.entries(words))('named %s has the ids of tiktoken', async (name, pattern) => {
    const tokenizer = await AutoTokenizer.from_pretrained(new Map([[`${name}.tiktoken`, bytes]]));
    for (const each of texts) {
      const text = name === 'qwen' ? each.normalize('NFC') : each;
      const want = (text.match(pattern) ?? []).flatMap((word) => encodeWord(latin(word), ranks));
      const ids = tokenizer.encode(each);
      expect([each, ids]).toEqual([each, want]);
      expect(tokenizer.decode(ids)).toBe(text);
    }
    await tokenizer.dispose();
  });

  it('has special tokens, and is found in a folder by its path', async () => {
    const folder = mkdtempSync(join(root, 'node_modules/.tiktoken-'));
    try {
      writeFileSync(join(folder, 'cl100k_base.tiktoken'), file);
      const tokenizer = await AutoTokenizer.from_pretrained(join(folder, 'cl100k_base.tiktoken'));
      expect(tokenizer.encode('<|endoftext|><|endofprompt|>')).toEqual([100257, 100276]);
      expect(tokenizer.eos_token_id).toBe(100257);
      expect(tokenizer.encode('<|endoftext|>', { split_special_tokens: true }).every((id) => id < ranks.size)).toBe(true);
      await tokenizer.dispose();
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('of Llama 3 is called tokenizer.model, as SentencePiece files are', async () => {
    const all = new Map(ranks);
    while (all.size < 128000) all.set(`\xfe\xff${all.size}`, all.size);
    const lines = (of: Map<string, number>) =>
      new TextEncoder().encode(
        [...of].map(([token, rank]) => `${Buffer.from(token, 'latin1').toString('base64')} ${rank}\n`).join(''),
      );
    const tokenizer = await AutoTokenizer.from_pretrained({ 'tokenizer.model': lines(all) });
    for (const text of texts.slice(0, 20)) {
      const want = (text.match(words.cl100k_base) ?? []).flatMap((word) => encodeWord(latin(word), all));
      expect([text, tokenizer.encode(text)]).toEqual([text, [128000, ...want]]);
    }
    const named = [
      '<|end_of_text|>',
      '<|reserved_special_token_3|>',
      '<|start_header_id|>',
      '<|eot_id|>',
      '<|reserved_special_token_250|>',
    ];
    expect(tokenizer.convert_tokens_to_ids(named)).toEqual([128001, 128005, 128006, 128009, 128255]);
    expect([tokenizer.bos_token_id, tokenizer.eos_token_id, tokenizer.vocab_size]).toEqual([128000, 128001, 128256]);
    await tokenizer.dispose();
    const other = AutoTokenizer.from_pretrained({ 'tokenizer.model': lines(ranks) });
    await expectError(other, 'UnsupportedError', /tokenizer\.model: expected the 128000 tokens of Llama 3, found 9/);
  });

  const gpt2 = join(root, '../shared/data/tokenizers/gpt2');
  (existsSync(gpt2) ? it : it.skip)('made of GPT-2 has its ids', async () => {
    const vocab = Object.entries<number>(JSON.parse(readFileSync(join(gpt2, 'vocab.json'), 'utf8')));
    const bytesOf = new Map(Array.from({ length: 256 }, (_, byte) => [byte, (byte > 32 && byte < 127) || (byte > 160 && byte !== 173)] as const)
      .sort(([a, m], [b, n]) => Number(n) - Number(m) || a - b)
      .map(([byte, isItself], i) => [isItself ? byte : 256 + i - 188, byte])); // prettier-ignore
    const lines = vocab
      .filter(([token]) => token !== '<|endoftext|>')
      .map(
        ([token, id]) =>
          `${Buffer.from([...token].map((char) => bytesOf.get(char.charCodeAt(0)) as number)).toString('base64')} ${id}`,
      );
    const own = await AutoTokenizer.from_pretrained({ 'gpt2.tiktoken': new TextEncoder().encode(lines.join('\n')) });
    const other = await AutoTokenizer.from_pretrained(gpt2);
    for (const text of [...texts, 'a<|endoftext|>b']) expect(own.encode(text)).toEqual(other.encode(text));
    expect([own.vocab_size, [...own.get_vocab()]]).toEqual([50257, [...other.get_vocab()]]);
    await own.dispose();
    await other.dispose();
  });

  it('is refused by name if it is unknown or damaged', async () => {
    const load = (name: string, text: string) => AutoTokenizer.from_pretrained({ [name]: new TextEncoder().encode(text) });
    await expectError(load('own.tiktoken', file), 'UnsupportedError', /own\.tiktoken: expected a vocabulary of a known name, gpt2/);
    await expectError(
      load('gpt2.tiktoken', `${file}IQ==\n`),
      'ModelFormatError',
      /gpt2\.tiktoken: line \d+: expected a token in base64/,
    );
    await expectError(load('gpt2.tiktoken', `${file}IQ== 9999\n`), 'ModelFormatError', /line \d+: expected each token once/);
    const without = file.replace('IQ== 0\n', '');
    await expectError(load('gpt2.tiktoken', without), 'ModelFormatError', /expected a token for each byte, found none for 33/);
  });
});
