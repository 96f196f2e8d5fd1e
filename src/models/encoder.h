// Encoder: the transformer encoder that every encoder architecture is a configuration of.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/arena.h"
#include "core/result.h"
#include "core/taps.h"
#include "io/weight_loader.h"
#include "models/batch.h"
#include "ops/attention.h"
#include "ops/embedding.h"
#include "ops/linear.h"
#include "ops/norm.h"

namespace wattn {

enum class NormPlacement : std::uint8_t {
  kPost,  // x = norm(x + f(x))
  kPre,   // x = x + f(norm(x)), with a norm after the last layer
};
enum class FeedForward : std::uint8_t {
  kPlain,       // output(act(intermediate(x)))
  kGated,       // output(act(a) * b): intermediate gives a, then b; or two matrices do
  kGatedAfter,  // the same, and intermediate gives b, then a
};
enum class Positions : std::uint8_t {
  kNone,
  kLearned,       // a table; row i for position i
  kSinusoidal,    // a table of sines, not the checkpoint's
  kAfterPadding,  // a table; row padding_idx + i, i counted from 1 over tokens other than padding_idx, which has its own row
};
enum class Distances : std::uint8_t {
  kNone,
  kRotary,
  kAlibi,
  kT5Buckets,     // one table for all layers
  kDisentangled,  // ops/attention_disentangled.h, with the query and key matrices of the layer
};

// Field names are config.json's where it has them. What is not set is as in BERT.
struct EncoderConfig {
  std::int64_t vocab_size = 0;
  std::int64_t hidden_size = 0;
  std::int64_t num_hidden_layers = 0;
  std::int64_t num_attention_heads = 0;
  std::int64_t intermediate_size = 0;
  std::int64_t max_position_embeddings = 0;  // tokens a sequence may have
  std::int64_t type_vocab_size = 0;          // 0: no token types, and token_type_ids mean nothing
  std::int64_t embedding_size = 0;           // 0: hidden_size, else the tables' width, with a matrix behind them
  std::int64_t head_size = 0;                // 0: hidden_size / num_attention_heads
  float layer_norm_eps = 0.0f;
  Activation hidden_act = Activation::kGelu;

  NormKind norm = NormKind::kLayer;  // kRms: with pre-norm alone
  NormPlacement norms = NormPlacement::kPost;
  bool embeddings_norm = true;
  float embedding_scale = 1.0f;       // of the words
  bool scaled_scores = true;          // attention's, by the root of head_dim
  bool norms_first_attention = true;  // pre-norm: the first layer has an attention norm
  FeedForward feed_forward = FeedForward::kPlain;
  bool one_layer_for_all = false;
  bool pooler = true;  // the architecture may have one
  struct {
    bool qkv = true;
    bool attention_output = true;
    bool intermediate = true;
    bool output = true;
    bool norms = true;
  } biases;

  Positions positions = Positions::kLearned;
  std::int64_t padding_idx = 0;      // for kAfterPadding
  std::int64_t position_offset = 0;  // for kLearned: rows of the checkpoint's table before that of position 0
  Distances distances = Distances::kNone;
  struct {
    double theta = 10000;
    double local_theta = 10000;  // of layers with local attention
    double ntk_factor = 1;
  } rotary;
  struct {
    std::int64_t buckets = 32;
    std::int64_t max_distance = 128;
  } t5;
  struct {
    std::int64_t buckets = 0;       // position_buckets; below 1: none, a row for each distance
    std::int64_t max_distance = 0;  // max_relative_positions
    bool norm = false;              // norm_rel_ebd
  } relative;
  std::vector<bool> local_layers{};  // which attend to a window only; empty: none
  std::int64_t local_window = 0;     // tokens to each side

  std::int64_t embedding_width() const { return embedding_size > 0 ? embedding_size : hidden_size; }
  std::int64_t head_dim() const { return head_size > 0 ? head_size : hidden_size / num_attention_heads; }
  std::int64_t inner_width() const { return num_attention_heads * head_dim(); }  // of queries, of keys and of values
  bool positions_by_table() const { return positions == Positions::kLearned || positions == Positions::kSinusoidal; }
  std::int64_t relative_rows() const { return 2 * (relative.buckets > 0 ? relative.buckets : relative.max_distance); }
  bool gated() const { return feed_forward != FeedForward::kPlain; }
  bool is_local(std::int64_t layer) const { return !local_layers.empty() && local_layers[static_cast<std::size_t>(layer)]; }
};

// What each weight is called in the checkpoint, without ".weight" and ".bias"; "{}" stands for the layer's number. Null: not
// there, or not by itself.
struct EncoderNames {
  const char* word_embeddings = nullptr;
  const char* position_embeddings = nullptr;
  const char* token_type_embeddings = nullptr;
  const char* embeddings_norm = nullptr;
  const char* embeddings_projection = nullptr;
  const char* query = nullptr;  // key is null: all three, one after the other
  const char* key = nullptr;
  const char* value = nullptr;
  const char* attention_output = nullptr;
  const char* attention_norm = nullptr;
  const char* intermediate = nullptr;  // gated: what is activated, or both
  const char* multiplied = nullptr;    // gated: the other, where it is a matrix by itself
  const char* plain = nullptr;         // in place of intermediate where nothing is gated; null: intermediate
  const char* output = nullptr;
  const char* output_norm = nullptr;  // post-norm: after the feed-forward; pre-norm: before it
  const char* final_norm = nullptr;
  const char* distance_bias = nullptr;        // [buckets, heads]
  const char* relative_embeddings = nullptr;  // [2 * buckets, hidden]
  const char* relative_norm = nullptr;
  const char* pooler = nullptr;  // dense of the pooler over the first token
};

// The name of one layer's weight.
std::string layer_name(const char* pattern, std::size_t layer);

struct EncoderLayer {
  Linear qkv;  // [3 * inner, hidden]: query, key and value one after the other
  Linear attention_output;
  LayerNorm attention_norm;
  Linear intermediate;  // gated: [2 * ffn, hidden], what is activated first
  Linear output;
  LayerNorm output_norm;
};

class Encoder {
 public:
  // Takes the memory of all weights, laid out for kernels: zeros until the slots are filled. type: how matrices and tables are
  // held.
  static Result<Encoder> with_config(const EncoderConfig& config, const Kernels& kernels, WeightType type);

