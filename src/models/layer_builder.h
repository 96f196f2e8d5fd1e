// LayerBuilder: a configuration becomes steps over values. layers.cpp has the usual embeddings and layers, which rarer ones are
// made of, too (RareLayers).
#pragma once

#include <cstdint>

#include "models/layers.h"
#include "plan/builder.h"

namespace wattn {

class LayerBuilder : public PlanBuilder {
 public:
  using Id = PlanId;

  LayerBuilder(const TransformerConfig& config, TransformerEnds& ends, const PlanOptions& options)
      : PlanBuilder(config.hidden_size, options.for_training ? Fusions{.activations = false, .residuals = false} : options.fusions),
        config_(config),
        ends_(ends),
        for_training_(options.for_training) {}

  const TransformerConfig& config() const { return config_; }
  TransformerEnds& ends() { return ends_; }
  TransformerLayer& layer() { return *layer_; }  // the current one

  Id linear(Id x, const char* name, LinearWeights& layer, std::int64_t out, bool bias, Hold hold = Hold::kMatrix) {
    return step({.op = Op::kLinear, .x = x}, {name, &layer, hold, bias, out, value(x).width});
  }
  Id norm(Id x, const char* name, LayerNorm& weights, NormKind kind);
  Id norm(Id x, const char* name, LayerNorm& weights) { return norm(x, name, weights, config_.norm); }
  // x + what a sublayer adds; post-norm: the norm of the sum.
  Id residual(Id added, Id x, const char* name, LayerNorm& weights);
  Id dropped(Id x, DropPlace place) {
    value(x).drop = place;
    return x;
  }
  // Queries, keys and values of the current layer.
  Id query_key_value(Id x);
  // Its self-attention over them, and the matrix after it.
  Id attend(Id qkv);
  // Shows the columns of queries, keys and values to taps.
  void show_query_key_value(Id qkv);
  // tap: of the columns between the matrices; null: none.
  Id feed_forward(Id x, LinearWeights& up, LinearWeights& down, const char* tap);

 protected:
  bool is_post() const { return config_.norm_placement == NormPlacement::kPost; }

  Id add(Id x, Id other, float factor = 1) { return step({.op = Op::kAdd, .x = x, .other = other, .factor = factor}); }
  Id scale(Id x, float factor) { return factor == 1 ? x : step({.op = Op::kScale, .x = x, .factor = factor}); }
  Learned learned_norms() const { return config_.learned_norms ? Learned::kWithSection : Learned::kNever; }
  // Costs a product, and saves memory in every layer.
  Id again(Id x) {
    value(x).again = true;
    return x;
  }

  Weight of_keys(Weight weight) const;
  Id query_key_norms(Id qkv, std::int8_t shape);
  Id relative_queries_keys();
  Weight distance_bias();

  const TransformerConfig& config_;
  TransformerEnds& ends_;
  bool for_training_;
  TransformerLayer* layer_ = nullptr;
  std::int64_t index_ = 0;
};

}  // namespace wattn
