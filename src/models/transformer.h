// Transformer: the weights and the plan of a stack of layers, of which every architecture is a configuration. pass/run.h runs it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/arena.h"
#include "core/result.h"
#include "core/taps.h"
#include "io/weight_loader.h"
#include "models/transformer_config.h"
#include "ops/attention.h"
#include "ops/batch.h"
#include "ops/embedding.h"
#include "ops/linear.h"
#include "ops/norm.h"
#include "plan/fusions.h"
#include "plan/plan.h"

namespace wattn {

// The order of its members is that of a Trainer's state.
struct TransformerLayer {
  LinearWeights qkv;  // [query_width + 2 * kv_width, hidden]: query, then key, then value
  LinearWeights attention_output;
  LinearWeights up;  // gated: [2 * ffn, hidden], the gate first
  LinearWeights down;
  LinearWeights cross_query;        // [query_width, hidden]
  LinearWeights cross_keys_values;  // [2 * query_width, hidden]: key, then value
  LinearWeights cross_output;
  LinearWeights convolution_in;      // [3 * hidden, hidden]: of LFM2's gated short convolution, in place of attention
  LinearWeights convolution_filter;  // [hidden, kernel]
  LinearWeights convolution_out;     // [hidden, hidden]
  LinearWeights relative_qk;         // [query_width + kv_width, hidden] of relative embeddings, if they have matrices of their own
  DistanceBias distance_bias;        // if each layer has one
  std::shared_ptr<struct Experts> experts;  // instead of up and down, or null
  LayerNorm query_norm;
  LayerNorm key_norm;
  LayerNorm attention_norm;
  LayerNorm cross_norm;
  LayerNorm ffn_norm;
  LayerNorm attention_output_norm;
  LayerNorm ffn_output_norm;
  // MobileBERT's (TransformerConfig::bottleneck).
  struct Dense {
    LinearWeights layer;
    LayerNorm norm;
  };
  struct Stacked {
    LinearWeights up, down;
    LayerNorm norm;
  };
  static constexpr std::int64_t kMostStacked = 3;
  LinearWeights value;            // [kv_width, hidden]: if it reads other columns than query and key, which are all of qkv then
  Dense narrow, shared;           // [layer_size, hidden]
  Dense widen;                    // [hidden, layer_size]
  Stacked stacked[kMostStacked];  // the feed-forwards before the last one
  LinearWeights global_qkv;       // [3 * query_width, hidden]: of Longformer's global tokens
  // ConvBERT's (TransformerConfig::span_kernel).
  struct {
    LinearWeights query;      // [query_width, hidden]
    LinearWeights key_value;  // [2 * query_width, hidden]
    LinearWeights depthwise;  // [hidden, kernel]
    LinearWeights pointwise;  // [query_width, hidden]
    LinearWeights kernel;     // [heads * kernel, query_width]
    LinearWeights values;     // [query_width, hidden]
  } span;
  LinearWeights delta_in;     // [GatedDelta::columns(), hidden]: of a Gated DeltaNet, in place of attention
  LinearWeights delta_gates;  // [2 * value_heads, hidden]: b, then a
  LinearWeights delta_out;    // [hidden, value_width]
  std::shared_ptr<struct GatedDelta> gated_delta;
  float* begin = nullptr;  // of the layer's weights, which are followed by those of the next layer
};

struct TargetList;
class Fields;

// The convolution of TransformerConfig.
struct Convolution {
  LinearWeights layer;  // [hidden, kernel * hidden]: the columns of each token of the window, one after the other
  LayerNorm norm;
};

// Layers with experts (ops/experts.h).
struct ExpertLayers {
  void (*take)(Arena& arena, const Kernels& kernels, WeightType type, const TransformerConfig& config,
               std::shared_ptr<Experts>& experts);
  void (*add_targets)(const TransformerConfig& config, const TransformerNames& names, const TransformerLayer& layer, std::size_t i,
                      bool is_gguf, TargetList& list);
};
extern const ExpertLayers kExpertLayers;

// Convolutions, beside a layer and in one (convolution.cpp).
struct Convolutions {
  // conv_kernel_size, conv_groups and conv_act.
  void (*read)(Fields& config, TransformerConfig& out);
  void (*add_targets)(const TransformerConfig& config, const TransformerNames& names, const Convolution& convolution,
                      TargetList& list);
  void (*add_short_targets)(const TransformerConfig& config, const TransformerNames& names, const TransformerLayer& layer,
                            std::size_t i, TargetList& list);
  // The rows [first, first + out) of a Linear from a matrix in groups. pattern: its name among `names`.
  void (*add_pointwise)(const TransformerConfig& config, const TransformerNames& names, const char* pattern,
                        const std::string& name, const LinearWeights& layer, std::int64_t first, std::int64_t out,
                        TargetList& list);
};
extern const Convolutions kConvolutions;

class LayerBuilder;

// Layers with a Gated DeltaNet (gated_delta.cpp).
struct GatedDeltas {
  void (*take)(Arena& arena, const Kernels& kernels, const TransformerConfig& config, std::shared_ptr<GatedDelta>& to);
  // x: what attention would read.
  PlanId (*layer)(LayerBuilder& builder, PlanId x);
  void (*add_targets)(const TransformerConfig& config, const TransformerNames& names, const TransformerLayer& layer, std::size_t i,
                      bool is_gguf, TargetList& list);
  std::int64_t (*state_size)(const TransformerConfig& config);
};
extern const GatedDeltas kGatedDeltas;

// Layers of a rare architecture, which its configuration names. Null: as usual.
struct RareLayers {
  // x: the word embeddings; gives the rows to which those of positions and token types are added.
  PlanId (*embed)(LayerBuilder& builder, PlanId x) = nullptr;
  PlanId (*layer)(LayerBuilder& builder, PlanId x) = nullptr;
  PlanId (*attention)(LayerBuilder& builder, PlanId x) = nullptr;  // what attention adds to x
  void (*add_targets)(const TransformerConfig& config, const TransformerLayer& layer, std::size_t i, TargetList& list) = nullptr;
};

// The weights outside of the layers. Empty: the model has none.
struct TransformerEnds {
  WordTable word_table;            // words or lm_head, with what belongs to tokens
  EmbeddingTable words;            // [table_rows or vocab, embedding_width]; empty when the lm head holds them
  float* token_rows = nullptr;     // [vocab] whole numbers
  float* token_weights = nullptr;  // [vocab]
  EmbeddingTable positions, token_types;
  LayerNorm norm;
  LinearWeights projection;
  Rotary rotary, local_rotary;
  DistanceBias distances;
  DistanceBuckets distance_buckets;
  EmbeddingTable relative;
  LayerNorm relative_norm;
  LinearWeights head_dense;
  LayerNorm head_norm;
  Convolution convolution;
  LayerNorm final_norm;
  LinearWeights pooler;
  LinearWeights lm_head;
};

class Transformer {
 public:
  // Allocates all weights in kernel layout, zero-initialised; loading fills them through weight_targets(). type: of matrices and
  // tables. positions: the longest sequence supported, at most max_position_embeddings.
  static Result<Transformer> with_config(const TransformerConfig& config, std::int64_t positions, const Kernels& kernels,
                                         WeightType type);

