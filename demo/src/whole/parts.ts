// The parts of the picture: what there is, what each consists of, and how it is written in an address. 'link/2/5/8/1' is layer 2, head 5, token 8 to
// token 1, all counted from 0; '#7' behind a vector is one of its numbers.

/** Vectors, one for each token: of the embeddings, of a head, of a layer's two halves, of the text. */
export const kVectors = ['vector', 'query', 'key', 'value', 'context', 'mix', 'inner', 'out', 'sentence'] as const;
export type VectorKind = (typeof kVectors)[number];

const kNumbers = {
  whole: 0,
  tokens: 0,
  token: 1,
  vectors: 0,
  vector: 1,
  layer: 1,
  heads: 1,
  head: 2,
  row: 3,
  link: 4,
  query: 3,
  key: 3,
  value: 3,
  context: 3,
  mixes: 1,
  mix: 2,
  ffn: 1,
  inner: 2,
  outs: 1,
  out: 2,
  output: 0,
  guess: 1,
  sentence: 0,
} as const;

export type PartKind = keyof typeof kNumbers;

export interface Part {
  kind: PartKind;
  /** Layer, head, token and token looked at, as far as the kind has them. */
  at: readonly number[];
  /** One number of a vector. */
  cell?: number;
}

export const kWhole: Part = { kind: 'whole', at: [] };

export const part = (kind: PartKind, ...at: number[]): Part => ({ kind, at });

export const isVector = ({ kind }: Part): boolean => (kVectors as readonly string[]).includes(kind);

export const idOf = ({ kind, at, cell }: Part): string => [kind, ...at].join('/') + (cell === undefined ? '' : `#${cell}`);

export const isSame = (a: Part, b: Part): boolean => idOf(a) === idOf(b);

/** undefined: it names nothing. */
export function partOf(id: string): Part | undefined {
  const [, kind = '', places = '', cell] = /^([a-z]+)((?:\/\d+)*)(?:#(\d+))?$/.exec(id) ?? [];
  const at = places.split('/').slice(1).map(Number);
  if (!Object.hasOwn(kNumbers, kind) || kNumbers[kind as PartKind] !== at.length) return undefined;
  const found: Part = { kind: kind as PartKind, at };
  if (cell === undefined) return found;
  return isVector(found) ? { ...found, cell: Number(cell) } : undefined;
}

/** What there is of everything. */
export interface Sizes {
  layers: number;
  heads: number;
  tokens: number;
  /** Whether no token looks at a later one. */
  isCausal: boolean;
  /** Whether the numbers between attention and a layer's output are known. */
  hasInner: boolean;
  /** Words that the model would write; 0: it makes a vector of the text. */
  guesses: number;
}

const each = (count: number, make: (i: number) => Part) => Array.from({ length: count }, (_, i) => make(i));

/** What a part consists of; numbers of a vector are not listed here. */
export function childrenOf({ kind, at }: Part, { layers, heads, tokens, isCausal, hasInner, guesses }: Sizes): Part[] {
  const [layer = 0, head = 0, token = 0, to = 0] = at;
  switch (kind) {
    case 'whole':
      return [part('tokens'), part('vectors'), ...each(layers, (i) => part('layer', i)), part('output')];
    case 'tokens':
      return each(tokens, (i) => part('token', i));
    case 'token':
      return [part('vector', layer)];
    case 'vectors':
      return each(tokens, (i) => part('vector', i));
    case 'layer':
      return [part('heads', layer), ...(hasInner ? [part('mixes', layer), part('ffn', layer)] : []), part('outs', layer)];
    case 'heads':
      return each(heads, (i) => part('head', layer, i));
    case 'head':
      return each(tokens, (i) => part('row', layer, head, i));
    case 'row': {
      const seen = isCausal ? token + 1 : tokens;
      return [
        part('query', layer, head, token),
        ...each(seen, (i) => part('link', layer, head, token, i)),
        part('context', layer, head, token),
      ];
    }
    case 'link':
      return [part('query', layer, head, token), part('key', layer, head, to), part('value', layer, head, to)];
    case 'mixes':
      return each(tokens, (i) => part('mix', layer, i));
    case 'ffn':
      return each(tokens, (i) => part('inner', layer, i));
    case 'outs':
      return each(tokens, (i) => part('out', layer, i));
    case 'output':
      return guesses > 0 ? each(guesses, (i) => part('guess', i)) : [part('sentence')];
    default:
      return [];
  }
}

/** What a part is in; undefined: it is all. */
export function parentOf({ kind, at, cell }: Part): Part | undefined {
  if (cell !== undefined) return { kind, at };
  const [layer = 0, head = 0, token = 0] = at;
  switch (kind) {
    case 'whole':
      return undefined;
    case 'token':
      return part('tokens');
    case 'vector':
      return part('vectors');
    case 'heads':
    case 'mixes':
    case 'ffn':
    case 'outs':
      return part('layer', layer);
    case 'head':
      return part('heads', layer);
    case 'row':
    case 'key':
    case 'value':
      return part('head', layer, head);
    case 'link':
    case 'query':
    case 'context':
      return part('row', layer, head, token);
    case 'mix':
      return part('mixes', layer);
    case 'inner':
      return part('ffn', layer);
    case 'out':
      return part('outs', layer);
    case 'guess':
    case 'sentence':
      return part('output');
    default:
      return kWhole;
  }
}

/** The way from the whole to a part, both ends included. */
export function wayTo(end: Part): Part[] {
  const above = parentOf(end);
  return above ? [...wayTo(above), end] : [end];
}

/** Whether a part is there in a model and a text of these sizes. */
export function isThere({ kind, at }: Part, sizes: Sizes): boolean {
  const { layers, heads, tokens, guesses, hasInner } = sizes;
  const below = (limits: readonly number[]) => at.every((one, i) => one < (limits[i] as number));
  if (kind === 'token' || kind === 'vector') return below([tokens]);
  if (kind === 'guess') return below([guesses]);
  if (kind === 'sentence') return guesses === 0;
  if (kind === 'mixes' || kind === 'mix' || kind === 'ffn' || kind === 'inner') return hasInner && below([layers, tokens]);
  if (kind === 'out') return below([layers, tokens]);
  return below([layers, heads, tokens, tokens]);
}
