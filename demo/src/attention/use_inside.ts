// A second door to the page's model: its tokens, what is inside each head, and what becomes of the text when heads are turned off.
import {
  AutoModel,
  AutoTokenizer,
  cos_sim,
  patch_map,
  Tensor,
  type MetricFunction,
  type ModelOutput,
  type ModelSpecifier,
} from 'wattn';
import { useEffect, useState } from 'preact/hooks';
import type { Pair } from './evidence.js';

export interface Inside {
  tokens: string[];
  ids: number[];
  /** The stretch of the text that each token stands for; empty for special tokens. */
  spans: (readonly [start: number, end: number])[];
  /** How many tokens stand for text that the model does not know. */
  unknown: number;
  /** Whether the text went on beyond the tokens that are shown. */
  cut: boolean;
  headDim: number;
  hiddenSize: number;
  /** [layers][heads], each [seq * seq]: row i is what token i looks at. */
  attentions: Float32Array[][];
  /** [layers][heads], each [seq * headDim]. */
  queries: Float32Array[][];
  keys: Float32Array[][];
  values: Float32Array[][];
  /** [layers], each [seq * hiddenSize]: what a layer is given. */
  inputs: Float32Array[];
  /** Cosine of the mean vector to the one with every head on. */
  kept: number;
}

export type Head = readonly [layer: number, head: number];

/** What a view shows: one head. */
export interface ViewProps {
  inside: Inside;
  head: Head;
}

export interface Asked {
  text: string;
  /** A second text beside it, or ''. */
  pair: string;
  /** Heads that are turned off, as 'layer head'. */
  off: ReadonlySet<string>;
}

export interface Traced {
  tokens: string[];
  /** The tokens of the other text. */
  others: string[];
  /** [layers][tokens]: how far the text's mean vector goes towards the other's, 0 to 1, when this one vector is taken from there. */
  shares: number[][];
}

export interface Door {
  run(asked: Asked): Promise<Inside>;
  /** [layers][heads][tokens]: what each token's vector loses without each head, as 1 - cosine. undefined: nobody waits any more. */
  effects(asked: Pick<Asked, 'text' | 'pair'>, isStale: () => boolean): Promise<Float32Array[][] | undefined>;
  /** The same place in another sentence; undefined where it has another number of tokens. */
  compare(text: string, other: string, from: number): Promise<Pair | undefined>;
  /** A cell at a time, layer by layer; isStale: whether nobody waits any more. */
  trace(text: string, other: string, isStale: () => boolean): AsyncGenerator<Traced>;
  dispose(): void;
}

const kMostTokens = 48;

function meanOf(data: Float32Array, seq: number): Float32Array {
  const size = data.length / seq;
  const mean = new Float32Array(size);
  data.forEach((value, i) => (mean[i % size] = (mean[i % size] as number) + value / seq));
  return mean;
}

/** The last vector of one token: [hidden]. */
function vectorOf({ last_hidden_state: { data, dims } }: ModelOutput, row: number, token: number): Float32Array {
  const [, seq = 0, size = 0] = dims;
  return data.subarray((row * seq + token) * size, (row * seq + token + 1) * size);
}

/** Tensors of [1, heads, ..] for each layer, cut into heads. */
const byHead = (layers: Tensor<'float32'>[] | undefined, heads: number): Float32Array[][] =>
  (layers ?? []).map(({ data }) => {
    const size = data.length / heads;
    return Array.from({ length: heads }, (_, head) => data.slice(head * size, (head + 1) * size));
  });