  // One target per tensor of the checkpoint. They write into this Transformer's memory, whose address survives moving the
  // Transformer. is_gguf: the file has llama.cpp's tensors.
  std::vector<WeightTarget> weight_targets(const TransformerNames& names, bool is_gguf) const;
  // Additions to the linear layers, or null. They must outlive their use here.
  void set_lora(const Lora* lora) { lora_ = lora; }
  // The lm head, if it holds the word embeddings too; else empty.
  LinearWeights shared_weights() const { return head_holds_embeddings() ? ends_->lm_head : LinearWeights(); }
  // Whether the checkpoint has a pooler, whose targets are optional.
  void set_has_pooler(bool has_pooler) { has_pooler_ = has_pooler; }

  const TransformerConfig& config() const { return config_; }
  const Kernels& kernels() const { return *kernels_; }
  WeightType weight_type() const { return type_; }
  std::int64_t positions() const { return positions_; }
  bool has_pooler() const { return has_pooler_; }
  const EmbeddingTable& word_embeddings() const { return ends_->words; }  // empty when the lm head holds them
  using Ends = TransformerEnds;
  const Ends& ends() const { return *ends_; }
  // The plan that pass/run.h runs, and what it runs with.
  const Plan& plan() const { return plan_; }
  Plan plan_with(const Fusions& fusions) const;  // the same with fewer fusions
  const Plan& training_plan() const;             // for pass/training.h; made when it is first asked for
  Compute compute(ThreadTeam& team) const { return {*kernels_, team, lora_}; }
  // Slots have keys and values in 8 bits.
  void keep_q8() { plan_.keys_values.q8 = true; }
  std::uint64_t weight_bytes() const { return weights_.bytes(); }
  // All weights in f32, in the kernels' layout, with zeros between them and tables that are computed.
  std::span<float> weights_f32() const {
    const auto bytes = weights_.taken();
    return {reinterpret_cast<float*>(bytes.data()), bytes.size() / sizeof(float)};
  }
  const LinearWeights& pooler_layer() const { return ends_->pooler; }  // if has_pooler()
  const LayerNorm& last_norm() const { return ends_->final_norm; }     // of a pre-norm model, else empty
  const TransformerLayer& layer_at(std::int64_t i) const { return layers_[static_cast<std::size_t>(config_.weights_of(i))]; }
  const TransformerLayer& own_layer(std::int64_t i) const { return layers_[static_cast<std::size_t>(i)]; }
  // What the plan reads of a layer with weights of its own, 0 <= i < own_layers(): each once, in the order of TransformerLayer's
  // members.
  std::vector<Weight> own_weights(std::int64_t i) const;
  // The same of the embeddings, in the order of TransformerEnds' members; without words, a convolution, and what is computed.
  std::vector<Weight> embedding_weights() const;
  // The layer with weights of its own that this is a member of; -1: none.
  std::int64_t own_layer_of(const void* weight) const;

