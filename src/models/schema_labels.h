// SchemaLabels: the layers by which GLiNER2 makes a label's row for spans from the row of its "[E]"; arXiv 2507.18546 and the
// package gliner2 (gliner2/layers.py, 2.1.0). They repeat for each instance of a structure or relation. Entities are the first
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

// What a part of a schema asks for.
enum class SchemaPartKind : std::uint8_t { kStructure, kEntities, kRelation, kClasses };

class SchemaLabels {
 public:
  void take_weights(Arena& arena, const Kernels& kernels, CountingLayer layer, std::int64_t hidden);
  void add_targets(TargetList& list) const;

  // How many instances there are: the count that is likeliest by the row of "[P]", [hidden], at most 19. 1 if that is not finite,
  // so that the scores show it.
  std::int64_t instances(const Compute& compute, const float* parent) const;
  // labels: [count, hidden]. Returns [instances, count, hidden].
  Result<std::vector<float>> rows(const Compute& compute, const float* labels, std::int64_t count, std::int64_t instances) const;

 private:
  // A layer of torch.nn.TransformerEncoder: post-norm, ReLU.
  struct EncoderLayer {
    LinearWeights qkv, output, up, down;
    LayerNorm attention_norm, output_norm;
  };
  void step(const Compute& compute, const float* of_x, std::int64_t count, std::vector<float>& h) const;
  Result<void> attend(const Compute& compute, const EncoderLayer& layer, std::int64_t count, std::vector<float>& x) const;

  CountingLayer layer_ = CountingLayer::kNone;
  std::int64_t hidden_ = 0;
  LinearWeights counts_[2];     // [2 * hidden, hidden], [20, 2 * hidden]
  float* positions_ = nullptr;  // [20, hidden] of the instances
  Lstm gru_;                    // gates in torch's order: reset, update, new; [3 * hidden, hidden] each
  LinearWeights narrowed_;      // [128, hidden]
  EncoderLayer layers_[2];
  std::vector<LinearWeights> projector_;
};

}  // namespace wattn
