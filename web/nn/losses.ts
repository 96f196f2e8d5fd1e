// Losses as modules, with torch's names.
import { checkOptions } from '../core/options.js';
import type { Tensor } from '../core/tensor.js';
import {
  binary_cross_entropy_with_logits,
  cosine_embedding_loss,
  cross_entropy,
  kl_div,
  l1_loss,
  mse_loss,
  triplet_margin_loss,
  type BinaryCrossEntropyOptions,
  type CrossEntropyOptions,
  type Reduction,
  type TripletOptions,
} from './functional.js';
import { Module } from './module.js';
import type { Tensor as NnTensor } from './tensor.js';

/** A loss with options. */
abstract class Loss<Options extends object> extends Module {
  protected readonly options: Options;
  private readonly kind: string;
  constructor(kind: string, options: Options, known: readonly string[]) {
    super();
    checkOptions(`nn.${kind}`, options, known);
    this.kind = kind;
    this.options = { ...options };
  }
  override get type(): string {
    return this.kind;
  }
}

/** nn.functional.cross_entropy. */
export class CrossEntropyLoss extends Loss<CrossEntropyOptions> {
  constructor(options: CrossEntropyOptions = {}) {
    super('CrossEntropyLoss', options, ['weight', 'ignore_index', 'label_smoothing', 'reduction']);
  }
  override forward(input: Tensor, target: Tensor): NnTensor {
    return cross_entropy(input, target, this.options);
  }
}
/** nn.functional.binary_cross_entropy_with_logits. */
export class BCEWithLogitsLoss extends Loss<BinaryCrossEntropyOptions> {
  constructor(options: BinaryCrossEntropyOptions = {}) {
    super('BCEWithLogitsLoss', options, ['weight', 'pos_weight', 'reduction']);
  }
  override forward(input: Tensor, target: Tensor): NnTensor {
    return binary_cross_entropy_with_logits(input, target, this.options);
  }
}
/** nn.functional.mse_loss. */
export class MSELoss extends Loss<{ reduction?: Reduction }> {
  constructor(options: { reduction?: Reduction } = {}) {
    super('MSELoss', options, ['reduction']);
  }
  override forward(input: Tensor, target: Tensor): NnTensor {
    return mse_loss(input, target, this.options);
  }
}
/** nn.functional.l1_loss. */
export class L1Loss extends Loss<{ reduction?: Reduction }> {
  constructor(options: { reduction?: Reduction } = {}) {
    super('L1Loss', options, ['reduction']);
  }
  override forward(input: Tensor, target: Tensor): NnTensor {
    return l1_loss(input, target, this.options);
  }
}
/** nn.functional.kl_div. */
export class KLDivLoss extends Loss<{ reduction?: Reduction | 'batchmean' }> {
  constructor(options: { reduction?: Reduction | 'batchmean' } = {}) {
    super('KLDivLoss', options, ['reduction']);
  }
  override forward(input: Tensor, target: Tensor): NnTensor {
    return kl_div(input, target, this.options);
  }
}
/** nn.functional.cosine_embedding_loss. */
export class CosineEmbeddingLoss extends Loss<{ margin?: number; reduction?: Reduction }> {
  constructor(options: { margin?: number; reduction?: Reduction } = {}) {
    super('CosineEmbeddingLoss', options, ['margin', 'reduction']);
  }
  override forward(input1: Tensor, input2: Tensor, target: Tensor): NnTensor {
    return cosine_embedding_loss(input1, input2, target, this.options);
  }
}
/** nn.functional.triplet_margin_loss. */
export class TripletMarginLoss extends Loss<TripletOptions> {
  constructor(options: TripletOptions = {}) {
    super('TripletMarginLoss', options, ['margin', 'eps', 'swap', 'reduction']);
  }
  override forward(anchor: Tensor, positive: Tensor, negative: Tensor): NnTensor {
    return triplet_margin_loss(anchor, positive, negative, this.options);
  }
}
