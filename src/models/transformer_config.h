// TransformerConfig: what every architecture is a configuration of, and TransformerNames: what its weights are called.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ops/linear.h"
#include "ops/norm.h"
#include "ops/position.h"

namespace wattn {

enum class NormPlacement : std::uint8_t {
  kPost,  // x = norm(x + f(x))
  kPre,   // x = x + f(norm(x)), with a norm after the last layer
};
enum class FeedForward : std::uint8_t {
  kPlain,  // down(act(up(x)))
  kGated,  // down(act(gate(x)) * up(x))
};
// Positions that are added to the embeddings.
enum class Positions : std::uint8_t {
  kNone,
  kLearned,       // a table: row i for position i
  kSinusoidal,    // a table of sines, which the checkpoint does not hold
  kAfterPadding,  // a table: row padding_idx + i, i counted from 1 over the tokens other than padding_idx, which has its own row
};
// Positions inside attention. A model may have both kinds (MPNet).
enum class RelativePositions : std::uint8_t {
  kNone,
  kRotary,
  kAlibi,
  kT5Buckets,     // one table for all layers
  kDisentangled,  // ops/attention_disentangled.h, through the query and key matrices of the layer
};

// Field names are config.json's where it has them. Defaults are BERT's.
struct TransformerConfig {
  std::int64_t vocab_size = 0;
  std::int64_t hidden_size = 0;
  std::int64_t num_hidden_layers = 0;
  std::int64_t num_attention_heads = 0;
  std::int64_t num_key_value_heads = 0;  // each serves num_attention_heads / num_key_value_heads queries; 0: as many as heads
  std::int64_t head_dim = 0;             // 0: hidden_size / num_attention_heads
  std::int64_t intermediate_size = 0;
  std::int64_t max_position_embeddings = 0;  // tokens a sequence may have
  std::int64_t type_vocab_size = 0;          // 0: no token types, token_type_ids are ignored
  std::int64_t embedding_size = 0;  // width of the embedding tables, projected to hidden_size; 0: hidden_size, no projection
  float norm_eps = 0.0f;
  Activation hidden_act = Activation::kGelu;

  bool causal = false;  // a token attends to itself and to those before it
  NormKind norm = NormKind::kLayer;
  NormPlacement norm_placement = NormPlacement::kPost;
  bool embeddings_norm = true;
  float embedding_scale = 1.0f;      // of the word embeddings
  bool scale_scores = true;          // by 1 / sqrt(head_dim)
  bool first_attention_norm = true;  // pre-norm: the first layer has an attention norm
  bool query_key_norm = false;       // RMSNorm of each head of queries and keys, before the positions
  FeedForward feed_forward = FeedForward::kPlain;
  bool share_layers = false;     // one layer's weights for all layers
  bool pooler = false;           // the checkpoint may have a pooler over the first token
  bool cross_attention = false;  // over the states of an encoder, which are hidden_size wide too
  struct {
    bool qkv = true;
    bool attention_output = true;
    bool up = true;  // and gate
    bool down = true;
    bool norms = true;
  } biases;

  Positions positions = Positions::kLearned;
  std::int64_t padding_idx = 0;      // for kAfterPadding
  std::int64_t position_offset = 0;  // for kLearned: rows of the checkpoint's table before that of position 0
  RelativePositions relative_positions = RelativePositions::kNone;
  RopeScaling rope;
  double local_rope_theta = 0;  // of layers with local attention; 0: rope.theta
  struct {
    std::int64_t buckets = 32;  // of both directions; causal: of the one
    std::int64_t max_distance = 128;
  } t5;
  struct {
    std::int64_t buckets = 0;       // position_buckets; below 1: a row for each distance
    std::int64_t max_distance = 0;  // max_relative_positions
    bool norm = false;              // norm_rel_ebd
  } disentangled;
  std::vector<bool> local_layers{};  // which layers attend to a window only; empty: none
  std::int64_t local_window = 0;     // tokens to each side; causal: before the token. The token itself is not counted.

  // The head over the vocabulary. Loading clears lm_head when no task asks for logits.
  bool lm_head = false;
  bool tie_word_embeddings = false;
  bool lm_head_bias = false;   // [1, vocab], zeros where the checkpoint has none
  float lm_head_scale = 1.0f;  // of the hidden states that the head reads

  std::int64_t kv_heads() const { return num_key_value_heads > 0 ? num_key_value_heads : num_attention_heads; }
  std::int64_t head_size() const { return head_dim > 0 ? head_dim : hidden_size / num_attention_heads; }
  std::int64_t query_width() const { return num_attention_heads * head_size(); }
  std::int64_t kv_width() const { return kv_heads() * head_size(); }
  std::int64_t qkv_width() const { return query_width() + 2 * kv_width(); }
  std::int64_t embedding_width() const { return embedding_size > 0 ? embedding_size : hidden_size; }
  bool positions_by_table() const { return positions == Positions::kLearned || positions == Positions::kSinusoidal; }
  std::int64_t relative_rows() const { return 2 * (disentangled.buckets > 0 ? disentangled.buckets : disentangled.max_distance); }
  bool gated() const { return feed_forward == FeedForward::kGated; }
  bool is_local(std::int64_t layer) const { return !local_layers.empty() && local_layers[static_cast<std::size_t>(layer)]; }
};

// Names of weights in the checkpoint, without ".weight" and ".bias"; "{}" stands for the layer's number. Null: the architecture has
// no such tensor.
struct TransformerNames {
  const char* word_embeddings = nullptr;
  const char* position_embeddings = nullptr;
  const char* token_type_embeddings = nullptr;
  const char* embeddings_norm = nullptr;
  const char* embeddings_projection = nullptr;
  const char* query = nullptr;
  const char* key = nullptr;
  const char* value = nullptr;
  const char* query_key_value = nullptr;  // in place of the three: one tensor, its rows in this order
  const char* query_norm = nullptr;
  const char* key_norm = nullptr;
  const char* attention_output = nullptr;
  const char* attention_norm = nullptr;
  const char* gate = nullptr;      // the activated half of a gated feed-forward
  const char* up = nullptr;        // the other half, or the only one
  const char* gate_up = nullptr;   // in place of gate and up: one tensor, gate first
  const char* up_gate = nullptr;   // the same, up first
  const char* plain_up = nullptr;  // in place of up where nothing is gated; null: up
  const char* down = nullptr;
  const char* ffn_norm = nullptr;  // post-norm: after the feed-forward; pre-norm: before it
  const char* final_norm = nullptr;
  const char* relative_attention_bias = nullptr;  // [buckets, heads]
  const char* relative_embeddings = nullptr;      // [2 * buckets, hidden]
  const char* relative_norm = nullptr;
  const char* pooler = nullptr;  // dense layer over the first token
  const char* cross_query = nullptr;
  const char* cross_key = nullptr;
  const char* cross_value = nullptr;
  const char* cross_output = nullptr;
  const char* cross_norm = nullptr;
  const char* lm_head = "lm_head";
  const char* lm_head_bias = nullptr;  // in full
  bool transposed = false;             // matrices are [in, out] in safetensors
  bool rope_permuted_in_gguf = false;  // llama.cpp interleaves the two halves of each head of queries and keys
};

// The stacks of one model.
struct ModelConfig {
  TransformerConfig transformer;             // reads the text: BERT, Llama, the encoder of T5
  std::optional<TransformerConfig> decoder;  // of an encoder-decoder
};

}  // namespace wattn
