// ops/losses.h over tensors, with torch.nn.functional's shapes and gradients. Results have no dimensions, or, not reduced,
// those of the targets.
#pragma once

#include <cstdint>

#include "nn/options.h"
#include "nn/tensor.h"
#include "ops/losses.h"

namespace wattn::nn {

struct LossReduction {
  Reduction of = Reduction::kMean;
  bool none = false;  // with kSum: what would be added up
};
// reduction: "mean" (default), "sum" or "none"; also "batchmean" of kl_div.
LossReduction read_reduction(Options& options, bool batch_mean = false);

struct CrossEntropyOptions {
  std::int64_t ignore_index = -100;
  double label_smoothing = 0;
  LossReduction reduction{};
};
// x [rows, classes], [classes] or [batch, classes, ...], targets [rows], [] or [batch, ...]: whole numbers below classes, or
// ignore_index. Targets of x's shape are probabilities of the classes, and have gradients too.
Result<Tensor> cross_entropy(const Tensor& x, const Tensor& targets, const Tensor* weight, const CrossEntropyOptions& options);
// weight and pos_weight: one number for each last dimension, or one for all.
Result<Tensor> binary_cross_entropy_with_logits(const Tensor& x, const Tensor& targets, const Tensor* weight,
                                                const Tensor* pos_weight, const LossReduction& reduction);
// The tensors have one shape, and both have gradients.
Result<Tensor> mse_loss(const Tensor& x, const Tensor& targets, const LossReduction& reduction);
Result<Tensor> l1_loss(const Tensor& x, const Tensor& targets, const LossReduction& reduction);
// x: logarithms of probabilities. targets has no gradient.
Result<Tensor> kl_div(const Tensor& x, const Tensor& targets, const LossReduction& reduction);
// x1, x2 [rows, hidden] or [hidden], targets [rows] or []: 1 or -1.
Result<Tensor> cosine_embedding_loss(const Tensor& x1, const Tensor& x2, const Tensor& targets, double margin,
                                     const LossReduction& reduction);
Result<Tensor> triplet_margin_loss(const Tensor& anchor, const Tensor& positive, const Tensor& negative, TripletMargin options,
                                   const LossReduction& reduction);

}  // namespace wattn::nn
