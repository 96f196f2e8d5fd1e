// A smaller vocabulary for a tokenizer.json: which pieces stay, and the file with their new ids.
import { describe, InputError, ModelFormatError, UnsupportedError } from '../core/errors.js';

/** Parsed JSON: read with care, and passed on as it is. */
type Json = Record<string, any>;

/** What cannot be in a text: room that others left for tokens of their own. */
const kRoom = /^[[<]?\|?(unused|reserved_special_token|reserved)[_-]?\d+\|?[\]>]?$/i;
const kByte = /^<0x[0-9A-F]{2}>$/;

export interface Vocabulary {
  /** The piece of each id; undefined: none. */
  pieces: (string | undefined)[];
  /** Ids that every cut keeps: special tokens, single characters, bytes. */
  kept: Set<number>;
  /** The pieces that one must have too, so that the tokenizer can make it; undefined: it cannot. */
  needs(id: number): readonly number[] | undefined;
}

/** A merge's two parts. */
const partsOf = (merge: string | [string, string]): [string, string] => {
  if (typeof merge !== 'string') return merge;
  const space = merge.indexOf(' ', 1);
  return [merge.slice(0, space), merge.slice(space + 1)];
};
const merged = (first: string, second: string, prefix: string): string =>
  first + (prefix !== '' && second.startsWith(prefix) ? second.slice(prefix.length) : second);

/** The ids of a post-processor: of templates, and of BERT's and RoBERTa's. */
function postProcessorIds(part: unknown): number[] {
  if (typeof part !== 'object' || part === null) return [];
  const { ids, sep, cls, ...others } = part as Json;
  const own = [...(Array.isArray(ids) ? ids : []), sep?.[1], cls?.[1]].filter((id) => Number.isInteger(id)) as number[];
  return [...own, ...Object.values(others).flatMap(postProcessorIds)];
}

/** The pieces that merges make on the way to a token, itself included; undefined: they do not make it. */
function derivation(token: string, model: Json, ranks: ReadonlyMap<string, number>): string[] | undefined {
  const prefix: string = model['continuing_subword_prefix'] ?? '';
  const suffix: string = model['end_of_word_suffix'] ?? '';
  const ends = suffix !== '' && token.endsWith(suffix);
  const begins = prefix === '' || !token.startsWith(prefix);
  const characters = [...token.slice(begins ? 0 : prefix.length, ends ? -suffix.length : undefined)];
  const symbols = characters.map(
    (character, i) => (i > 0 || !begins ? prefix : '') + character + (ends && i === characters.length - 1 ? suffix : ''),
  );
  const made = [...symbols];
  while (symbols.length > 1) {
    let [best, at] = [Infinity, -1];
    for (let i = 0; i + 1 < symbols.length; ++i) {
      const rank = ranks.get(`${symbols[i]?.length}:${symbols[i]}${symbols[i + 1]}`) ?? Infinity;
      if (rank < best) [best, at] = [rank, i];
    }
    if (at < 0) return undefined;
    const piece = merged(symbols[at] as string, symbols[at + 1] as string, prefix);
    symbols.splice(at, 2, piece);
    made.push(piece);
  }
  return symbols[0] === token ? made : undefined;
}

/** Reads tokenizer.json. alsoKept: ids that the model's other files name. */
export function readVocabulary(source: Json, alsoKept: readonly number[]): Vocabulary {
  const model: Json = source['model'] ?? {};
  const { type, vocab } = model;
  const known = ['WordPiece', 'BPE', 'Unigram', 'WordLevel'];
  const kind: string = type ?? (Array.isArray(vocab) ? 'Unigram' : model['merges'] ? 'BPE' : 'WordPiece');
  if (!known.includes(kind) || typeof vocab !== 'object' || vocab === null)
    throw new UnsupportedError(`tokenizer.json: model.type: expected ${known.join(', ')}, found ${describe(type)}`);
  const rows: [string, number][] = Array.isArray(vocab) ? vocab.map(([piece], id) => [piece, id]) : Object.entries(vocab);
  const added: Json[] = source['added_tokens'] ?? [];
  const pieces: (string | undefined)[] = [];
  for (const [piece, id] of [...rows, ...added.map(({ content, id }): [string, number] => [content, id])]) {
    if (!Number.isInteger(id) || id < 0 || id > 1 << 24)
      throw new ModelFormatError(`tokenizer.json: '${piece}': expected an id below 2^24, found ${describe(id)}`);
    pieces[id] = piece;
  }
  const ids = new Map(rows);
  const prefix: string = model['continuing_subword_prefix'] ?? (kind === 'WordPiece' ? '##' : '');
  const suffix: string = model['end_of_word_suffix'] ?? '';
  const isBase = (piece: string) => {
    const inner = piece.slice(
      prefix !== '' && piece.startsWith(prefix) && piece.length > prefix.length ? prefix.length : 0,
      suffix !== '' && piece.endsWith(suffix) && piece.length > suffix.length ? -suffix.length : undefined,
    );
    return kByte.test(piece) || [...inner].length === 1;
  };
  const unk = typeof model['unk_token'] === 'string' ? ids.get(model['unk_token']) : model['unk_id'];
  const special = [...alsoKept, ...postProcessorIds(source['post_processor']), source['padding']?.pad_id, unk];
  const kept = new Set<number>(special.filter((id) => Number.isInteger(id) && pieces[id] !== undefined));
  for (const { content, id } of added) if (!kRoom.test(content)) kept.add(id);
  for (const [piece, id] of rows) if (isBase(piece)) kept.add(id);

  const ranks = new Map<string, number>();
  (model['merges'] ?? []).forEach((merge: string | [string, string], rank: number) => {
    const [first, second] = partsOf(merge);
    const key = `${first.length}:${first}${second}`;
    if (!ranks.has(key)) ranks.set(key, rank);
  });
  const needs = (id: number) => {
    if (kind !== 'BPE') return [id];
    const made = derivation(pieces[id] as string, model, ranks)?.map((piece) => ids.get(piece));
    return made?.every((one) => one !== undefined) ? (made as number[]) : model['ignore_merges'] === true ? [id] : undefined;
  };
  return { pieces, kept, needs };
}

