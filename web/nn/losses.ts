// Losses as modules, with torch's names.
import { readOptions } from '../core/options.js';
import type { TensorBase } from '../core/tensor_base.js';
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
    options = readOptions(`nn.${kind}`, options, known);
    this.kind = kind;
    this.options = { ...options };
  }
  override get type(): string {
    return this.kind;
  }
}

/**
 * `nn.functional.cross_entropy` as a module.
 *
 * @example
 * const loss = new nn.CrossEntropyLoss();
 * loss.forward(nn.tensor([[2, 0]]), new Tensor('int32', [0], [1])).item(); // => 0.1269
 */
export class CrossEntropyLoss extends Loss<CrossEntropyOptions> {
  constructor(options: CrossEntropyOptions = {}) {
    super('CrossEntropyLoss', options, ['weight', 'ignore_index', 'label_smoothing', 'reduction']);
  }
  /** The loss of logits `[rows, classes]` for class indices `[rows]`. */
  override forward(input: TensorBase, target: TensorBase): NnTensor {
    return cross_entropy(input, target, this.options);
  }
}
/**
 * `nn.functional.binary_cross_entropy_with_logits` as a module.
 *
 * @example
 * new nn.BCEWithLogitsLoss().forward(nn.tensor([0, 2]), nn.tensor([0, 1])).item(); // => 0.41
 */
export class BCEWithLogitsLoss extends Loss<BinaryCrossEntropyOptions> {
  constructor(options: BinaryCrossEntropyOptions = {}) {
    super('BCEWithLogitsLoss', options, ['weight', 'pos_weight', 'reduction']);
  }
  /** The loss of logits for targets from 0 to 1, in the same shape. */
  override forward(input: TensorBase, target: TensorBase): NnTensor {
    return binary_cross_entropy_with_logits(input, target, this.options);
  }
}
/**
 * `nn.functional.mse_loss` as a module.
 *
 * @example
 * new nn.MSELoss().forward(nn.tensor([1, 2]), nn.tensor([1, 4])).item(); // => 2
 */
export class MSELoss extends Loss<{ reduction?: Reduction }> {
  constructor(options: { reduction?: Reduction } = {}) {
    super('MSELoss', options, ['reduction']);
  }
  /** The loss of predictions and targets of the same shape. */
  override forward(input: TensorBase, target: TensorBase): NnTensor {
    return mse_loss(input, target, this.options);
  }
}
/**
 * `nn.functional.l1_loss` as a module.
 *
 * @example
 * new nn.L1Loss().forward(nn.tensor([1, 2]), nn.tensor([1, 4])).item(); // => 1
 */
export class L1Loss extends Loss<{ reduction?: Reduction }> {
  constructor(options: { reduction?: Reduction } = {}) {
    super('L1Loss', options, ['reduction']);
  }
  /** The loss of predictions and targets of the same shape. */
  override forward(input: TensorBase, target: TensorBase): NnTensor {
    return l1_loss(input, target, this.options);
  }
}
/**
 * `nn.functional.kl_div` as a module.
 *
 * @example
 * const input = nn.tensor([[0.5, 0.5]]).log();
 * new nn.KLDivLoss({ reduction: 'batchmean' }).forward(input, nn.tensor([[0.9, 0.1]])).item(); // => 0.3681
 */
export class KLDivLoss extends Loss<{ reduction?: Reduction | 'batchmean' }> {
  constructor(options: { reduction?: Reduction | 'batchmean' } = {}) {
    super('KLDivLoss', options, ['reduction']);
  }
  /** The loss of log-probabilities for target probabilities. */
  override forward(input: TensorBase, target: TensorBase): NnTensor {
    return kl_div(input, target, this.options);
  }
}
/**
 * `nn.functional.cosine_embedding_loss` as a module.
 *
 * @example
 * const [a, b] = [nn.tensor([[1, 0]]), nn.tensor([[0, 1]])];
 * new nn.CosineEmbeddingLoss().forward(a, b, nn.tensor([1])).item(); // => 1
 */
export class CosineEmbeddingLoss extends Loss<{ margin?: number; reduction?: Reduction }> {
  constructor(options: { margin?: number; reduction?: Reduction } = {}) {
    super('CosineEmbeddingLoss', options, ['margin', 'reduction']);
  }
  /** The loss of pairs of rows. Target 1: similar, -1: not similar. */
  override forward(input1: TensorBase, input2: TensorBase, target: TensorBase): NnTensor {
    return cosine_embedding_loss(input1, input2, target, this.options);
  }
}
/**
 * `nn.functional.triplet_margin_loss` as a module.
 *
 * @example
 * const [anchor, near, far] = [nn.tensor([[0, 0]]), nn.tensor([[0, 1]]), nn.tensor([[0, 1.5]])];
 * new nn.TripletMarginLoss().forward(anchor, near, far).item(); // => 0.5
 */
export class TripletMarginLoss extends Loss<TripletOptions> {
  constructor(options: TripletOptions = {}) {
    super('TripletMarginLoss', options, ['margin', 'eps', 'swap', 'reduction']);
  }
  /** The loss of rows: each anchor should be closer to its positive than to its negative. */
  override forward(anchor: TensorBase, positive: TensorBase, negative: TensorBase): NnTensor {
    return triplet_margin_loss(anchor, positive, negative, this.options);
  }
}
