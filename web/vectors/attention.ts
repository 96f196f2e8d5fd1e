// Attention rollout, and data for BertViz.
import { InputError } from '../core/errors.js';
import { Tensor } from '../core/tensor.js';
import type { BertvizData, BertvizTokens, CrossRollout, Seq2SeqAttentions } from './types.js';

type Layers = readonly Tensor<'float32'>[];

/** Checks the layers' attentions `[batch, heads, queries, keys]` and returns their dims. */
function checkLayers(
  where: string,
  attentions: Layers | undefined,
  shape = 'seq, seq',
): [batch: number, heads: number, queries: number, keys: number] {
  const dims = attentions?.[0]?.dims ?? [];
  const square = shape === 'seq, seq' ? dims[2] === dims[3] : true;
  if (dims.length === 4 && square && attentions?.every((layer) => String(layer.dims) === String(dims)))
    return dims as [number, number, number, number];
  throw new InputError(
    `${where}: expected attentions [batch, heads, ${shape}] of each layer, found ${attentions?.length} of [${dims}]`,
  );
}

/** The mean over the heads of one row: [queries, keys]. */
function meanOfHeads({ data, dims }: Tensor<'float32'>, row: number): Float64Array {
  const [, heads, queries, keys] = dims as [number, number, number, number];
  const size = queries * keys;
  const out = new Float64Array(size);
  for (let head = 0; head < heads; ++head) {
    const from = (row * heads + head) * size;
    for (let i = 0; i < size; ++i) out[i]! += (data[from + i] as number) / heads;
  }
  return out;
}

/** Each row: half its shares, plus half of given's rows weighted by attention, [keys, width]. Each row of all shares sums to 1. */
function mixInto(
  shares: Float64Array[],
  weights: Float64Array,
  given: Float64Array[],
  queries: number,
  keys: number,
): Float64Array[] {
  const sums = Float64Array.from({ length: queries }, (_, i) =>
    weights.subarray(i * keys, (i + 1) * keys).reduce((a, b) => a + b, 1),
  );
  return shares.map((own, part) => {
    const from = given[part] as Float64Array;
    const width = own.length / queries;
    const out = own.slice();
    for (let i = 0; i < queries; ++i) {
      for (let k = 0; k < keys; ++k) {
        const share = weights[i * keys + k] as number;
        if (share !== 0) for (let j = 0; j < width; ++j) out[i * width + j]! += share * from[k * width + j]!;
      }
      for (let j = 0; j < width; ++j) out[i * width + j]! /= sums[i] as number;
    }
    return out;
  });
}

const identity = (size: number) => Float64Array.from({ length: size * size }, (_, i) => (i % (size + 1) === 0 ? 1 : 0));

/** The rollout of one row: [seq, seq]. */
function rollOut(attentions: Layers, row: number, seq: number): Float64Array {
  let flow: Float64Array[] = [identity(seq)];
  for (const layer of attentions) flow = mixInto(flow, meanOfHeads(layer, row), flow, seq, seq);
  return flow[0] as Float64Array;
}

function rollOutCross(given: Seq2SeqAttentions): CrossRollout {
  const where = 'attention_rollout';
  const [batch, , source] = checkLayers(where, given.encoder_attentions);
  const [, , target] = checkLayers(where, given.decoder_attentions);
  const [, , queries, keys] = checkLayers(where, given.cross_attentions, 'target, source');
  const { encoder_attentions: encoder = [], decoder_attentions: decoder = [], cross_attentions: cross = [] } = given;
  if (queries !== target || keys !== source || cross.length !== decoder.length) {
    const expected = `${decoder.length} cross_attentions [batch, heads, ${target}, ${source}]`;
    throw new InputError(`${where}: expected ${expected}, found ${cross.length} of [${cross[0]?.dims}]`);
  }
  const [own, read] = [new Float32Array(batch * target * target), new Float32Array(batch * target * source)];
  for (let row = 0; row < batch; ++row) {
    const memory = [new Float64Array(source * target), rollOut(encoder, row, source)];
    let flow: Float64Array[] = [identity(target), new Float64Array(target * source)];
    decoder.forEach((layer, i) => {
      flow = mixInto(flow, meanOfHeads(layer, row), flow, target, target);
      flow = mixInto(flow, meanOfHeads(cross[i] as Tensor<'float32'>, row), memory, target, source);
    });
    own.set(flow[0] as Float64Array, row * target * target);
    read.set(flow[1] as Float64Array, row * target * source);
  }
  return {
    target: new Tensor('float32', own, [batch, target, target]),
    source: new Tensor('float32', read, [batch, target, source]),
  };
}

