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
#include "ops/attention.h"
#include "ops/embedding.h"
#include "ops/linear.h"
#include "ops/norm.h"
#include "ops/position.h"

namespace wattn {

enum class TokenPlaces : std::uint8_t {
  kRotary,
  kLearned,     // a table
  kSinusoidal,  // a table of sines, not the checkpoint's
  kT5Buckets,   // added to the scores by distance, one table for all layers
};

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
  bool query_key_norm = false;  // of each head, before the positions
  TokenPlaces positions = TokenPlaces::kRotary;
  std::int64_t position_offset = 0;  // for kLearned: rows of the checkpoint's table before that of position 0
  bool tie_word_embeddings = false;
  RopeScaling rope;
  std::vector<bool> local_layers{};  // which see the last local_window tokens only; empty: none
  std::int64_t local_window = 0;     // the token itself counted

  bool norms_after = false;      // x = norm(x + f(x)), and no norm after the last layer; else x = x + f(norm(x))
  bool embeddings_norm = false;  // after words and positions
  float embedding_scale = 1.0f;  // of the words
  bool scaled_scores = true;     // attention's, by the root of head_dim
  struct {
    std::int64_t buckets = 0;
    std::int64_t max_distance = 0;
  } t5;
  bool cross_attention = false;  // over the states of an encoder, which are hidden_size wide too
  float head_scale = 1.0f;       // of what the head sees
  bool head_bias = false;        // [1, vocab], zeros where the checkpoint has none

  bool positions_by_table() const { return positions == TokenPlaces::kLearned || positions == TokenPlaces::kSinusoidal; }
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
  const char* plain = nullptr;  // in place of up where nothing is gated; null: up
  const char* down = nullptr;
  const char* feed_forward_norm = nullptr;
  const char* final_norm = nullptr;
  const char* head = "lm_head";
  const char* head_bias = nullptr;  // in full
  const char* embeddings_norm = nullptr;
  const char* distance_bias = nullptr;  // [buckets, heads]
  const char* cross_query = nullptr;
  const char* cross_key = nullptr;
  const char* cross_value = nullptr;
  const char* cross_output = nullptr;
  const char* cross_norm = nullptr;
  bool transposed = false;      // matrices are [in, out] in safetensors
  bool turned_in_gguf = false;  // llama.cpp keeps the two halves of each query's and key's head in turns
};

struct DecoderLayer {
  Linear qkv;  // [query + 2 * key, hidden]
  LayerNorm query_norm;
  LayerNorm key_norm;
  Linear attention_output;
  LayerNorm attention_norm;
  Linear cross_query;        // [query, hidden]
  Linear cross_keys_values;  // [2 * query, hidden], of an encoder's states
  Linear cross_output;
  LayerNorm cross_norm;
  Linear up;  // gated: [2 * ffn, hidden], what is activated first
  Linear down;
  LayerNorm feed_forward_norm;
};

// Sources that an encoder has read, as each layer's attention over them wants them, in places.
struct Memory {
  KvCache cache;
  std::vector<std::int32_t> lengths;  // [places]
};

// Tokens that go on from where their places are, packed end to end.
struct DecoderBatch {
  std::vector<std::int32_t> input_ids;     // [tokens]
  std::vector<std::int32_t> position_ids;  // [tokens]
  std::vector<std::int32_t> seq_start{0};  // [batch + 1]
  std::vector<std::int32_t> places;        // [batch]
  std::vector<std::int32_t> sources;       // [batch] places in the Memory; empty without one

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
    sources.clear();
    seq_start.resize(1);
  }
};

struct SlotList;

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
  KvCache take_cache(Arena& arena, std::int64_t places, std::int64_t length) const;
  // Room for so many sources of up to length tokens.
  Memory take_memory(Arena& arena, std::int64_t places, std::int64_t length) const;
  // Puts an encoder's states, [tokens, hidden], into a place; the arena has remember_bytes() free. Taps seen:
  // "layer.N.cross_attention.{key,value}", which may be patched.
  void remember(ThreadTeam& team, const float* states, std::int64_t tokens, std::int64_t place, Memory& memory, Arena& arena,
                Taps* taps) const;
  std::uint64_t remember_bytes(std::int64_t tokens) const;
  // Bytes forward() takes from its arena for batches within these limits; length: of the cache, or of a longer source.
  std::uint64_t forward_bytes(std::int64_t max_tokens, std::int64_t length, int threads) const;

  // hidden: [tokens, hidden], after the final norm. The batch's ids, positions and places were checked; arena has forward_bytes()
  // free. memory: what cross attention looks at, null without it; the batch says at which of its places. Taps seen:
  // "embeddings.output", "layer.N.attention.{query,key,value,probs,context,output}", "layer.N.intermediate", "layer.N.output",
  // "final_norm.output", and "layer.N.cross_attention.{query,probs,context,output}"; all but probs may be patched. Queries and keys
  // are shown with their positions.
  void forward(ThreadTeam& team, const DecoderBatch& batch, KvCache& cache, const Memory* memory, Arena& arena, float* hidden,
               Taps* taps) const;

  // logits: [rows, vocab] of rows of what forward() gave, which are changed where the head wants them scaled.
  void head(ThreadTeam& team, float* hidden, std::int64_t rows, Arena& arena, float* logits) const;
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
    std::array<AttentionScratch, ThreadTeam::kMostThreads> attention;  // of each thread
  };
  struct Pass {
    Compute compute;
    const DecoderBatch& batch;
    KvCache& cache;
    const Memory* memory;
    Workspace work;
    Taps* taps;
  };

  void take_weights(Arena& arena, const Kernels& kernels);
  void take_position_weights(Arena& arena, WeightType type);
  void add_head_slots(SlotList& list, const DecoderNames& names) const;
  Workspace take_workspace(Arena& arena, std::int64_t max_tokens, std::int64_t length, int threads) const;
  void embed_tokens(const Pass& pass, float* hidden) const;
  template <class Run>
  void sublayer(const Pass& pass, const LayerNorm& norm, float* x, const Run& run) const;
  void forward_layer(const Pass& pass, int layer, float* hidden) const;
  void cross_attention(const Pass& pass, int layer, const float* x, float* out) const;
  void attention(const Pass& pass, int layer, const float* x, float* out) const;
  void feed_forward(const Pass& pass, int layer, const float* x, float* out) const;

  DecoderConfig config_;
  std::int64_t positions_ = 0;
  const Kernels* kernels_ = nullptr;
  WeightType type_ = WeightType::kF32;
  Arena weights_;
  Embedding word_embeddings_;  // none where the head's rows are the same
  Embedding position_embeddings_;
  LayerNorm embeddings_norm_;
  Rotary rotary_;
  DistanceBias distance_bias_;
  std::vector<DecoderLayer> layers_;
  LayerNorm final_norm_;
  Linear head_;
};

}  // namespace wattn
