// Decoder: the causal transformer that every decoder architecture is a configuration of, with the keys and values of what it has
// read (the cache) in places: a place is one growing sequence. Reading a prompt at once, in pieces, or token by token gives the
// same bits.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/arena.h"
#include "core/result.h"
#include "core/taps.h"
#include "io/weight_loader.h"
#include "ops/causal_attention.h"
#include "ops/embedding.h"
#include "ops/linear.h"
#include "ops/norm.h"
#include "ops/position.h"

namespace wattn {

enum class NormKind : std::uint8_t { kLayer, kRms };

// Field names are config.json's where it has them.
struct DecoderConfig {
  std::int64_t vocab_size = 0;
  std::int64_t hidden_size = 0;
  std::int64_t num_hidden_layers = 0;
  std::int64_t num_attention_heads = 0;
  std::int64_t num_key_value_heads = 0;  // each serves num_attention_heads / num_key_value_heads queries
  std::int64_t head_dim = 0;
  std::int64_t intermediate_size = 0;
  std::int64_t max_position_embeddings = 0;
  float norm_eps = 0.0f;
  NormKind norm = NormKind::kRms;
  Activation hidden_act = Activation::kSilu;
  bool gated = true;  // down(act(gate(x)) * up(x)), else down(act(up(x)))
  struct {
    bool qkv = false;
    bool attention_output = false;
    bool feed_forward = false;
    bool norms = false;
  } biases;
  bool query_key_norm = false;     // of each head, before the positions
  bool learned_positions = false;  // a table; else rotary
  bool tie_word_embeddings = false;
  RopeScaling rope;
  std::vector<bool> local_layers{};  // which see the last local_window tokens only; empty: none
  std::int64_t local_window = 0;     // the token itself counted

  std::int64_t query_width() const { return num_attention_heads * head_dim; }
  std::int64_t key_width() const { return num_key_value_heads * head_dim; }
  std::int64_t qkv_width() const { return query_width() + 2 * key_width(); }
  bool is_local(std::int64_t layer) const { return !local_layers.empty() && local_layers[static_cast<std::size_t>(layer)]; }
};

// What each weight is called in the checkpoint, without ".weight" and ".bias"; "{}" stands for the layer's number. Null: not there,
// or not by itself.
struct DecoderNames {
  const char* word_embeddings = nullptr;
  const char* position_embeddings = nullptr;
  const char* query = nullptr;  // key is null: all three, one after the other
  const char* key = nullptr;
  const char* value = nullptr;
  const char* query_norm = nullptr;
  const char* key_norm = nullptr;
  const char* attention_output = nullptr;
  const char* attention_norm = nullptr;
  const char* gate = nullptr;  // what is activated
  const char* up = nullptr;
  const char* down = nullptr;
  const char* feed_forward_norm = nullptr;
  const char* final_norm = nullptr;
  const char* head = "lm_head";
  bool transposed = false;      // matrices are [in, out] in safetensors
  bool turned_in_gguf = false;  // llama.cpp keeps the two halves of each query's and key's head in turns
};

struct DecoderLayer {
  Linear qkv;  // [query + 2 * key, hidden]
  LayerNorm query_norm;
  LayerNorm key_norm;
  Linear attention_output;
  LayerNorm attention_norm;
  Linear up;  // gated: [2 * ffn, hidden], what is activated first
  Linear down;
  LayerNorm feed_forward_norm;
};

// Tokens that go on from where their places are, packed end to end.
struct DecoderBatch {
  std::vector<std::int32_t> input_ids;     // [tokens]
  std::vector<std::int32_t> position_ids;  // [tokens]
  std::vector<std::int32_t> seq_start{0};  // [batch + 1]
  std::vector<std::int32_t> places;        // [batch]

