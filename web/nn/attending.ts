// Modules with attention: their options, and how masks and weights cross to WebAssembly.
import { ownCopy, readOptions } from '../core/options.js';
import { Native, type KeyValueCache } from './module.js';
import { toMask, type MaybeTensor, type TensorsByName, type Tensor as NnTensor } from './tensor.js';

type F32 = NnTensor;

/** Options of a `forward` with attention. */
export interface AttendOptions {
  /** Mask, broadcast to `[batch, heads, queries, keys]`: bool (true is masked out, as in torch's modules) or float (added to the scores). */
  attn_mask?: MaybeTensor;
  /** Keys to mask out (true), `[batch, keys]`. */
  key_padding_mask?: MaybeTensor;
  /** `true`: a query attends only to keys up to its own position. */
  is_causal?: boolean;
  /** `true` returns `[output, weights]`. */
  need_weights?: boolean;
  /** Averages the weights over the heads. Default `true`. */
  average_attn_weights?: boolean;
  /** Keys and values of earlier tokens; this call appends its own. See `KeyValueCache`. Default `null`: none. */
  cache?: KeyValueCache | null;
}
/** An output with its attention weights. */
export type Weighed = [output: F32, weights: F32];

/** The options of a forward with attention that are no tensors, and those of any attention. */
export const kWeights = ['need_weights', 'average_attn_weights', 'cache'];
export const kAttend = ['attn_mask', 'key_padding_mask', 'is_causal', ...kWeights];

/** A module with attention. With `need_weights`, forward returns `[output, weights]`. */
export abstract class Attending extends Native {
  /** @internal known: names of the options; masks: for each tensor that C++ knows, its name among them. */
  protected attend(
    tensors: TensorsByName,
    options: object | null | undefined,
    known: readonly string[] = kAttend,
    masks: Readonly<Record<string, string>> = { attn_mask: 'attn_mask', key_padding_mask: 'key_padding_mask' },
  ): F32 | Weighed {
    options = readOptions(`nn.${this.type}`, options, known);
    const { cache, tgt_is_causal, ...others } = options as Record<string, unknown>;
    const rest = ownCopy(others);
    if (tgt_is_causal !== undefined) rest['is_causal'] = tgt_is_causal;
    const given: TensorsByName = { ...tensors };
    for (const [name, option] of Object.entries(masks)) {
      given[name] = toMask(rest[option] as MaybeTensor, false);
      delete rest[option];
    }
    const { output, weights } = this.run({ tensors: given, options: rest, cache: cache as KeyValueCache | null | undefined });
    return rest['need_weights'] ? [output, weights as F32] : output;
  }
}
