// LoRA, arXiv 2106.09685: W + alpha / r * B A, with PEFT's names and initial values. The product is added to the weights of the
// model, so that a pass costs no more than without. With DoRA each row is scaled to a length that is learned.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/arena.h"
#include "core/random.h"
#include "core/result.h"
#include "ops/lora.h"

namespace wattn {

// Rows [first, first + out) of a layer's weights.
struct WeightRows {
  LinearWeights layer;
  std::int64_t first = 0, out = 0;
};

struct LoraConfig {
  std::int64_t r = 8;
  float lora_alpha = 8;
  bool use_rslora = false;  // alpha / sqrt(r), arXiv 2312.03732
  bool use_dora = false;    // arXiv 2402.09353
};

class LoraMatrix {
 public:
  // Keeps a copy of the rows as they are, widened to f32. A is uniform within 1 / sqrt(in) (torch's kaiming_uniform_ with a = sqrt
  // 5), B is 0.
  LoraMatrix(const WeightRows& rows, const LoraConfig& config, Generator& generator);

  std::span<float> a() { return a_; }                  // [r, in]
  std::span<float> b() { return b_; }                  // [out, r]
  std::span<float> magnitude() { return magnitude_; }  // [out], at first the lengths of the rows; empty without DoRA
  std::int64_t r() const { return r_; }
  const WeightRows& rows() const { return rows_; }

  // Sets the rows to W + scale B A, with DoRA of the lengths magnitude().
  void merge();
  // Sets the rows to W.
  void unmerge() const;
  // Writes A and scale B into those of its layer, where its rank begins at `at`.
  void write(const LoraFactors& factors, std::int64_t at) const;
  // Reads their gradients, shaped as a(), b() and magnitude().
  void read_gradients(const LoraFactors& factors, std::int64_t at, std::span<float> d_a, std::span<float> d_b,
                      std::span<float> d_magnitude) const;

 private:
  std::int64_t in() const { return rows_.layer.in; }
  float scale_at(std::int64_t j) const { return factors_.empty() ? scale_ : scale_ * factors_[static_cast<std::size_t>(j)]; }

  WeightRows rows_;
  std::int64_t r_;
  float scale_;
  std::vector<float> base_, a_, b_;         // base_: [out, in]
  std::vector<float> magnitude_, factors_;  // [out], of DoRA; factors_: of W + scale B A
};

// The matrices of a model, and by layer what a backward pass needs: the additions to one layer run as one.
class LoraSet {
 public:
  void add(const WeightRows& rows, const LoraConfig& config, Generator& generator) {
    matrices_.emplace_back(rows, config, generator);
  }
  // After the last add(): takes memory.
  Result<void> begin();
  std::span<LoraMatrix> matrices() { return matrices_; }
  std::span<const LoraFactors> factors() const { return factors_; }
  std::uint64_t bytes() const { return memory_.bytes(); }

  // After a change of A or B.
  void merge();
  void clear_gradients() const;
  // The gradients of the i-th matrix.
  void read_gradients(std::size_t i, std::span<float> d_a, std::span<float> d_b, std::span<float> d_magnitude = {}) const;

 private:
  struct Place {
    std::size_t factors;
    std::int64_t at;
  };

  std::vector<LoraMatrix> matrices_;
  std::vector<Place> places_;  // [matrices]
  std::vector<LoraFactors> factors_;
  std::vector<std::int64_t> outputs_;  // [factors] of d_outputs
  Arena memory_;
};

}  // namespace wattn
