// SchemaLabels: the layers by which GLiNER2 makes a label's row for spans from the row of its "[E]"; arXiv 2507.18546 and the
// package gliner2 (gliner2/layers.py, 2.1.0). The package repeats them for each instance of a structure. Entities are the first
// instance.
#pragma once

#include <cstdint>
#include <vector>

#include "core/arena.h"
#include "core/result.h"
#include "models/target_list.h"
#include "ops/linear.h"
#include "ops/lstm.h"
#include "ops/norm.h"

namespace wattn {

// counting_layer: a step of a GRU from each label's row, then an MLP, or a small transformer in which labels attend to each other.
enum class CountingLayer : std::uint8_t { kNone, kLstm, kLstmV2 };

class SchemaLabels {
 public:
  void take_weights(Arena& arena, const Kernels& kernels, CountingLayer layer, std::int64_t hidden);
  void add_targets(TargetList& list) const;

  // Whether there are instances: the count that is likeliest by the row of "[P]", [hidden], is not 0. True if that is not finite,
  // so that the scores show it.
  bool any(const Compute& compute, const float* parent) const;
  // labels: [count, hidden]. Returns the same shape.
  Result<std::vector<float>> rows(const Compute& compute, const float* labels, std::int64_t count) const;

 private:
  // A layer of torch.nn.TransformerEncoder: post-norm, ReLU.
  struct EncoderLayer {
    LinearWeights qkv, output, up, down;
    LayerNorm attention_norm, output_norm;
  };
  std::vector<float> step(const Compute& compute, const float* labels, std::int64_t count) const;
  Result<void> attend(const Compute& compute, const EncoderLayer& layer, std::int64_t count, std::vector<float>& x) const;

  CountingLayer layer_ = CountingLayer::kNone;
  std::int64_t hidden_ = 0;
  LinearWeights counts_[2];    // [2 * hidden, hidden], [20, 2 * hidden]
  float* position_ = nullptr;  // [hidden] of the first instance
  Lstm gru_;                   // gates in torch's order: reset, update, new; [3 * hidden, hidden] each
  LinearWeights narrowed_;     // [128, hidden]
  EncoderLayer layers_[2];
  std::vector<LinearWeights> projector_;
};

}  // namespace wattn
