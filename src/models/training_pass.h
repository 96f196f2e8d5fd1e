// One training pass over a batch: the tape, the memory of a pass, and what the functions of transformer_backward.h run.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "models/transformer_backward.h"
#include "ops/experts.h"

namespace wattn {

struct PassSize {
  std::int64_t tokens, max_seq;
  int threads;
  SourceLimits sources{};
};

// What the backward pass of a layer reads, beside the layer's input.
struct LayerTape {
  float* qkv = nullptr;            // [tokens, qkv_width], placed unless queries and keys have norms
  float* attention_sum = nullptr;  // [tokens, hidden], with the residual, before the norm that follows
  float* cross_sum = nullptr;      // the same after cross attention
  float* up = nullptr;             // [tokens, ffn] before the activation, gated: [tokens, 2 * ffn]
};

// The tape: [num_hidden_layers + 1] rows of [tokens, hidden], and a LayerTape for each layer that is kept. Row 0 is the input of
// the first layer. Row i + 1 is what layer i adds up last: its output, or in a post-norm model the sum before the norm. What the
// options spare is filled from its end, as the last layer's memory is needed first.
class TapeView {
 public:
  TapeView(const TransformerConfig& config, std::int64_t tokens, const TapeOptions& options, float* tape)
      : first_kept_(std::max<std::int64_t>(config.num_hidden_layers - options.kept_layers, 0)),
        rows_(static_cast<std::size_t>(config.num_hidden_layers + 1)),
        layers_(static_cast<std::size_t>(config.num_hidden_layers)) {
    const std::int64_t hidden = tokens * config.hidden_size, qkv = tokens * config.qkv_width();
    const std::int64_t cross = config.cross_attention ? hidden : 0;
    const std::int64_t up = tokens * config.intermediate_size * (config.gated() ? 2 : 1);
    const Transformer* spare = config.shares_layers() ? nullptr : options.spare;
    float* const begin = spare ? begin_of(*spare, 0) : nullptr;
    float* end = spare ? begin_of(*spare, std::ssize(layers_) - 1) : nullptr;
    const auto take = [&](std::int64_t count) {
      constexpr std::int64_t kAligned = 16;  // floats
      const std::int64_t size = (count + kAligned - 1) / kAligned * kAligned;
      if (end - begin >= size) return end -= size;
      float* const at = tape ? tape + size_ : nullptr;
      size_ += size;
      return at;
    };
    for (std::int64_t i = std::ssize(layers_) - 1; i >= 0; --i) {
      if (spare) end = std::min(end, begin_of(*spare, i));
      rows_[static_cast<std::size_t>(i + 1)] = take(hidden);
      if (keeps(i)) layers_[static_cast<std::size_t>(i)] = {take(qkv), take(hidden), take(cross), take(up)};
    }
    end = begin;
    rows_.front() = take(hidden);
  }

  std::int64_t size() const { return size_; }
  float* row(std::int64_t i) const { return rows_[static_cast<std::size_t>(i)]; }
  bool keeps(std::int64_t layer) const { return layer >= first_kept_; }
  const LayerTape& layer(std::int64_t layer) const { return layers_[static_cast<std::size_t>(layer)]; }

  static float* begin_of(const Transformer& gradients, std::int64_t layer) { return gradients.layer_at(layer).begin; }

 private:
  std::int64_t first_kept_, size_ = 0;
  std::vector<float*> rows_;       // [num_hidden_layers + 1]
  std::vector<LayerTape> layers_;  // [num_hidden_layers], of those that are kept
};
// Memory of a pass that one layer after the other uses.
struct Workspace {
  float* embedded = nullptr;      // [tokens, embedding_size], before the projection
  float* qkv = nullptr;           // [tokens, qkv_width]
  float* context = nullptr;       // [tokens, query_width]
  float* projected = nullptr;     // [tokens, hidden]
  float* intermediate = nullptr;  // [tokens, ffn], gated: [tokens, 2 * ffn]
  float* gated = nullptr;         // [tokens, ffn]
  float* relative = nullptr;      // [buckets, hidden] relative embeddings
  float* relative_qk = nullptr;   // [buckets, 2 * hidden] projected by a layer's query and key matrices
  ExpertsScratch experts;
  float* experts_sum = nullptr;  // [tokens, hidden]
  LinearScratch linear;
  std::array<AttentionScratch, ThreadTeam::kMostThreads> attention;  // of each thread
  Disentangled disentangled;
};

class TrainingPass {
 public:
  // Only measures with a measuring arena; gradients may be null then, and for a forward pass.
  TrainingPass(const Transformer& model, ThreadTeam& team, const Batch& batch, const PassSize& size, Transformer* gradients,
               const BackwardScope& scope, const TapeOptions& options, const CrossSources& sources, Arena& arena);

