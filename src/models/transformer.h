// Transformer: a stack of layers, of which every architecture is a configuration. It reads whole sequences at once, or extends them
// in the slots of a cache; with cross attention it also attends to an encoder's states.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/arena.h"
#include "core/result.h"
#include "core/taps.h"
#include "io/weight_loader.h"
#include "models/batch.h"
#include "models/transformer_config.h"
#include "ops/attention.h"
#include "ops/embedding.h"
#include "ops/linear.h"
#include "ops/norm.h"

namespace wattn {

struct TransformerLayer {
  Linear qkv;  // [query_width + 2 * kv_width, hidden]: query, then key, then value
  LayerNorm query_norm;
  LayerNorm key_norm;
  Linear relative_qk;          // [query_width + kv_width, hidden] of relative embeddings, if they have matrices of their own
  DistanceBias distance_bias;  // if each layer has one
  Linear attention_output;
  LayerNorm attention_norm;
  LayerNorm attention_output_norm;
  Linear cross_query;        // [query_width, hidden]
  Linear cross_keys_values;  // [2 * query_width, hidden]: key, then value
  Linear cross_output;
  LayerNorm cross_norm;
  Linear up;  // gated: [2 * ffn, hidden], the gate first
  Linear down;
  LayerNorm ffn_norm;
  LayerNorm ffn_output_norm;
  std::shared_ptr<struct Experts> experts;  // instead of up and down, or null
};

// Cross keys and values: an encoder's states as projected by each layer's cross attention, one slot per source.
struct CrossKv {
  KvCache cache;
  std::vector<std::int32_t> lengths;  // [slots] tokens of each source
};

struct SlotList;

// What experts_feed_forward() reads and writes.
struct ExpertsScratch {
  float* logits = nullptr;  // [tokens, experts]
  float* rows = nullptr;    // [tokens, hidden], of the tokens of one expert
  float* up = nullptr;      // [tokens, ffn]
  float* down = nullptr;    // [tokens, hidden]
  float* sum = nullptr;     // [tokens, hidden]
};
// Layers with experts (arXiv 2502.07972). A program that defines these functions as empty has no such models.
void take_experts(Arena& arena, const Kernels& kernels, WeightType type, const TransformerConfig& config, TransformerLayer& layer);
void add_experts_slots(const TransformerConfig& config, const TransformerNames& names, const TransformerLayer& layer, std::size_t i,
                       SlotList& list);
// out may be x.
void experts_feed_forward(const Compute& compute, const TransformerConfig& config, const TransformerLayer& layer,
                          const ExpertsScratch& scratch, const LinearScratch& linear_scratch, const float* x, std::int64_t tokens,
                          float* out);

// The convolution of TransformerConfig. Likewise.
struct Convolution {
  Linear layer;  // [hidden, kernel * hidden]: the columns of each token of the window, one after the other
  LayerNorm norm;
};
struct ConvolutionScratch {
  float* windows = nullptr;  // [tokens, kernel * hidden]
  float* out = nullptr;      // [tokens, hidden]
};
void take_convolution(Arena& arena, const Kernels& kernels, WeightType type, const TransformerConfig& config,
                      Convolution& convolution);
void add_convolution_slots(const TransformerConfig& config, const TransformerNames& names, const Convolution& convolution,
                           SlotList& list);
// scratch.out: of the embeddings, [tokens, hidden].
void convolve(const Compute& compute, const TransformerConfig& config, const Convolution& convolution, const Batch& batch,
              const ConvolutionScratch& scratch, const LinearScratch& linear_scratch, const float* embeddings);

class Transformer {
 public:
  // Allocates all weights in kernel layout, zero-initialised; loading fills them through weight_slots(). type: of matrices and
  // tables. positions: the longest sequence supported, at most max_position_embeddings.
  static Result<Transformer> with_config(const TransformerConfig& config, std::int64_t positions, const Kernels& kernels,
                                         WeightType type);

  // One slot per tensor of the checkpoint. They write into this Transformer's memory, whose address survives moving the
  // Transformer. is_gguf: the file has llama.cpp's tensors.
  std::vector<WeightSlot> weight_slots(const TransformerNames& names, bool is_gguf) const;
  // Additions to the linear layers, or null. They must outlive their use here.
  void set_lora(const Lora* lora) { lora_ = lora; }
  // The lm head, if it holds the word embeddings too; else empty.
  Linear shared_weights() const { return head_holds_embeddings() ? lm_head_ : Linear(); }
  // Whether the checkpoint has a pooler, whose slots are optional.
  void set_has_pooler(bool has_pooler) { has_pooler_ = has_pooler; }

