// ops/losses.h over tensors, with torch.nn.functional's shapes and gradients. Results have no dimensions.
#pragma once

#include <cstdint>

#include "nn/options.h"
#include "nn/tensor.h"
#include "ops/losses.h"

namespace wattn::nn {

// reduction: "mean" (default) or "sum"; also "batchmean" of kl_div.
Reduction read_reduction(Options& options, bool batch_mean = false);

struct CrossEntropyOptions {
  std::int64_t ignore_index = -100;
  double label_smoothing = 0;
  Reduction reduction = Reduction::kMean;
};
// x [rows, classes], [classes] or [batch, classes, ...], targets [rows], [] or [batch, ...]: whole numbers below classes, or
// ignore_index.
Result<Tensor> cross_entropy(const Tensor& x, const Tensor& targets, const Tensor* weight, const CrossEntropyOptions& options);
// weight and pos_weight: one number for each last dimension, or one for all.
Result<Tensor> binary_cross_entropy_with_logits(const Tensor& x, const Tensor& targets, const Tensor* weight,
                                                const Tensor* pos_weight, Reduction reduction);
// Of two tensors of one shape; both have gradients.
Result<Tensor> mse_loss(const Tensor& x, const Tensor& targets, Reduction reduction);
Result<Tensor> l1_loss(const Tensor& x, const Tensor& targets, Reduction reduction);
// x: logarithms of probabilities. targets has no gradient.
Result<Tensor> kl_div(const Tensor& x, const Tensor& targets, Reduction reduction);
// x1, x2 [rows, hidden] or [hidden], targets [rows] or []: 1 or -1.
Result<Tensor> cosine_embedding_loss(const Tensor& x1, const Tensor& x2, const Tensor& targets, double margin, Reduction reduction);
Result<Tensor> triplet_margin_loss(const Tensor& anchor, const Tensor& positive, const Tensor& negative,
                                   const TripletMargin& options);

}  // namespace wattn::nn