  // One slot for each tensor of the checkpoint. They write into this Encoder's memory, which stays where it is when the
  // Encoder is moved.
  std::vector<WeightSlot> weight_slots(const EncoderNames& names) const;
  // Says whether the checkpoint brought a pooler (the slots are optional).
  void set_has_pooler(bool has_pooler) { has_pooler_ = has_pooler; }

  const EncoderConfig& config() const { return config_; }
  const Kernels& kernels() const { return *kernels_; }
  WeightType weight_type() const { return type_; }
  bool has_pooler() const { return has_pooler_; }
  const Embedding& word_embeddings() const { return word_embeddings_; }
  std::uint64_t weight_bytes() const { return weights_.bytes(); }

  // Bytes forward() takes from its arena for micro-batches within these limits.
  std::uint64_t forward_bytes(std::int64_t max_tokens, std::int64_t max_seq, int threads) const;

  // Ids, types and positions inside their tables; an InputError names the first that is not.
  Result<void> check(const Batch& batch) const;

  // hidden: [tokens, hidden]. The batch was checked; arena has forward_bytes() free. Taps seen: "embeddings.output",
  // "layer.N.attention.{query,key,value,scores,probs,context,output}", "layer.N.intermediate", "layer.N.output", and for
  // pre-norm "final_norm.output"; all but scores and probs may be patched, and what follows is computed from the new numbers.
  // "attention.output" is x after the attention's residual (and norm, when that comes after).
  void forward(ThreadTeam& team, const Batch& batch, Arena& arena, float* hidden, Taps* taps) const;

  // rows of a layer's output as a head wants them; in place.
  void final_norm(ThreadTeam& team, float* rows, std::int64_t count) const;

  // pooled: [batch, hidden] = tanh(W h_0 + b), h_0 the first token of each sequence, 0 for one without tokens.
  // Needs has_pooler().
  void pooler(const Batch& batch, const float* hidden, float* pooled) const;

 private:
  struct Workspace {
    float* embedded = nullptr;      // [tokens, embedding_size], where a matrix follows
    float* qkv = nullptr;           // [tokens, 3 * inner]
    float* context = nullptr;       // [tokens, inner]
    float* projected = nullptr;     // [tokens, hidden]
    float* intermediate = nullptr;  // [tokens, ffn], gated: [tokens, 2 * ffn]
    float* gated = nullptr;         // [tokens, ffn]
    float* relative = nullptr;      // [buckets, hidden] relative embeddings
    float* relative_qk = nullptr;   // [buckets, 2 * hidden] seen through a layer's matrices
    LinearScratch linear;
    std::array<AttentionScratch, ThreadTeam::kMostThreads> attention;  // of each thread
    Disentangled disentangled;
  };
  // One forward pass.
  struct Pass {
    Compute compute;
    const Batch& batch;
    Workspace work;
    Taps* taps;
  };

  void take_weights(Arena& arena, const Kernels& kernels);
  void take_position_weights(Arena& arena);
  Workspace take_workspace(Arena& arena, std::int64_t max_tokens, std::int64_t max_seq, int threads) const;
  void embed_tokens(const Pass& pass, float* hidden) const;
  void add_positions_after_padding(const Batch& batch, float* out) const;
  void prepare_relative_embeddings(Pass& pass, std::int64_t max_seq) const;
  void forward_layer(const Pass& pass, int layer, float* hidden) const;
  void attention(const Pass& pass, int layer, const float* x, float* out) const;
  void feed_forward(const Pass& pass, int layer, const float* x, float* out) const;
  const EncoderLayer& layer_at(std::int64_t i) const {
    return layers_[config_.one_layer_for_all ? 0 : static_cast<std::size_t>(i)];
  }

  EncoderConfig config_;
  const Kernels* kernels_ = nullptr;
  WeightType type_ = WeightType::kF32;
  Arena weights_;
  Embedding word_embeddings_;
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
  std::vector<EncoderLayer> layers_;  // one, where all are one
  LayerNorm final_norm_;
  Linear pooler_;
  bool has_pooler_ = false;
};

}  // namespace wattn
