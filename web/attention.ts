// What people do with attentions: rollout, and the data of BertViz.
import { InputError } from './errors.js';
import { Tensor } from './tensor.js';
import type { BertvizData } from './embedding_types.js';

function checkLayers(where: string, attentions: readonly Tensor<'float32'>[]): [batch: number, heads: number, seq: number] {
  const [first] = attentions;
  const dims = first?.dims ?? [];
  if (dims.length === 4 && attentions.every((layer) => String(layer.dims) === String(dims)))
    return dims.slice(0, 3) as [number, number, number];
  throw new InputError(
    `${where}: expected attentions [batch, heads, seq, seq] of each layer, found ${attentions.length} of [${dims}]`,
  );
}

/** [seq, seq] of one row: heads' mean, half of it, and half of each token itself; rows add up to 1. */
function mixed({ data }: Tensor<'float32'>, row: number, heads: number, seq: number): Float64Array {
  const size = seq * seq;
  const out = new Float64Array(size);
  for (let head = 0; head < heads; ++head) {
    const from = (row * heads + head) * size;
    for (let i = 0; i < size; ++i) out[i]! += (data[from + i] as number) / heads;
  }
  for (let i = 0; i < seq; ++i) {
    out[i * seq + i]! += 1;
    let sum = 0;
    for (let j = 0; j < seq; ++j) sum += out[i * seq + j]!;
    for (let j = 0; j < seq; ++j) out[i * seq + j]! /= sum;
  }
  return out;
}

/**
 * Attention rollout (arXiv 2005.00928): how much of each input token, by the attentions of all layers, is in each token at the end.
 * `[batch, seq, seq]`, each row adds up to 1. attentions: of a call with `output_attentions`.
 */
export function attention_rollout(attentions: readonly Tensor<'float32'>[]): Tensor<'float32'> {
  const [batch, heads, seq] = checkLayers('attention_rollout', attentions);
  const out = new Float32Array(batch * seq * seq);
  for (let row = 0; row < batch; ++row) {
    let flow = Float64Array.from({ length: seq * seq }, (_, i) => (i % (seq + 1) === 0 ? 1 : 0));
    for (const layer of attentions) {
      const step = mixed(layer, row, heads, seq);
      const next = new Float64Array(seq * seq);
      for (let i = 0; i < seq; ++i)
        for (let k = 0; k < seq; ++k) for (let j = 0; j < seq; ++j) next[i * seq + j]! += step[i * seq + k]! * flow[k * seq + j]!;
      flow = next;
    }
    out.set(flow, row * seq * seq);
  }
  return new Tensor('float32', out, [batch, seq, seq]);
}

/**
 * What BertViz's head and model views read (`params` of its JavaScript; in Python `head_view(torch.tensor(attn).unsqueeze(1), tokens)`).
 * tokens: the row's tokens; padding behind them is left out.
 */
export function to_bertviz(attentions: readonly Tensor<'float32'>[], tokens: readonly string[], row = 0): BertvizData {
  const [batch, heads, seq] = checkLayers('to_bertviz', attentions);
  if (!(row >= 0 && row < batch) || tokens.length > seq) {
    throw new InputError(
      `to_bertviz: expected a row below ${batch} with at most ${seq} tokens, found row ${row}, ${tokens.length} tokens`,
    );
  }
  const count = tokens.length;
  const attn = attentions.map(({ data }) =>
    Array.from({ length: heads }, (_, head) =>
      Array.from({ length: count }, (_, i) => {
        const from = ((row * heads + head) * seq + i) * seq;
        return Array.from(data.subarray(from, from + count));
      }),
    ),
  );
  const layers = attn.map((_, i) => i);
  return {
    attention: [{ name: null, attn, left_text: [...tokens], right_text: [...tokens] }],
    default_filter: '0',
    include_layers: layers,
    include_heads: Array.from({ length: heads }, (_, i) => i),
    total_heads: heads,
  };
}
