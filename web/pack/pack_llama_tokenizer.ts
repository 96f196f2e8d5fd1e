// The vocabulary and the settings of a tokenizer under llama.cpp's keys (its src/llama-vocab.cpp says what they mean).
import { ModelFormatError } from '../core/errors.js';
import type { NamedBytes } from '../source/model_files.js';
import type { GgufValue } from '../source/gguf_writer.js';
import { jsonOf } from './pack_config.js';
import { tokenizerOf } from './pack_tokenizer.js';

type Json = Record<string, any>;
export type Metadata = [key: string, value: GgufValue][];

/** Why llama.cpp cannot read the model. */
export class Unlike extends Error {}
export const unlike = (reason: string): never => {
  throw new Unlike(reason);
};

const kTypes = { normal: 1, unknown: 2, control: 3, user: 4, unused: 5, byte: 6 };

/** The name of tokenizer.ggml.pre for byte-level BPE; what splits words there is known by name. */
function preOf(part: Json | null | undefined): string {
  const steps: Json[] = part?.['type'] === 'Sequence' ? part['pretokenizers'] : part ? [part] : [];
  const last = steps.at(-1);
  const patterns = steps.slice(0, -1).map((step) => step['pattern']?.Regex ?? step['type']);
  if (last?.['type'] !== 'ByteLevel') unlike('its words are not split as in byte-level BPE');
  const [pattern] = patterns;
  if (patterns.length === 0 && last?.['use_regex'] !== false && last?.['add_prefix_space'] !== true) return 'gpt-2';
  if (pattern === 'Digits' && patterns.length === 1) return 'smollm';
  if (
    patterns.length === 1 &&
    String(pattern).startsWith("(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}|")
  )
    return 'llama-bpe';
  if (patterns.length === 1 && String(pattern).startsWith("(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}|"))
    return 'qwen2';
  return unlike('llama.cpp does not support its word splitting');
}

const has = (part: unknown, type: string): boolean =>
  typeof part === 'object' &&
  part !== null &&
  ((part as Json)['type'] === type || Object.values(part).some((each) => has(each, type)));

/** The special tokens around one text. */
function around(processor: Json | null | undefined): { first?: string; last?: string } {
  if (!processor) return {};
  if (processor['type'] === 'Sequence') return around(processor['processors'].find((each: Json) => each['type'] !== 'ByteLevel'));
  if (processor['sep']) return { first: processor['cls'][0], last: processor['sep'][0] };
  const single: Json[] = processor['single'] ?? [];
  const at = single.findIndex((piece) => piece['Sequence']);
  const nameOf = (piece: Json | undefined) => piece?.['SpecialToken']?.id as string | undefined;
  const [first, last] = [nameOf(single[at - 1]), nameOf(single[at + 1])];
  return { ...(first !== undefined && { first }), ...(last !== undefined && { last }) };
}