  std::int64_t tokens() const { return seq_start.back(); }
  std::int64_t batch() const { return static_cast<std::int64_t>(places.size()); }
  void add(std::int32_t place, std::int32_t position, std::span<const std::int32_t> ids) {
    for (const std::int32_t id : ids) {
      input_ids.push_back(id);
      position_ids.push_back(position++);
    }
    places.push_back(place);
    seq_start.push_back(static_cast<std::int32_t>(input_ids.size()));
  }
  void clear() {
    input_ids.clear();
    position_ids.clear();
    places.clear();
    seq_start.resize(1);
  }
};

class Decoder {
 public:
  // Takes the memory of all weights, laid out for kernels: zeros until the slots are filled. positions: the longest sequence there
  // will be, at most max_position_embeddings.
  static Result<Decoder> with_config(const DecoderConfig& config, std::int64_t positions, const Kernels& kernels, WeightType type);

  // One slot for each tensor of the checkpoint. They write into this Decoder's memory, which stays where it is when the Decoder is
  // moved.
  std::vector<WeightSlot> weight_slots(const DecoderNames& names, bool is_gguf) const;

  const DecoderConfig& config() const { return config_; }
  const Kernels& kernels() const { return *kernels_; }
  WeightType weight_type() const { return type_; }
  std::int64_t positions() const { return positions_; }
  std::uint64_t weight_bytes() const { return weights_.bytes(); }

  // The cache of so many places, each of up to length tokens.
  Cache take_cache(Arena& arena, std::int64_t places, std::int64_t length) const;
  // Bytes forward() takes from its arena for batches within these limits.
  std::uint64_t forward_bytes(std::int64_t max_tokens, std::int64_t length, int threads) const;

  // hidden: [tokens, hidden], after the final norm. The batch's ids, positions and places were checked; arena has forward_bytes()
  // free. Taps seen: "embeddings.output", "layer.N.attention.{query,key,value,probs,context,output}", "layer.N.intermediate",
  // "layer.N.output", "final_norm.output"; all but probs may be patched. Queries and keys are shown with their positions.
  void forward(ThreadTeam& team, const DecoderBatch& batch, Cache& cache, Arena& arena, float* hidden, Taps* taps) const;

  // logits: [rows, vocab] of rows of what forward() gave.
  void head(ThreadTeam& team, const float* hidden, std::int64_t rows, Arena& arena, float* logits) const;
  std::uint64_t head_bytes(std::int64_t rows) const;
  // rows of a layer's output as the head wants them; in place.
  void final_norm(ThreadTeam& team, float* rows, std::int64_t count) const;

 private:
  struct Workspace {
    float* qkv = nullptr;           // [tokens, query + 2 * key]
    float* context = nullptr;       // [tokens, query]
    float* projected = nullptr;     // [tokens, hidden]
    float* intermediate = nullptr;  // [tokens, ffn], gated: [tokens, 2 * ffn]
    float* gated = nullptr;         // [tokens, ffn]
    LinearScratch linear;
    std::array<CausalScratch, ThreadTeam::kMostThreads> attention;  // of each thread
  };
  struct Pass {
    Compute compute;
    const DecoderBatch& batch;
    Cache& cache;
    Workspace work;
    Taps* taps;
  };

  void take_weights(Arena& arena, const Kernels& kernels);
  Workspace take_workspace(Arena& arena, std::int64_t max_tokens, std::int64_t length, int threads) const;
  void normalise(const Compute& compute, const LayerNorm& norm, const float* x, std::int64_t rows, float* y) const;
  void embed_tokens(const Pass& pass, float* hidden) const;
  void forward_layer(const Pass& pass, int layer, float* hidden) const;
  void attention(const Pass& pass, int layer, const float* x, float* out) const;
  void feed_forward(const Pass& pass, int layer, const float* x, float* out) const;

  DecoderConfig config_;
  std::int64_t positions_ = 0;
  const Kernels* kernels_ = nullptr;
  WeightType type_ = WeightType::kF32;
  Arena weights_;
  Embedding word_embeddings_;  // none where the head's rows are the same
  Embedding position_embeddings_;
  Rotary rotary_;
  std::vector<DecoderLayer> layers_;
  LayerNorm final_norm_;
  Linear head_;
};

}  // namespace wattn