  // An InputError names the first id, type, length or position out of range.
  Result<void> check(const Batch& batch) const;

  // out: [ids.size(), embedding_width] of ids that have passed check(), where no head holds the word embeddings.
  void word_rows(std::span<const std::int32_t> ids, float* out) const;

  // pooled: [batch, hidden] = tanh(W h_0 + b) of each sequence's first token, 0 for an empty sequence. Needs has_pooler().
  void pooler(const Batch& batch, const float* hidden, float* pooled) const;

 private:
  std::span<TransformerLayer> layers() const { return {layers_.get(), static_cast<std::size_t>(config_.own_layers())}; }
  void take_weights(Arena& arena);
  void take_weight(Arena& arena, const Weight& weight);
  void take_words(Arena& arena, const Weight& weight);
  void take_tables(Arena& arena);
  void set_tables();
  void add_word_targets(TargetList& list, const TransformerNames& names) const;
  void add_embedding_targets(TargetList& list, const TransformerNames& names, bool is_gguf) const;
  void add_distance_targets(TargetList& list, const std::string& name, const DistanceBias& bias) const;
  void add_layer_targets(TargetList& list, const TransformerNames& names, std::size_t layer, bool is_gguf) const;
  std::vector<Weight> weights_within(const void* begin, const void* end) const;
  bool head_holds_embeddings() const { return config_.lm_head && config_.tie_word_embeddings; }

  TransformerConfig config_;
  std::int64_t positions_ = 0;
  const Kernels* kernels_ = nullptr;
  WeightType type_ = WeightType::kF32;
  Arena weights_;
  std::unique_ptr<Ends> ends_ = std::make_unique<Ends>();  // the plan has its address, as those of the layers
  std::unique_ptr<TransformerLayer[]> layers_;             // [own_layers()]
  Plan plan_;
  mutable std::unique_ptr<Plan> training_plan_;
  bool has_pooler_ = false;
  const Lora* lora_ = nullptr;
};

}  // namespace wattn
