// Losses and their gradients, as torch.nn.functional has them. All are computed in double precision with our own exp and log, so
// they have the same bits everywhere. A gradient is written, [rows, cols] as its input; null: not wanted. parts, likewise: what
// each element or row adds to the sum of all, with kSum the loss of each.
#pragma once

#include <cstdint>
#include <span>

namespace wattn {

enum class Reduction : std::uint8_t {
  kMean,  // over elements or rows; cross_entropy: weighted, over the rows that count
  kSum,
  kBatchMean,  // kl_div only: the sum, over the number of rows
};

// [rows, cols], contiguous.
struct LossInput {
  const float* data = nullptr;
  std::int64_t rows = 0, cols = 0;
  std::int64_t size() const { return rows * cols; }
};

struct CrossEntropy {
  const float* weight = nullptr;  // [classes], or null: 1
  std::int32_t ignore_index = -100;
  float label_smoothing = 0;
  Reduction reduction = Reduction::kMean;
};
// -ln softmax(logits)[target], smoothed towards all classes. Targets are classes or ignore_index; the mean of no rows is NaN.
double cross_entropy(const LossInput& logits, std::span<const std::int32_t> targets, const CrossEntropy& options, float* d_logits,
                     float* parts = nullptr);
// Targets are probabilities of the classes, [rows, classes]; ignore_index is not read, and the mean is over all rows.
double soft_cross_entropy(const LossInput& logits, const float* targets, const CrossEntropy& options, float* d_logits,
                          float* d_targets, float* parts = nullptr);

struct BinaryCrossEntropy {
  const float* weight = nullptr;      // [cols], or null: 1
  const float* pos_weight = nullptr;  // [cols] of the positive part, or null: 1
  Reduction reduction = Reduction::kMean;
};
// -(pos_weight y ln s(x) + (1 - y) ln(1 - s(x))), s the sigmoid. targets: as logits.
double binary_cross_entropy_with_logits(const LossInput& logits, const float* targets, const BinaryCrossEntropy& options,
                                        float* d_logits, float* parts = nullptr);

// (x - target)^2
double mse_loss(const LossInput& x, const float* target, Reduction reduction, float* dx, float* parts = nullptr);
// |x - target|; the derivative at 0 is 0.
double l1_loss(const LossInput& x, const float* target, Reduction reduction, float* dx, float* parts = nullptr);
// target (ln target - x), x logarithms of probabilities; 0 where the target is 0.
double kl_div(const LossInput& x, const float* target, Reduction reduction, float* dx, float* parts = nullptr);

// Pairs of rows: 1 - cos where y is 1, max(0, cos - margin) where it is -1.
double cosine_embedding_loss(const LossInput& x1, const float* x2, std::span<const std::int32_t> y, float margin,
                             Reduction reduction, float* dx1, float* dx2, float* parts = nullptr);

struct TripletMargin {
  float margin = 1;
  float eps = 1e-6f;  // added to each difference
  bool swap = false;  // uses the distance of positive and negative where it is smaller than that of anchor and negative
  Reduction reduction = Reduction::kMean;
};
struct TripletGradients {
  float *anchor, *positive, *negative;  // each may be null
};
// max(0, |anchor - positive| - |anchor - negative| + margin), Euclidean distances.
double triplet_margin_loss(const LossInput& anchor, const float* positive, const float* negative, const TripletMargin& options,
                           const TripletGradients& gradients, float* parts = nullptr);

}  // namespace wattn
