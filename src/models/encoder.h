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

// Field names are config.json's where it has them.
struct EncoderConfig {
  std::int64_t vocab_size = 0;
  std::int64_t hidden_size = 0;
  std::int64_t num_hidden_layers = 0;
  std::int64_t num_attention_heads = 0;
  std::int64_t intermediate_size = 0;
  std::int64_t max_position_embeddings = 0;
  std::int64_t type_vocab_size = 0;
  float layer_norm_eps = 0.0f;
  Activation hidden_act = Activation::kGelu;
};

// What each weight is called in the checkpoint, without ".weight" and ".bias"; "{}" stands for the layer's number.
struct EncoderNames {
  const char* word_embeddings;
  const char* position_embeddings;
  const char* token_type_embeddings;
  const char* embeddings_norm;
  const char* query;
  const char* key;
  const char* value;
  const char* attention_output;
  const char* attention_norm;
  const char* intermediate;
  const char* output;
  const char* output_norm;
  const char* pooler;  // dense of the pooler over the first token
};

// The name of one layer's weight.
std::string layer_name(const char* pattern, std::size_t layer);

struct EncoderLayer {
  Linear qkv;  // [3 * hidden, hidden]: query, key and value one after the other
  Linear attention_output;
  LayerNorm attention_norm;
  Linear intermediate;
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
  // "layer.N.attention.{query,key,value,scores,probs,context,output}", "layer.N.intermediate", "layer.N.output".
  void forward(ThreadTeam& team, const Batch& batch, Arena& arena, float* hidden, Taps* taps) const;

  // pooled: [batch, hidden] = tanh(W h_0 + b), h_0 the first token of each sequence. Needs has_pooler().
  void pooler(const Batch& batch, const float* hidden, float* pooled) const;

 private:
  struct Workspace {
    float* qkv = nullptr;           // [tokens, 3 * hidden]
    float* context = nullptr;       // [tokens, hidden]
    float* projected = nullptr;     // [tokens, hidden]
    float* intermediate = nullptr;  // [tokens, ffn]
    LinearScratch linear;
    std::array<AttentionScratch, ThreadTeam::kMostThreads> attention;  // of each thread
  };

  void take_weights(Arena& arena, const Kernels& kernels);
  Workspace take_workspace(Arena& arena, std::int64_t max_tokens, std::int64_t max_seq, int threads) const;
  void embed_tokens(const Compute& compute, const Batch& batch, float* hidden) const;
  void forward_layer(const Compute& compute, const Batch& batch, int layer, const Workspace& work, float* hidden, Taps* taps) const;

  EncoderConfig config_;
  const Kernels* kernels_ = nullptr;
  WeightType type_ = WeightType::kF32;
  Arena weights_;
  Embedding word_embeddings_;
  Embedding position_embeddings_;
  Embedding token_type_embeddings_;
  LayerNorm embeddings_norm_;
  std::vector<EncoderLayer> layers_;
  Linear pooler_;
  bool has_pooler_ = false;
};

}  // namespace wattn
