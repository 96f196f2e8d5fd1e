// The whole of one model: everything that it computes for one text, as the library's taps show it.
import {
  AutoModel,
  AutoModelForCausalLM,
  AutoModelForMaskedLM,
  AutoTokenizer,
  describeModel,
  type ModelSpecifier,
  type Tensor,
} from 'wattn';
import { plainToken } from '../ui/words.js';

/** A list of vectors: one for each token. */
export type Rows = Float32Array[];

/** What a head over the vocabulary says at one place. */
export interface Guess {
  id: number;
  word: string;
  /** What writing it adds to a text. */
  piece: string;
  logit: number;
  share: number;
}

export interface Guesses {
  /** The token that is guessed at: the last one of a decoder, the masked one of an encoder. */
  token: number;
  best: Guess[];
  /** The largest logit, and the sum of exp(logit - that) over the vocabulary: the divisor of each share. */
  most: number;
  sum: number;
}

export interface Run {
  text: string;
  tokens: string[];
  ids: number[];
  spans: (readonly [start: number, end: number])[];
  /** The share of tokens that the vocabulary lacks. */
  unknown: number;
  cut: boolean;
  /** The token that stands where a word was hidden. */
  masked?: number;
  /** [layers + 1][tokens]: vectors before the first layer and after each one. */
  states: Rows[];
  /** [layers][heads][tokens]. Keys and values of grouped heads are those of their group. */
  queries: Rows[][];
  keys: Rows[][];
  values: Rows[][];
  /** [layers][heads], each [tokens * tokens]: row i is what token i looks at. */
  attentions: Float32Array[][];
  /** [layers][heads][tokens]: the sum of all values, weighted by attention. */
  contexts: Rows[][];
  /** What the last norm makes of the last state, where a decoder has one. */
  last: Rows;
  guesses?: Guesses;
}

export type WholeKind = 'decoder' | 'masked' | 'encoder';

export interface Whole {
  /** What it answers with: the next word, a hidden word, or a vector for the text. */
  kind: WholeKind;
  /** As its config.json names it. */
  type: string;
  /** What is added to a variance before a norm divides by it. */
  epsilon: number;
  layers: number;
  heads: number;
  /** Fewer than heads where several share keys and values. */
  kvHeads: number;
  headDim: number;
  hidden: number;
  /** hide: the number of a token to put the mask over. */
  run(text: string, hide?: number): Promise<Run>;
  dispose(): void;
}

const kMostTokens = 32;
const kEpsilon = 1e-12; // BERT's

function epsilonOf(config: Readonly<Record<string, unknown>>): number {
  const name = Object.keys(config).find((one) => /eps(ilon)?$/.test(one) && typeof config[one] === 'number');
  return name === undefined ? kEpsilon : (config[name] as number);
}

const kBest = 8;

const rowsOf = (all: Float32Array, width: number): Rows =>
  Array.from({ length: all.length / width }, (_, i) => all.subarray(i * width, (i + 1) * width));

/** A tensor of [1, heads, tokens, size] for each layer, as rows of heads. */
const headRows = (layers: Tensor<'float32'>[] | undefined, heads: number): Rows[][] =>
  (layers ?? []).map(({ data, dims: [, own = 1, seq = 0, size = 0] }) => {
    const all = Array.from({ length: own }, (_, head) => rowsOf(data.subarray(head * seq * size, (head + 1) * seq * size), size));
    return Array.from({ length: heads }, (_, head) => all[Math.floor((head * own) / heads)] as Rows);
  });

function contextOf(weights: Float32Array, values: Rows): Rows {
  const [seq, size] = [values.length, values[0]?.length ?? 0];
  return values.map((_, i) =>
    Float32Array.from({ length: size }, (__, k) =>
      values.reduce((sum, value, j) => sum + (weights[i * seq + j] as number) * (value[k] as number), 0),
    ),
  );
}

function guessesOf(logits: Float32Array, token: number, wordOf: (id: number) => Pick<Guess, 'word' | 'piece'>): Guesses {
  const most = logits.reduce((a, b) => Math.max(a, b), -Infinity);
  const sum = logits.reduce((total, logit) => total + Math.exp(logit - most), 0);
  const best = Array.from(logits, (logit, id) => ({ id, logit }))
    .sort((a, b) => b.logit - a.logit || a.id - b.id)
    .slice(0, kBest)
    .map(({ id, logit }) => ({ id, logit, ...wordOf(id), share: Math.exp(logit - most) / sum }));
  return { token, best, most, sum };
}