/**
 * Attention rollout (arXiv 2005.00928): combines the attentions of all layers into the contribution of each input token to each output token, `[batch,
 * seq, seq]`. Each row sums to 1. Pass the `attentions` of an encoder or decoder called with `output_attentions`. For an encoder-decoder, pass its
 * output: the result has the contributions of the decoder's tokens (`target`) and of the source's (`source`), which together sum to 1.
 *
 * @example
 * const [tokenizer, model] = [await AutoTokenizer.from_pretrained(), await AutoModel.from_pretrained()];
 * const { attentions } = await model(tokenizer('one two'), { output_attentions: true });
 * attention_rollout(attentions).dims; // => [1, 4, 4]
 */
export function attention_rollout(attentions: Layers): Tensor<'float32'>;
export function attention_rollout(output: Seq2SeqAttentions): CrossRollout;
export function attention_rollout(given: Layers | Seq2SeqAttentions): Tensor<'float32'> | CrossRollout {
  if (!Array.isArray(given)) return rollOutCross((given ?? {}) as Seq2SeqAttentions);
  const attentions = given as Layers;
  const [batch, , seq] = checkLayers('attention_rollout', attentions);
  const out = new Float32Array(batch * seq * seq);
  for (let row = 0; row < batch; ++row) out.set(rollOut(attentions, row, seq), row * seq * seq);
  return new Tensor('float32', out, [batch, seq, seq]);
}

/** One of BertViz's views: attention from left_text to right_text. */
function toView(
  name: string | null,
  attentions: Layers,
  left: readonly string[],
  right: readonly string[],
  row: number,
): BertvizData['attention'][number] {
  const [batch, heads, queries, keys] = checkLayers('to_bertviz', attentions, name === 'Cross' ? 'target, source' : undefined);
  if (!(row >= 0 && row < batch) || left.length > queries || right.length > keys) {
    const tokens = left === right ? `${left.length} tokens` : `${left.length} and ${right.length} tokens`;
    const most = left === right ? `${queries} tokens` : `${queries} and ${keys} tokens`;
    throw new InputError(`to_bertviz: expected a row below ${batch} with at most ${most}, found row ${row}, ${tokens}`);
  }
  const attn = attentions.map(({ data }) =>
    Array.from({ length: heads }, (_, head) =>
      Array.from({ length: left.length }, (_, i) => {
        const from = ((row * heads + head) * queries + i) * keys;
        return Array.from(data.subarray(from, from + right.length));
      }),
    ),
  );
  return { name, attn, left_text: [...left], right_text: [...right] };
}

/**
 * Converts attentions to the data of BertViz's head and model views (`params` of its JavaScript; in Python `head_view(torch.tensor(attn).unsqueeze(1),
 * tokens)`). `tokens` are the row's tokens without padding. For an encoder-decoder, pass its output and the tokens of both parts: the views are Encoder,
 * Decoder and Cross, if their attentions are present, as with `model_view(encoder_attention=...)`.
 *
 * @example
 * const [tokenizer, model] = [await AutoTokenizer.from_pretrained(), await AutoModel.from_pretrained()];
 * const { attentions } = await model(tokenizer('one two'), { output_attentions: true });
 * to_bertviz(attentions, tokenizer.tokenize('one two', { add_special_tokens: true })).attention.length; // => 1
 */
export function to_bertviz(attentions: Layers, tokens: readonly string[], row?: number): BertvizData;
export function to_bertviz(output: Seq2SeqAttentions, tokens: BertvizTokens, row?: number): BertvizData;
export function to_bertviz(given: Layers | Seq2SeqAttentions, tokens: readonly string[] | BertvizTokens, row = 0): BertvizData {
  const views: BertvizData['attention'] = [];
  if (Array.isArray(given)) {
    views.push(toView(null, given, tokens as string[], tokens as string[], row));
  } else {
    const { encoder_attentions, decoder_attentions, cross_attentions } = (given ?? {}) as Seq2SeqAttentions;
    const { encoder_tokens = [], decoder_tokens = [] } = tokens as BertvizTokens;
    if (encoder_attentions) views.push(toView('Encoder', encoder_attentions, encoder_tokens, encoder_tokens, row));
    if (decoder_attentions) views.push(toView('Decoder', decoder_attentions, decoder_tokens, decoder_tokens, row));
    if (cross_attentions) views.push(toView('Cross', cross_attentions, decoder_tokens, encoder_tokens, row));
    if (views.length === 0) throw new InputError('to_bertviz: expected attentions (set output_attentions: true), found none');
  }
  const layers = Math.max(...views.map(({ attn }) => attn.length));
  const heads = Math.max(...views.map(({ attn }) => attn[0]?.length ?? 0));
  return {
    attention: views,
    default_filter: '0',
    include_layers: Array.from({ length: layers }, (_, i) => i),
    include_heads: Array.from({ length: heads }, (_, i) => i),
    total_heads: heads,
  };
}