/** rows: of the embeddings. gpt2: the name there of what splits words as GPT-2 does. */
export function tokenizerKeys(files: readonly NamedBytes[], rows: number, gpt2: string): { keys: Metadata; tokenizer: Json } {
  const source = tokenizerOf(files) ?? unlike('it has no tokenizer.json');
  const settings = jsonOf(files, 'tokenizer_config.json') ?? {};
  const config = jsonOf(files, 'config.json') ?? {};
  const model: Json = source['model'];
  const { vocab } = model;
  const isUnigram = Array.isArray(vocab);
  const kind: string = model['type'] ?? (isUnigram ? 'Unigram' : model['merges'] ? 'BPE' : 'WordPiece');
  const entries: [string, number][] = isUnigram ? vocab.map(([piece], id) => [piece, id]) : Object.entries(vocab);
  const pieces: (string | undefined)[] = new Array(rows).fill(undefined);
  const types = new Int32Array(rows).fill(kTypes.unused);
  const put = (piece: string, id: number, type: number) => {
    if (!(Number.isInteger(id) && id >= 0))
      throw new ModelFormatError(`tokenizer.json: expected an id for '${piece}', found ${id}`);
    if (id >= rows) unlike(`its tokenizer has more pieces than its embeddings have rows`);
    [pieces[id], types[id]] = [piece, type];
  };
  const isByte = (piece: string) => model['byte_fallback'] === true && /^<0x[0-9A-F]{2}>$/.test(piece);
  for (const [piece, id] of entries) put(piece, id, isByte(piece) ? kTypes.byte : kTypes.normal);
  for (const { content, id, special } of source['added_tokens'] ?? []) put(content, id, special ? kTypes.control : kTypes.user);
  const idOf = (token: unknown) =>
    pieces.indexOf(typeof token === 'string' ? token : String((token as Json | undefined)?.['content']));
  const unknown = isUnigram ? model['unk_id'] : idOf(model['unk_token']);
  if (kind !== 'WordPiece' && Number.isInteger(unknown) && unknown >= 0) types[unknown] = kTypes.unknown;

  const keys: Metadata = [];
  const add = (key: string, value: GgufValue) => keys.push([`tokenizer.ggml.${key}`, value]);
  let tokens = pieces.map((piece, id) => piece ?? `[PAD${id}]`);
  let { tokenizer } = { tokenizer: source };
  const count = entries.length;
  const isBeginning = entries.every(([, id]) => id < count);
  if (kind === 'WordPiece') {
    if (source['normalizer']?.type !== 'BertNormalizer' || source['pre_tokenizer']?.type !== 'BertPreTokenizer')
      unlike('its words are not split as in BERT');
    if ((model['continuing_subword_prefix'] ?? '##') !== '##') unlike("its pieces are not marked by '##'");
    tokens = tokens.map((piece, id) => {
      if (types[id] === kTypes.control || types[id] === kTypes.unused) return piece;
      return piece.startsWith('##') ? piece.slice(2) : `\u2581${piece}`;
    });
    // Written back by src/core/gguf.cpp, which must find the same.
    const back = (token: string, id: number) =>
      types[id] === kTypes.control ? token : token.startsWith('\u2581') ? token.slice(1) : `##${token}`;
    if (isBeginning && entries.every(([piece, id]) => back(tokens[id] as string, id) === piece))
      tokenizer = { ...source, model: { ...model, vocab: { 'tokenizer.ggml.tokens': count } } };
    add('model', 'bert');
    add('pre', 'default');
    add('normalizer.lowercase', source['normalizer'].lowercase !== false);
    add('normalizer.strip_accents', source['normalizer'].strip_accents ?? source['normalizer'].lowercase !== false);
  } else if (isUnigram) {
    const charsmap = /"precompiled_charsmap":\s*"([^"]*)"/.exec(JSON.stringify(source['normalizer'] ?? null))?.[1];
    add('model', 't5');
    add('pre', 'default');
    add(
      'scores',
      Float32Array.from({ length: rows }, (_, id) => (vocab[id] as [string, number] | undefined)?.[1] ?? -10000),
    );
    add('add_space_prefix', !JSON.stringify(source['pre_tokenizer']).includes('"never"'));
    add('remove_extra_whitespaces', charsmap !== undefined || has(source['pre_tokenizer'], 'WhitespaceSplit'));
    if (charsmap)
      add(
        'precompiled_charsmap',
        Uint8Array.from(atob(charsmap), (letter) => letter.charCodeAt(0)),
      );
  } else if (kind === 'BPE') {
    const merges: (string | [string, string])[] = model['merges'] ?? [];
    const parts = merges.map((merge) => (typeof merge === 'string' ? merge : merge.join(' ')));
    if (has(source['pre_tokenizer'], 'ByteLevel')) {
      if (source['normalizer'] && !has(source['normalizer'], 'NFC')) unlike('llama.cpp does not support its normalizer');
      add('model', 'gpt2');
      const pre = preOf(source['pre_tokenizer']);
      add('pre', pre === 'gpt-2' ? gpt2 : pre);
      add('merges', parts);
      const shared = { ...model };
      if (isBeginning && entries.every(([piece, id]) => tokens[id] === piece)) shared['vocab'] = { 'tokenizer.ggml.tokens': count };
      if (merges.every((merge) => typeof merge === 'string')) shared['merges'] = 'tokenizer.ggml.merges';
      tokenizer = { ...source, model: shared };
    } else {
      if (!types.includes(kTypes.byte)) unlike('its BPE has neither a byte-level alphabet nor bytes');
      const rank = new Map<string, number>();
      merges.forEach((merge, i) => {
        const made = typeof merge === 'string' ? merge.replace(' ', '') : merge.join('');
        if (!rank.has(made)) rank.set(made, i + 1);
      });
      add('model', 'llama');
      add('pre', 'default');
      add(
        'scores',
        Float32Array.from(tokens, (token) => -(rank.get(token) ?? (types[idOf(token)] === kTypes.normal ? merges.length + 1 : 0))),
      );
      add(
        'add_space_prefix',
        has(source['normalizer'], 'Prepend') || JSON.stringify(source['pre_tokenizer']).includes('Metaspace'),
      );
    }
  } else unlike(`its tokenizer has another type (${kind})`);
  add('tokens', tokens);
  add('token_type', types);
  const { first, last } = around(source['post_processor']);
  const named = (name: string, ...others: (string | undefined)[]) =>
    [settings[name], ...others].map(idOf).find((id) => id >= 0) ?? config[`${name}_id`] ?? -1;
  const ids: [string, unknown][] = [
    ['bos', first === undefined ? named('bos_token') : idOf(first)],
    ['eos', last === undefined ? named('eos_token') : idOf(last)],
    ['unknown', unknown],
    ['seperator', named('sep_token', last)], // spelled so there
    ['padding', named('pad_token', '[PAD]', '<pad>')],
    ['cls', named('cls_token', first)],
    ['mask', named('mask_token', '[MASK]', '<mask>')],
  ];
  for (const [name, id] of ids)
    if (Number.isInteger(id) && (id as number) >= 0 && (id as number) < rows) add(`${name}_token_id`, id as number);
  add('add_bos_token', first !== undefined);
  add('add_eos_token', last !== undefined && kind !== 'WordPiece');
  const chat = settings['chat_template'];
  if (typeof chat === 'string') keys.push(['tokenizer.chat_template', chat]);
  return { keys, tokenizer };
}