/** A piece of text with its spaces visible. */
const visible = (text: string) => text.replaceAll('\n', '⏎').replaceAll('\t', '⇥').replace(/^ (?=.)/, '').replaceAll(' ', '␣') || '∅'; // prettier-ignore

/** Each answers a call alike here. */
const kDoors = { decoder: AutoModelForCausalLM as unknown as typeof AutoModel, masked: AutoModelForMaskedLM, encoder: AutoModel };

/** exact: in float32, so that every formula ends with the number that the model has. */
export async function openWhole(source: ModelSpecifier | null, exact: boolean): Promise<Whole> {
  const about = await describeModel(source);
  const kind: WholeKind = about.kind === 'decoder' && about.heads.includes('causal_lm') ? 'decoder' : about.heads.includes('masked_lm') ? 'masked' : 'encoder'; // prettier-ignore
  const [tokenizer, model] = await Promise.all([
    AutoTokenizer.from_pretrained(source),
    kDoors[kind].from_pretrained(source, exact ? { dtype: 'f32' } : {}),
  ]);
  const info = model.info();
  const { num_hidden_layers: layers, num_attention_heads: heads, hidden_size: hidden, head_dim: headDim, max_length } = info;
  return {
    kind,
    type: about.model_type,
    epsilon: epsilonOf(model.config),
    layers,
    heads,
    kvHeads: info.num_key_value_heads,
    headDim,
    hidden,
    async run(text, hide) {
      const inputs = tokenizer(text, {
        truncation: true,
        max_length: Math.min(kMostTokens, max_length),
        return_offsets_mapping: true,
      });
      const ids = inputs.input_ids.data as Int32Array;
      const mask = tokenizer.mask_token_id;
      const own = [...ids].indexOf(mask ?? -1);
      const masked = kind !== 'masked' || mask === null ? undefined : own >= 0 ? own : hide;
      if (masked !== undefined && masked < ids.length) ids[masked] = mask as number;
      const out = await model(inputs, { output_attentions: true, output_qkv: true, output_hidden_states: true });
      const offsets = inputs.offset_mapping?.data ?? [];
      const seq = ids.length;
      const values = headRows(out.values, heads);
      const attentions = (out.attentions ?? []).map(({ data }) => rowsOf(data, seq * seq));
      const place = kind === 'decoder' ? seq - 1 : masked;
      const vocabulary = out.logits?.dims.at(-1) ?? 0;
      const wordAt = (id: number) => {
        const [token = ''] = tokenizer.convert_ids_to_tokens([id]);
        const piece = plainToken(token);
        const decoded = tokenizer.decode([id]);
        return { word: visible(plainToken(decoded)), piece: token === piece ? decoded : ` ${decoded.trimStart()}` };
      };
      return {
        text,
        tokens: tokenizer.convert_ids_to_tokens([...ids]),
        ids: [...ids],
        spans: Array.from({ length: seq }, (_, i) => [offsets[2 * i] ?? 0, offsets[2 * i + 1] ?? 0] as const),
        unknown: inputs.unknown[0] ?? 0,
        cut: inputs.truncated[0] === true,
        ...(masked !== undefined && { masked }),
        states: (out.hidden_states ?? []).map(({ data }) => rowsOf(data, hidden)),
        queries: headRows(out.queries, heads),
        keys: headRows(out.keys, heads),
        values,
        attentions,
        contexts: attentions.map((own, layer) => own.map((weights, head) => contextOf(weights, values[layer]?.[head] ?? []))),
        last: rowsOf(out.last_hidden_state.data, hidden),
        ...(place !== undefined &&
          vocabulary > 0 && {
            guesses: guessesOf(
              (out.logits as Tensor<'float32'>).data.subarray(place * vocabulary, (place + 1) * vocabulary),
              place,
              wordAt,
            ),
          }),
      };
    },
    dispose() {
      void model.dispose();
      void tokenizer.dispose();
    },
  };
}
