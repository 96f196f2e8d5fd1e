// The tokenizer of a distilled model, as model2vec (0.10.0, tokenizer/tokenizer.py with skeletoken 0.6.1) makes it from that of the encoder.
// Added tokens without a role, tokens by pattern and the tokens around a text are removed, and the other ids close up.
import { UnsupportedError } from '../core/errors.js';

type Json = Record<string, any>;

export interface DistilledTokenizer {
  tokenizer: Json;
  /** The encoder's id of each token, by its new id. */
  ids: number[];
  /** The encoder's ids before and after a text. */
  before: number[];
  after: number[];
}

/** The ids that a post-processor puts around a text. */
function around(processor: Json | null | undefined): [number[], number[]] {
  switch (processor?.['type']) {
    case 'TemplateProcessing': {
      const pieces = processor['single'] as Json[];
      const text = pieces.findIndex((piece) => piece['Sequence']);
      const ids = (part: Json[]) => part.flatMap((piece) => processor['special_tokens'][piece['SpecialToken']?.id]?.ids ?? []);
      return [ids(pieces.slice(0, text)), ids(pieces.slice(text + 1))];
    }
    case 'BertProcessing':
    case 'RobertaProcessing':
      return [[processor['cls'][1]], [processor['sep'][1]]];
    case 'Sequence': {
      const parts = (processor['processors'] as Json[]).map(around);
      return [parts.flatMap(([before]) => before), parts.flatMap(([, after]) => after)];
    }
    default:
      return [[], []];
  }
}

/** A copy with what skeletoken sets on every byte-level pre-tokenizer. */
function withPrefixSpace(part: Json | null): Json | null {
  if (part?.['type'] === 'ByteLevel') return { ...part, add_prefix_space: true };
  if (part?.['type'] === 'Sequence') return { ...part, pretokenizers: part['pretokenizers'].map(withPrefixSpace) };
  return part;
}

/** The tokens of a vocabulary with their ids. */
function tokensOf({ type, vocab }: Json): [string, number][] {
  if (type === 'Unigram') return (vocab as [string, number][]).map(([token], id) => [token, id]);
  if (typeof vocab === 'object' && vocab !== null) return Object.entries(vocab as Record<string, number>);
  throw new UnsupportedError(`distill: expected a tokenizer with a vocabulary, found one of type ${JSON.stringify(type)}`);
}

/** roles: of tokenizer_config.json. remove: tested at the beginning of each token. limit: the model's max_length. */
export function distilTokenizer(
  source: Json,
  roles: { unk: string | undefined; pad: string | undefined },
  remove: RegExp | undefined,
  limit: number,
): DistilledTokenizer {
  const model = source['model'] as Json;
  const added = (source['added_tokens'] ?? []) as Json[];
  const found = new Map(tokensOf(model));
  for (const { content, id } of added) if (!found.has(content)) found.set(content, id);
  const old = [...found].sort(([, a], [, b]) => a - b);
  const ofUnigram = model['type'] === 'Unigram' && typeof model['unk_id'] === 'number' ? old[model['unk_id']]?.[0] : undefined;
  const unk = roles.unk ?? model['unk_token'] ?? ofUnigram;
  const pad = roles.pad ?? source['padding']?.pad_token;
  const kept = new Set([unk, pad]);
  const gone = new Set(added.map(({ content }) => content as string).filter((content) => !kept.has(content)));
  for (const [token] of old) if (remove?.test(token) && token !== unk) gone.add(token);
  const left = old.filter(([token]) => !gone.has(token));
  const ids = new Map(left.map(([token], id) => [token, id]));
  const asAdded = (content: string) => ({
    ...{ content, single_word: false, lstrip: false, rstrip: false, normalized: false, special: true },
    ...added.find((token) => token['content'] === content),
    id: ids.get(content),
  });
  const scores = new Map((model['type'] === 'Unigram' ? (model['vocab'] as [string, number][]) : []).map((pair) => pair));
  const pairOf = (merge: string | [string, string]) => (typeof merge === 'string' ? merge.split(' ') : merge) as [string, string];
  const [before, after] = around(source['post_processor']);
  const tokenizer: Json = {
    ...source,
    truncation: { direction: 'Right', max_length: limit, strategy: 'LongestFirst', stride: 0 },
    padding: null,
    added_tokens: [
      ...added.map(({ content }) => content as string),
      ...[unk, pad].filter((token) => token !== undefined && !added.some(({ content }) => content === token)),
    ]
      .filter((content, i, all) => ids.has(content) && all.indexOf(content) === i)
      .map(asAdded),
    pre_tokenizer: withPrefixSpace(source['pre_tokenizer'] ?? null),
    post_processor: null,
    model: {
      ...model,
      vocab: scores.size > 0 ? left.map(([token]) => [token, scores.get(token) ?? 0]) : Object.fromEntries(ids),
      ...(model['merges'] && {
        merges: model['merges'].filter((merge: string | [string, string]) => {
          const [first, second] = pairOf(merge);
          return !gone.has(first) && !gone.has(second) && !gone.has(first + second);
        }),
      }),
      ...(model['type'] === 'Unigram' ? { unk_id: unk === undefined ? null : ids.get(unk) } : { unk_token: unk ?? null }),
    },
  };
  return { tokenizer, ids: left.map(([, id]) => id), before, after };
}
