// Activation patching between two texts.
import { InputError } from '../../core/errors.js';
import { readOptions } from '../../core/options.js';
import { Tensor } from '../../core/tensor.js';
import type { ModelInputs, ModelOutput } from '../../engine/types.js';
import type { Model } from '../../tasks/embed_types.js';
import { defaultMetric, measureAll, measureOne, perRowOf, readOne, runOne, toMetric, withRow, type Change } from './measure.js';
import type { PatchMap, PatchMapOptions } from './types.js';

const where = 'patch_map';

/** What each head of a layer adds for each token, before the output projection: [seq, heads * head_dim]. */
function contextOf({ attentions, values }: ModelOutput, layer: number): Float32Array {
  const weights = attentions?.[layer] as Tensor<'float32'>;
  const value = values?.[layer] as Tensor<'float32'>;
  const [, heads, seq] = weights.dims as [number, number, number];
  const [, kvHeads, , size] = value.dims as [number, number, number, number];
  const out = new Float32Array(seq * heads * size);
  for (let head = 0; head < heads; ++head) {
    const kv = Math.floor(head / (heads / kvHeads));
    for (let i = 0; i < seq; ++i)
      for (let k = 0; k < size; ++k) {
        let sum = 0;
        for (let j = 0; j < seq; ++j)
          sum += (weights.data[(head * seq + i) * seq + j] as number) * (value.data[(kv * seq + j) * size + k] as number);
        out[(i * heads + head) * size + k] = sum;
      }
  }
  return out;
}

/**
 * Activation patching: runs `corrupted` once for each layer and token (or head), with one activation copied from `clean`, and reports how far that
 * restores the answer of `clean`. The formula is that of TransformerLens's `get_act_patch_resid_pre` (and `get_act_patch_attn_head_out_all_pos`). Both
 * texts must have the same number of tokens. Costs layers × tokens (or heads) forward passes, in batches. Throws an `InputError` if the lengths differ.
 *
 * @example
 * const tokenizer = await AutoTokenizer.from_pretrained();
 * const model = await AutoModel.from_pretrained();
 * const { scores } = await patch_map(model, tokenizer('The dog is tired.'), tokenizer('The dog is soft.'));
 * scores.dims; // [layers, seq]
 */
export async function patch_map(
  model: Model,
  clean: ModelInputs,
  corrupted: ModelInputs,
  options?: PatchMapOptions | null,
): Promise<PatchMap> {
  const own = readOptions(where, options ?? {}, { metric: 'any', at: ['residual', 'head'], signal: 'signal' });
  const signal = own.signal ? { signal: own.signal } : {};
  const [cleanText, text] = [readOne(where, clean), readOne(where, corrupted)];
  const { seq } = text;
  if (cleanText.seq !== seq) {
    throw new InputError(`${where}: expected texts with the same number of tokens, found ${cleanText.seq} and ${seq}`);
  }
  const byHead = own.at === 'head';
  const asked = byHead ? { output_attentions: true, output_qkv: true, ...signal } : { output_hidden_states: true, ...signal };
  const [donor, base] = [await runOne(model, cleanText, asked), await runOne(model, text, asked)];
  const metric = toMetric(where, own.metric) ?? defaultMetric(where, donor, cleanText, base);
  const [cleanValue, corruptedValue] = [measureOne(donor, cleanText, metric), measureOne(base, text, metric)];
  const { num_hidden_layers: layers, num_attention_heads: heads } = model.info();
  const found: number[] = [];
  for (let layer = 0; layer < layers; ++layer) {
    const [ours, theirs] = byHead
      ? [contextOf(base, layer), contextOf(donor, layer)]
      : [base.hidden_states?.[layer]?.data as Float32Array, donor.hidden_states?.[layer]?.data as Float32Array];
    const width = ours.length / seq;
    const changes: Change[] = byHead
      ? Array.from({ length: heads }, (_, head) => ({ values: withHead(ours, theirs, head, heads, seq) }))
      : Array.from({ length: seq }, (_, token) => ({ values: withRow(ours, theirs, token, width) }));
    const tap = byHead ? `layer.${layer}.attention.context` : layer === 0 ? 'embeddings.output' : `layer.${layer - 1}.output`;
    found.push(...(await measureAll(model, text, { tap, changes, width, perRow: perRowOf(base) }, metric, signal)));
  }
  const dims = [layers, byHead ? heads : seq];
  const scores = found.map((value) => (value - corruptedValue) / (cleanValue - corruptedValue));
  return {
    scores: new Tensor('float32', Float32Array.from(scores), dims),
    values: new Tensor('float32', Float32Array.from(found), dims),
    clean: cleanValue,
    corrupted: corruptedValue,
  };
}

/** A copy of `ours`, [seq, heads * size], with one head's columns of `theirs`. */
function withHead(ours: Float32Array, theirs: Float32Array, head: number, heads: number, seq: number): Float32Array {
  const size = ours.length / seq / heads;
  const mixed = ours.slice();
  for (let i = 0; i < seq; ++i) {
    const from = (i * heads + head) * size;
    mixed.set(theirs.subarray(from, from + size), from);
  }
  return mixed;
}
