// Logistic regression over fixed vectors, with the objective of scikit-learn's LogisticRegression: the mean loss of the examples
// plus |W|^2 / (2 C examples), without biases. Products are f32 in the exact kernels, everything else is double: the same bits
// everywhere. Work is done in steps of about 10 ms, so that a page can do other things in between.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/result.h"
#include "learn/lbfgs.h"

namespace wattn {

class Logistic {
 public:
  // vectors: [count, dim]; labels: [count], each below num_labels.
  static Result<Logistic> make(std::span<const float> vectors, std::vector<std::int32_t> labels, std::int64_t num_labels);

  // Begins a fit. weights: of the examples, [count]; those with weight 0 are held out. start: parameters() of an earlier fit, or
  // empty for zeros.
  Result<void> begin(std::vector<double> weights, double c, std::vector<double> start);
  // Evaluates a block of examples; after the last of them, L-BFGS chooses where to go next. False if all components of the gradient
  // of the mean loss are within the tolerance, or cannot come nearer.
  bool step(double tolerance);

  int iterations() const { return search_.iterations(); }
  double loss() const { return search_.value(); }                        // of the objective
  const std::vector<double>& parameters() const { return search_.x(); }  // [dim + 1, labels]: W transposed, then the biases
  // The logits of a block of examples from begin on: [examples of the block, labels]. Only between fits.
  std::vector<float> logits(std::int64_t begin);

 private:
  Logistic(std::int64_t count, std::int64_t dim, std::int64_t num_labels);
  std::int64_t end_of_block(std::int64_t begin) const;
  void apply(std::int64_t begin, std::int64_t end);
  void add_block(std::int64_t begin, std::int64_t end);
  bool finish(double tolerance);

  std::int64_t count_, inputs_, num_labels_;  // inputs_: dim + 1, the last of which is 1
  std::vector<float> rows_;                   // [count, inputs]
  std::vector<float> columns_;                // [inputs, count]
  std::vector<std::int32_t> labels_;          // [count]
  std::vector<double> weights_;               // [count], their sum is 1
  double decay_ = 0;
  std::int64_t row_ = 0;          // the first of the next block
  double sum_ = 0;                // of the losses of the blocks before it
  std::vector<double> gradient_;  // [inputs, labels], of the blocks before it
  std::vector<float> rounded_;    // [inputs, labels], the parameters
  std::vector<float> logits_;     // [block, labels], then the slopes of the loss
  std::vector<float> products_;   // [inputs, labels]
  std::vector<float> scratch_;
  Lbfgs search_;
};

}  // namespace wattn
