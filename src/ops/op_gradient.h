// The derivatives of ops: a second row for each op. Linked only into programs that train.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "core/row_table.h"
#include "ops/dropout.h"
#include "ops/embedding.h"
#include "ops/lora.h"
#include "ops/op.h"

namespace wattn {

// A bias (of a matrix or a norm), and its gradient, which is added to.
struct BiasGradient {
  const float* bias = nullptr;
  float* gradient = nullptr;
};

// A weight, as Weight::at has it, and the same in f32, to which its gradient is added. Where that has no bias, the bias may have a
// BiasGradient.
struct WeightGradient {
  const void* weight = nullptr;
  const void* gradient = nullptr;
};
// Null: it has none.
inline const WeightGradient* gradient_in(std::span<const WeightGradient> weights, const void* weight) {
  const auto found = std::ranges::find(weights, weight, &WeightGradient::weight);
  return found == weights.end() ? nullptr : &*found;
}

// What the steps of a training pass share beside their PassInput.
struct Training {
  // What is dropped follows from the seed and the step.
  DropoutRates dropout{};
  std::uint64_t seed = 0, step = 0;
  std::span<const LoraFactors> lora{};
  std::span<const BiasGradient> biases{};  // whose gradients are wanted where those of the whole weight are not
  RowTable* word_rows = nullptr;           // where gradients of words go instead, if no head shares them; has the rows of the batch
  const WordTable* words = nullptr;        // where they go instead; null: to the gradient of the weight

  Dropout at(DropPlace place, std::int64_t layer) const {
    const auto first = static_cast<std::uint64_t>(layer < 0 ? 0 : layer) * kDropPlaces;
    return dropout_at(dropout.at(place), seed, step, first + static_cast<std::uint64_t>(place));
  }
  // Null: the matrix learns no additions.
  const LoraFactors* lora_of(const LinearWeights& layer) const;
  float* bias_gradient(const float* bias) const;
};

// The ops of a training pass: those of op_row() with dropout.
const OpRow& training_row(Op op);
void drop_in_training(const OpCall& call, DropPlace place);

// The derivative of a step. The forward call has the data that the row reads, and no other.
struct GradientCall {
  const OpCall& forward;
  const void* gradient = nullptr;  // of the weight: a weight in f32, which is added to; null: not wanted
  float* d_out = nullptr;          // of the result, which may be overwritten
  float* d_x = nullptr;            // written, or added to; null: not wanted
  float* d_other = nullptr;        // likewise
};

// Whether a derivative reads a value of the forward pass.
enum class Reads : std::uint8_t { kNo, kYes, kToLearn };  // the last: for the gradient of the weight alone

// Which part of a weight without a separate gradient is trained.
enum class Learns : std::uint8_t { kNothing, kBias, kWhole };

struct GradientRow {
  Reads x, other, out;
  bool adds;      // gradients of what was read are added to, not written
  bool in_place;  // that of x may lie where that of the result does
  void (*backward)(const GradientCall& call);
  void (*scratch)(const GradientCall& call) = nullptr;  // takes what backward() takes; null: nothing
  Learns (*learns)(const OpCall& call) = nullptr;       // by Training; null: nothing
};
const GradientRow& gradient_row(Op op);
// From Op::kWindows on.
const GradientRow* more_gradient_rows();

}  // namespace wattn