  void forward(const TapeView& tape, float* hidden);

  void backward(const TapeView& tape, float* d);

  static void lm_head(const Transformer& model, ThreadTeam& team, const LmHeadGradient& g, Arena& arena);

 private:
  using Layer = TransformerLayer;

  bool wants_embeddings() const { return scope_.embeddings && scope_.first_layer == 0; }

  // Where layers that are not kept are computed. The tape's memory for the last layer is free before that layer runs, and after its
  // backward pass, unless gradients come to lie there.
  void use_tape(const TapeView& tape);
  // Which the tape has used, but for the last layer's.
  void clear_gradients(std::int64_t layer) const;

  // What a pass needs at different times has one memory.
  void take(Arena& arena, int threads, const SourceLimits& sources);

  // Where in a layer of the model a matrix is used.
  struct Use {
    std::int64_t layer;
    Linear TransformerLayer::* part;
    bool relative = false;  // DeBERTa's second use of queries and keys
  };

  const LoraFactors* lora_of(const Linear& layer) const;
  float* bias_gradient(const float* bias) const;
  // Whether something of a matrix's gradient reads what the matrix has read.
  bool trains(std::int64_t layer, Linear TransformerLayer::* part) const;

  Dropout lora_dropout(const Use& use) const;
  // What A reads of x: [rows, in].
  const float* lora_input(const Use& use, const Linear& a, const float* x, std::int64_t rows);
  // What dropout changes in a product whose weights have W + B A: y += B A (dropped x - x). width: of y.
  void drop_lora(const Use& use, const Linear& layer, const float* x, std::int64_t rows, std::int64_t width, float* y);

  // y = x W^T + bias.
  void product(const Use& use, const float* x, std::int64_t rows, float* y);

  // dx: [rows, in] written, may be null. gradient: of the weights, may be null.
  void linear_gradient(const Linear& layer, const Linear* gradient, const float* x, const float* dy, std::int64_t rows, float* dx);
  // Of a layer's matrix, or its first `out` outputs, with the gradients of LoRA's. dx may be x.
  void product_backward(const Use& use, const float* x, const float* dy, std::int64_t rows, float* dx, std::int64_t out = 0);
  // Of A and B. dx: what comes through them, [rows, in]; null: not wanted.
  void lora_backward(const Use& use, const LoraFactors& lora, const float* x, const float* dy, std::int64_t rows, std::int64_t out,
                     float* dx);

  // Of a norm that has a bias if its kind and the model have one.
  void norm_backward(NormKind kind, const LayerNorm& norm, const LayerNorm& gradient, const float* x, const float* dy,
                     std::int64_t rows, float* dx, bool wanted);
  // Of a norm of a layer.
  void norm_backward(NormKind kind, std::int64_t layer, LayerNorm Layer::* part, const float* x, const float* dy, float* dx);

  // Places of dropout. Those in layers are followed by the next layer's.
  enum Place : std::uint8_t {
    kEmbeddings,
    kOutput,
    kProbabilities,
    kAttention,
    kActivation,
    kFeedForward,
    kCrossProbabilities,
    kCrossAttention,
    kPlaces
  };

  Dropout dropout_of(Place place, std::int64_t layer = 0) const;
  // The gradient of what a residual was added to, before it was dropped.
  const float* before_drop(const Dropout& dropout, const float* d);

  // The inputs of the first layer; of the projection in work.embedded, if there is one.
  void embed(float* out);

  static void add(const float* from, std::int64_t count, float* to) {
    for (std::int64_t i = 0; i < count; ++i) to[i] += from[i];
  }
  void sum(const float* a, const float* b, float* out) const {
    for (std::int64_t i = 0; i < size_; ++i) out[i] = a[i] + b[i];
  }
  bool is_post() const { return config_.norm_placement == NormPlacement::kPost; }
  bool is_disentangled() const { return config_.relative_positions == RelativePositions::kDisentangled && max_seq_ > 0; }
  bool has_attention_norm(std::int64_t layer) const { return !is_post() && (layer > 0 || config_.first_attention_norm); }
  NormKind middle_kind() const { return is_post() ? NormKind::kLayer : config_.norm; }
  // The norm of what the feed-forward reads, which is the sum after (cross) attention.
  LayerNorm TransformerLayer::* middle_norm() const {
    return !is_post() ? &Layer::ffn_norm : config_.cross_attention ? &Layer::cross_norm : &Layer::attention_norm;
  }
  float* middle_sum(const LayerTape& kept) const { return config_.cross_attention ? kept.cross_sum : kept.attention_sum; }
  // The norm of what cross attention reads.
  LayerNorm TransformerLayer::* cross_norm() const {
    return is_post() ? &TransformerLayer::attention_norm : &TransformerLayer::cross_norm;
  }