/**
 * The ids of the pieces that stay, rising: those that every cut keeps, then those that texts use most, then, while there is room, the others
 * from the vocabulary's beginning. counts: occurrences of each id.
 */
export function chooseIds({ pieces, kept, needs }: Vocabulary, counts: Float64Array, size: number): Int32Array {
  const all = pieces.flatMap((piece, id) => (piece === undefined ? [] : [id]));
  if (kept.size > size) {
    throw new InputError(
      `pack: option 'vocab': expected at least ${kept.size} (special tokens, single characters and bytes stay), found ${size}`,
    );
  }
  if (size >= all.length)
    throw new InputError(`pack: option 'vocab': expected fewer than the model's ${all.length} pieces, found ${size}`);
  const rank = (id: number) => (kRoom.test(pieces[id] as string) ? -1 : (counts[id] as number));
  const chosen = new Set(kept);
  for (const id of all.sort((a, b) => rank(b) - rank(a) || a - b)) {
    if (chosen.size >= size) break;
    if (chosen.has(id)) continue;
    const more = new Set((needs(id) ?? []).filter((one) => !chosen.has(one)));
    if (chosen.size + more.size <= size) for (const one of more) chosen.add(one);
  }
  return Int32Array.from(chosen).sort();
}

/** tokenizer.json with other ids. newId: undefined for pieces that go. */
export function cutTokenizer(source: Json, newId: (id: number) => number | undefined): Json {
  const model: Json = source['model'];
  const { vocab } = model;
  const prefix: string = model['continuing_subword_prefix'] ?? '';
  const stays = (piece: string) => Object.hasOwn(vocab, piece) && newId(vocab[piece]) !== undefined;
  const isArray = Array.isArray(vocab);
  const renumber = (part: unknown): unknown => {
    if (Array.isArray(part)) {
      const [token, id] = part;
      return part.length === 2 && typeof token === 'string' && Number.isInteger(id) ? [token, newId(id) ?? id] : part.map(renumber);
    }
    if (typeof part !== 'object' || part === null) return part;
    const entries = Object.entries(part).map(([key, value]) => [
      key,
      key === 'ids' && Array.isArray(value) ? value.map((id) => newId(id) ?? id) : renumber(value),
    ]);
    return Object.fromEntries(entries) as Json;
  };
  const added: Json[] = source['added_tokens'] ?? [];
  const { padding } = source;
  return {
    ...source,
    ...(padding && { padding: { ...padding, pad_id: newId(padding.pad_id) ?? padding.pad_id } }),
    added_tokens: added.flatMap((token) => {
      const id = newId(token['id']);
      return id === undefined ? [] : [{ ...token, id }];
    }),
    post_processor: renumber(source['post_processor'] ?? null),
    model: {
      ...model,
      vocab: isArray
        ? vocab.filter((_, id) => newId(id) !== undefined)
        : Object.fromEntries(
            (Object.entries(vocab) as [string, number][])
              .map(([piece, id]) => [piece, newId(id)] as const)
              .filter(([, id]) => id !== undefined)
              .sort((a, b) => (a[1] as number) - (b[1] as number)),
          ),
      ...(model['merges'] && {
        merges: model['merges'].filter((merge: string | [string, string]) => {
          const [first, second] = partsOf(merge);
          return stays(first) && stays(second) && stays(merged(first, second, prefix));
        }),
      }),
      ...(Number.isInteger(model['unk_id']) && { unk_id: newId(model['unk_id']) }),
    },
  };
}