  const TransformerConfig& config() const { return config_; }
  const Kernels& kernels() const { return *kernels_; }
  WeightType weight_type() const { return type_; }
  std::int64_t positions() const { return positions_; }
  bool has_pooler() const { return has_pooler_; }
  const Embedding& word_embeddings() const { return word_embeddings_; }  // empty when the lm head holds them
  // What comes before the layers, and the head over the vocabulary. Empty: the model has none.
  struct Ends {
    Embedding words, positions, token_types, relative;
    LayerNorm norm, relative_norm;
    Linear projection, lm_head;
    DistanceBias distances;
  };
  Ends ends() const {
    return {word_embeddings_, position_embeddings_, token_type_embeddings_, relative_embeddings_,
            embeddings_norm_, relative_norm_,       embeddings_projection_, lm_head_,
            distance_bias_};
  }
  std::uint64_t weight_bytes() const { return weights_.bytes(); }
  // All weights in f32, in the kernels' layout, with zeros between them and tables that are computed.
  std::span<float> weights_f32() const {
    const auto bytes = weights_.taken();
    return {reinterpret_cast<float*>(bytes.data()), bytes.size() / sizeof(float)};
  }
  AttentionShape attention_shape() const;
  const Linear& pooler_layer() const { return pooler_; }      // if has_pooler()
  const LayerNorm& last_norm() const { return final_norm_; }  // of a pre-norm model, else empty
  const TransformerLayer& layer_at(std::int64_t i) const { return layers_[static_cast<std::size_t>(config_.weights_of(i))]; }

  // Bytes forward() takes from its arena for batches within these limits. max_keys: the longest sequence, cache slot or source.
  // own_keys: for sequences without slots.
  std::uint64_t forward_bytes(std::int64_t max_tokens, std::int64_t max_keys, bool own_keys, int threads) const;

  // An InputError names the first id, type, length or position out of range.
  Result<void> check(const Batch& batch) const;

  // out: [ids.size(), embedding_width] of ids that have passed check(), where no head holds the word embeddings.
  void word_rows(std::span<const std::int32_t> ids, float* out) const;

  // Keys and values that outlast a pass.
  struct Context {
    const KvCache* cache = nullptr;     // of the batch's slots; null: without a cache
    const CrossKv* cross_kv = nullptr;  // of the batch's sources; null: without cross attention
  };
  // hidden: [tokens, hidden], after the final norm if there is one. The batch has passed check(); arena has forward_bytes() free. A
  // sequence read at once, in pieces or token by token, with or without a slot, gives the same bits. Taps shown:
  // "embeddings.output", "layer.N.attention.{query,key,value,scores,probs,context,output}",
  // "layer.N.cross_attention.{query,probs,context,output}", "layer.N.intermediate", "layer.N.output" and "final_norm.output". All
  // but scores and probs may be patched, which affects what follows. Queries and keys are shown after rotation, "attention.output"
  // after the residual (and the norm, if post-norm).
  void forward(ThreadTeam& team, const Batch& batch, const Context& context, Arena& arena, float* hidden, Taps* taps) const;

  KvCache take_kv_cache(Arena& arena, std::int64_t slots, std::int64_t length) const;
  CrossKv take_cross_kv(Arena& arena, std::int64_t slots, std::int64_t length) const;
  // Projects an encoder's states, [tokens, hidden], to the cross keys and values of a slot; arena has project_cross_kv_bytes()
  // free. Taps shown: "layer.N.cross_attention.{key,value}", which may be patched.
  void project_cross_kv(ThreadTeam& team, const float* states, std::int64_t tokens, std::int64_t slot, CrossKv& cross_kv,
                        Arena& arena, Taps* taps) const;
  std::uint64_t project_cross_kv_bytes(std::int64_t tokens) const;

  // logits: [rows, vocab] of rows from forward(), which are scaled in place by lm_head_scale. Needs lm_head.
  void lm_head(ThreadTeam& team, float* hidden, std::int64_t rows, Arena& arena, float* logits) const;
  std::uint64_t lm_head_bytes(std::int64_t rows) const;

  // Applies the final norm, if there is one, in place to rows of a layer's output.
  void final_norm(ThreadTeam& team, float* rows, std::int64_t count) const;