export async function openDoor(source: ModelSpecifier | null): Promise<Door> {
  const [tokenizer, model] = await Promise.all([AutoTokenizer.from_pretrained(source), AutoModel.from_pretrained(source)]);
  const { num_hidden_layers: layers, num_attention_heads: heads, hidden_size: hiddenSize, max_length } = model.info();
  const limit = { truncation: true, max_length: Math.min(kMostTokens, max_length) };
  return {
    async run({ text, pair, off }) {
      const inputs = tokenizer(text, {
        ...(pair.trim() !== '' && { text_pair: pair }),
        ...limit,
        return_offsets_mapping: true,
      });
      const ids = Array.from(inputs.input_ids.data, Number);
      const tokens = tokenizer.convert_ids_to_tokens(ids);
      const offsets = inputs.offset_mapping?.data ?? [];
      const head_mask = Array.from({ length: layers }, (_, layer) =>
        Array.from({ length: heads }, (_, head) => (off.has(`${layer} ${head}`) ? 0 : 1)),
      );
      const isWhole = off.size === 0;
      const out = await model(inputs, {
        output_attentions: true,
        output_qkv: true,
        output_hidden_states: true,
        ...(!isWhole && { head_mask }),
      });
      const whole = isWhole ? out : await model(inputs);
      const [queries, keys, values] = [out.queries, out.keys, out.values].map((tensors) => byHead(tensors, heads)) as [
        Float32Array[][],
        Float32Array[][],
        Float32Array[][],
      ];
      return {
        tokens,
        ids,
        spans: tokens.map((_, i) => [offsets[2 * i] ?? 0, offsets[2 * i + 1] ?? 0]),
        unknown: inputs.unknown[0] ?? 0,
        cut: inputs.truncated[0] === true,
        headDim: (queries[0]?.[0]?.length ?? 0) / tokens.length,
        hiddenSize,
        attentions: byHead(out.attentions, heads),
        queries,
        keys,
        values,
        inputs: (out.hidden_states ?? []).map(({ data }) => data),
        kept: cos_sim(meanOf(out.last_hidden_state.data, tokens.length), meanOf(whole.last_hidden_state.data, tokens.length)),
      };
    },
    async effects({ text, pair }, isStale) {
      const inputs = tokenizer(text, { ...(pair.trim() !== '' && { text_pair: pair }), ...limit });
      const whole = await model(inputs);
      const seq = whole.last_hidden_state.dims[1] as number;
      const out: Float32Array[][] = [];
      for (let layer = 0; layer < layers; ++layer) {
        const row: Float32Array[] = [];
        for (let head = 0; head < heads; ++head) {
          if (isStale()) return undefined;
          const head_mask = Array.from({ length: layers }, (_, l) =>
            Array.from({ length: heads }, (__, h) => (l === layer && h === head ? 0 : 1)),
          );
          const without = await model(inputs, { head_mask });
          row.push(Float32Array.from({ length: seq }, (_, i) => 1 - cos_sim(vectorOf(without, 0, i), vectorOf(whole, 0, i))));
        }
        out.push(row);
      }
      return out;
    },
    async compare(text, other, from) {
      const [own, donor] = [tokenizer(text, limit), tokenizer(other, limit)];
      const [tokens, others] = [own, donor].map(({ input_ids }) => tokenizer.convert_ids_to_tokens(input_ids)) as [
        string[],
        string[],
      ];
      if (tokens.length !== others.length) return undefined;
      const there = await model(donor, { output_attentions: true });
      const target = vectorOf(there, 0, from).slice();
      const metric: MetricFunction = (output, row) => cos_sim(vectorOf(output, row, from), target);
      const { scores, corrupted } = await patch_map(model, donor, own, { at: 'head', metric });
      const isSame = 1 - corrupted < 1e-6;
      return {
        tokens: others,
        attentions: byHead(there.attentions, heads),
        shares: Array.from({ length: layers }, (_, layer) =>
          Array.from({ length: heads }, (__, head) => (isSame ? 0 : (scores.data[layer * heads + head] as number))),
        ),
        near: corrupted,
      };
    },
    async *trace(text, other, isStale) {
      const inputs = tokenizer(text, limit);
      const otherInputs = tokenizer(other, limit);
      const [tokens, others] = [inputs, otherInputs].map(({ input_ids }) => tokenizer.convert_ids_to_tokens(input_ids)) as [
        string[],
        string[],
      ];
      const seq = tokens.length;
      if (others.length !== seq)
        throw new Error(
          `The changed text has ${others.length} tokens and the original has ${seq}. Replace a word with one that has the same number of tokens.`,
        );
      const [own, donor] = [
        await model(inputs, { output_hidden_states: true }),
        await model(otherInputs, { output_hidden_states: true }),
      ];
      const [from, to] = [own, donor].map(({ last_hidden_state }) => meanOf(last_hidden_state.data, seq)) as [
        Float32Array,
        Float32Array,
      ];
      const way = from.map((value, k) => (to[k] as number) - value);
      const length = way.reduce((sum, step) => sum + step * step, 0);
      const shares: number[][] = [];
      for (let layer = 0; layer < layers; ++layer) {
        const row: number[] = [];
        for (let i = 0; i < seq; ++i) {
          if (isStale()) return;
          const state = own.hidden_states[layer + 1] as Tensor<'float32'>;
          const mixed = state.data.slice();
          const part = [i * hiddenSize, (i + 1) * hiddenSize] as const;
          mixed.set((donor.hidden_states[layer + 1] as Tensor<'float32'>).data.subarray(...part), part[0]);
          const patched = await model(inputs, { patch: { [`layer.${layer}.output`]: new Tensor('float32', mixed, state.dims) } });
          const mean = meanOf(patched.last_hidden_state.data, seq);
          row.push(
            length === 0 ? 0 : mean.reduce((sum, value, k) => sum + (value - (from[k] as number)) * (way[k] as number), 0) / length,
          );
        }
        shares.push(row);
        yield { tokens, others, shares: [...shares] };
      }
    },
    dispose() {
      void model.dispose();
      void tokenizer.dispose();
    },
  };
}

/** source: undefined while there is no model yet. */
export function useInside(source: ModelSpecifier | null | undefined, { text, pair, off }: Asked) {
  const [door, setDoor] = useState<Door>();
  const [inside, setInside] = useState<Inside>();
  const [error, setError] = useState<Error>();
  useEffect(() => {
    if (source === undefined) return;
    let gone = false;
    const opening = openDoor(source);
    opening.then((opened) => !gone && setDoor(opened)).catch((reason: Error) => !gone && setError(reason));
    return () => {
      gone = true;
      void opening.then((opened) => opened.dispose()).catch(() => {});
    };
  }, [source]);
  useEffect(() => {
    let stale = false;
    if (text.trim() === '') setInside(undefined);
    else if (door)
      door
        .run({ text, pair, off })
        .then((found) => {
          if (stale) return;
          setInside(found);
          setError(undefined);
        })
        .catch((reason: Error) => !stale && setError(reason));
    return () => void (stale = true);
  }, [door, text, pair, off]);
  return { inside, error, door };
}
