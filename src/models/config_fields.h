// Reading config.json: what several architectures have in common. Errors stay in the Fields.
#pragma once

#include <cstdint>
#include <functional>

#include "core/fields.h"
#include "models/transformer_config.h"

namespace wattn {

// Far above any model, and low enough to keep every product of sizes below 2^60.
inline constexpr std::int64_t kMostHeads = 1 << 12;
inline constexpr std::int64_t kMostWidth = 1 << 17;
inline constexpr std::int64_t kMostFfn = 1 << 20;
inline constexpr std::int64_t kMostPositions = 1 << 22;
inline constexpr double kMostTheta = 1e12;

// What a config calls the sizes; null: the architecture reads it by itself.
struct SizeKeys {
  const char* vocab_size = "vocab_size";
  const char* hidden_size = "hidden_size";
  const char* num_hidden_layers = "num_hidden_layers";
  const char* num_attention_heads = "num_attention_heads";
  const char* intermediate_size = "intermediate_size";
  const char* max_position_embeddings = "max_position_embeddings";
};
// Heads must divide hidden_size, unless out.head_dim is set.
void read_sizes(Fields& config, const SizeKeys& keys, TransformerConfig& out);
// type_vocab_size, which may be 0 or absent.
void read_type_vocab_size(Fields& config, TransformerConfig& out);
// layer_norm_eps, or whatever it is called.
void read_epsilon(Fields& config, const char* key, double fallback, TransformerConfig& out);
// By the names of transformers' ACT2FN.
Activation read_activation(Fields& config, const char* key);

// Refuse what any config may ask for and no stack does: pruned heads, quantised weights, cross attention alone.
void refuse_switches(Fields& config);
// The same, and is_decoder.
void refuse_decoder(Fields& config);
// The same as refuse_switches, and what other architectures with a decoder's model_type add to the arithmetic.
void refuse_foreign(Fields& config);

// What BERT's config has except token types: refuse_decoder, sizes, layer_norm_eps, hidden_act.
void read_bert_like(Fields& config, TransformerConfig& out);

// The base of rotary angles: that of rope (rope_parameters or an entry of it, whose rope_type must be the default), else config's.
double read_theta(Fields& config, JsonRef rope, const char* key, double fallback);
// rope_parameters, or rope_scaling and rope_theta: default, linear or llama3.
RopeScaling read_rope(Fields& config, double theta);

// Which layers attend to a window only: those that layer_types names, else those that is_local names.
void read_local_layers(Fields& config, const std::function<bool(std::int64_t layer)>& is_local, TransformerConfig& out);
// sliding_window where it is used: of the layers that layer_types names, else from first_layer on. It counts the token itself where
// out.causal says so, else not.
void read_sliding_window(Fields& config, bool used, std::int64_t first_layer, TransformerConfig& out);

}  // namespace wattn