  // pooled: [batch, hidden] = tanh(W h_0 + b) of each sequence's first token, 0 for an empty sequence. Needs has_pooler().
  void pooler(const Batch& batch, const float* hidden, float* pooled) const;

 private:
  friend class TrainingPass;

  struct Workspace {
    float* embedded = nullptr;      // [tokens, embedding_size], before the projection
    float* qkv = nullptr;           // [tokens, qkv_width]
    float* context = nullptr;       // [tokens, query_width]
    float* projected = nullptr;     // [tokens, hidden]
    float* parallel = nullptr;      // [tokens, hidden] what the feed-forward reads, if it runs beside attention
    float* intermediate = nullptr;  // [tokens, ffn], gated: [tokens, 2 * ffn]
    float* gated = nullptr;         // [tokens, ffn]
    float* relative = nullptr;      // [buckets, hidden] relative embeddings
    float* relative_qk = nullptr;   // [buckets, 2 * hidden] projected by a layer's query and key matrices
    ExpertsScratch experts;
    ConvolutionScratch convolution;
    LinearScratch linear;
    std::array<AttentionScratch, ThreadTeam::kMostThreads> attention;  // of each thread
    Disentangled disentangled;
  };
  struct Pass {
    Compute compute;
    const Batch& batch;
    const Context& context;
    Workspace work;
    Taps* taps;
  };
  struct WorkspaceSize {
    std::int64_t tokens = 0;
    std::int64_t keys = 0;
    std::int64_t own_keys = 0;  // the longest sequence without a slot
    int threads = 1;
  };

  void take_weights(Arena& arena);
  void take_layer(Arena& arena, TransformerLayer& layer, bool experts);
  void take_position_weights(Arena& arena);
  void add_word_slots(SlotList& list, const TransformerNames& names) const;
  void add_embedding_slots(SlotList& list, const TransformerNames& names, bool is_gguf) const;
  void add_distance_slots(SlotList& list, const std::string& name, const DistanceBias& bias) const;
  void add_layer_slots(SlotList& list, const TransformerNames& names, std::size_t layer, bool is_gguf) const;
  Workspace take_workspace(Arena& arena, const WorkspaceSize& size) const;
  void embed_tokens(const Pass& pass, float* hidden) const;
  void sum_embeddings(const Pass& pass, float* out) const;
  std::vector<std::int32_t> positions_after_padding(const Batch& batch) const;
  void prepare_relative_embeddings(Pass& pass, std::int64_t max_seq) const;
  template <class Run>
  void sublayer(const Pass& pass, const LayerNorm* norm, const LayerNorm* output_norm, float* x, const Run& run) const;
  void forward_layer(const Pass& pass, int layer, float* hidden) const;
  struct AttentionCall {
    ScoreTerms terms;
    AttentionInput input;
  };
  AttentionCall attention_call(const Pass& pass, int layer) const;
  const Rotary& rotary_of(int layer) const { return config_.is_local(layer) && local_rotary_.cos ? local_rotary_ : rotary_; }
  void place_queries_and_keys(const Pass& pass, int layer) const;
  void project_relative(const Pass& pass, int layer) const;
  void attention(const Pass& pass, int layer, const float* x, float* out) const;
  void cross_attention(const Pass& pass, int layer, const float* x, float* out) const;
  void feed_forward(const Pass& pass, int layer, const float* x, float* out) const;
  bool head_holds_embeddings() const { return config_.lm_head && config_.tie_word_embeddings; }

  TransformerConfig config_;
  std::int64_t positions_ = 0;
  const Kernels* kernels_ = nullptr;
  WeightType type_ = WeightType::kF32;
  Arena weights_;
  Embedding word_embeddings_;       // [table_rows or vocab, embedding_width]
  float* token_rows_ = nullptr;     // [vocab] whole numbers
  float* token_weights_ = nullptr;  // [vocab]
  Embedding position_embeddings_;
  Embedding token_type_embeddings_;
  LayerNorm embeddings_norm_;
  Linear embeddings_projection_;
  Rotary rotary_;
  Rotary local_rotary_;
  DistanceBias distance_bias_;
  DistanceBuckets distance_buckets_;
  Embedding relative_embeddings_;
  LayerNorm relative_norm_;
  Convolution convolution_;
  std::vector<TransformerLayer> layers_;  // [own_layers()]
  LayerNorm final_norm_;
  Linear pooler_;
  bool has_pooler_ = false;
  Linear lm_head_;
  const Lora* lora_ = nullptr;
};

}  // namespace wattn
