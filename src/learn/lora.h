// LoRA, arXiv 2106.09685: W + alpha / r * B A, with PEFT's names and initial values. The product is added to the weights of the
// model, so that a pass costs no more than without; gradients of A and B come from that of the sum.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/random.h"
#include "ops/compute.h"
#include "ops/linear.h"

namespace wattn {

// Rows [first, first + out) of a layer's weights.
struct WeightRows {
  Linear layer;
  std::int64_t first = 0, out = 0;
};

struct LoraConfig {
  std::int64_t r = 8;
  float lora_alpha = 8;
  bool use_rslora = false;  // alpha / sqrt(r), arXiv 2312.03732
};

class LoraMatrix {
 public:
  // Keeps a copy of the rows as they are, widened to f32. A is uniform within 1 / sqrt(in) (torch's kaiming_uniform_ with a = sqrt
  // 5), B is 0.
  LoraMatrix(const WeightRows& rows, const LoraConfig& config, Generator& generator);

  std::span<float> a() { return a_; }  // [r, in]
  std::span<float> b() { return b_; }  // [out, r]
  std::int64_t r() const { return r_; }

  // Sets the rows to W + scale B A.
  void merge() const;
  // Sets the rows to W.
  void unmerge() const;
  // Adds to d_a and d_b, shaped as a() and b(). gradient: a layer in f32 whose weights are the gradient of the layer's.
  void add_gradients(const Linear& gradient, std::span<float> d_a, std::span<float> d_b) const;

 private:
  std::int64_t in() const { return rows_.layer.in; }

  WeightRows rows_;
  std::int64_t r_;
  float scale_;
  std::vector<float> base_, a_, b_;  // base_: [out, in]
};

}  // namespace wattn