  // What a layer reads, or, after the last one, the last layer's output.
  const float* input_of(const TapeView& tape, std::int64_t layer);

  // What the matrix of queries, keys and values reads.
  const float* attention_input(std::int64_t layer, const float* x);

  // Queries and keys as the scores need them. is_new: they are as projected.
  void place(std::int64_t layer, const LayerTape& kept, bool is_new);

  void attend(std::int64_t layer);

  // The sum of a token's rows, before the norm.
  void sum_embeddings(float* out) const;
  // Rows of the table of positions.
  std::vector<std::int32_t> positions_after_padding() const;
  void prepare_relative_embeddings();
  struct AttentionCall {
    ScoreTerms terms;
    AttentionInput input;
  };
  // After the queries, keys and values are in the workspace.
  AttentionCall attention_call(std::int64_t layer) const;
  const Rotary& rotary_of(std::int64_t layer) const {
    return config_.is_local(layer) && model_.ends().local_rotary.cos ? model_.ends().local_rotary : model_.ends().rotary;
  }
  // Norms and rotations of the queries and keys in the workspace.
  void place_queries_and_keys(std::int64_t layer) const;

  struct CrossCall {
    AttentionShape shape;
    ScoreTerms terms;
    AttentionInput input;
  };
  CrossCall cross_call() const;

  // Leaves queries, keys and values, and the context in their buffers.
  void cross_attend(std::int64_t index, const LayerTape& kept);

  // After cross_attend().
  void cross_attention_backward(std::int64_t index, const float* dy, float* dx);

  // In place, if the model has such norms.
  void output_norm(std::int64_t index, LayerNorm Layer::* norm, float* rows);
  // The gradient of a product of what was read, from dy, that of its norm; dy if the model has no such norms.
  const float* output_norm_backward(const Use& use, LayerNorm Layer::* norm, const float* read, const float* dy);

  // What the matrix down reads.
  const float* activate(std::int64_t layer, const float* up);

  // out: the row of the tape; null when the layer is computed again, which needs no product with down.
  void forward_layer(std::int64_t index, const float* x, const LayerTape& kept, float* out);

  // Computes again what layer_backward() reads and the tape does not have.
  void restore_layer(std::int64_t index, const float* x, const LayerTape& kept);

  // x: the layer's input; last_sum: its row of the tape; d: the gradient of its output, which becomes that of x.
  void layer_backward(std::int64_t index, const float* x, const LayerTape& kept, const float* last_sum, float* d);

  // After activate() of the same up, with the matrix's input in middle_.
  void feed_forward_backward(std::int64_t index, const float* up, const float* dy, float* dx);

  // After place() and attend(). raw_qkv: before norms of queries and keys, if there are any. dx: null if not wanted.
  void attention_backward(std::int64_t index, const float* x, const float* raw_qkv, const float* dy, float* dx);

  void query_key_norm_backward(std::int64_t index, const float* raw_qkv);

  // d: of the first layer's input.
  void embeddings_backward(float* d);

  void add_word_gradient(std::int32_t id, const float* d);

  void relative_embeddings_backward();

  // The distances of a bucket are one weight: each gets the sum of their gradients.
  void share_buckets();

  const Transformer& model_;
  const TransformerConfig& config_;
  Transformer* gradients_;
  BackwardScope scope_;
  TapeOptions options_;
  CrossSources sources_;
  struct {
    Compute compute;
    const Batch& batch;
    Workspace work;
  } pass_;
  std::int64_t tokens_, max_seq_, size_, buckets_ = 0;  // size_: tokens * hidden
  LayerTape scratch_{};                                 // of a layer that is not kept
  float* placed_;                                       // [tokens, qkv_width], if queries and keys have norms
  float *input_, *middle_, *normal_, *d_sum_, *d_in_;   // [tokens, hidden]
  float *output_, *d_output_;                           // [tokens, hidden], if outputs have norms
  float *d_qkv_, *d_head_, *d_context_;
  float *cross_read_, *cross_queries_, *d_cross_queries_, *cross_context_;  // [tokens, ...] of cross attention
  float *cross_kv_, *d_cross_kv_, *d_cross_states_;                         // [source tokens, ...]
  float *d_act_, *d_up_, *d_embedded_;
  float* d_router_ = nullptr;  // [tokens, experts]
  float *norm_scratch_, *linear_scratch_;
  float *lora_inner_, *d_lora_inner_;  // [rows, rank]
  float *lora_input_, *lora_added_;    // [rows, ...] with dropout
  float *d_relative_, *d_relative_qk_, *d_relative_in_;
  std::vector<float*> attention_scratch_;
};

}  // namespace wattn
