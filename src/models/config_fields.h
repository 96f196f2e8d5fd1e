// Readers of config.json shared by architectures. Errors stay in the Fields.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string_view>

#include "core/fields.h"
#include "models/transformer_config.h"

namespace wattn {

// Far above any model, and low enough that products of sizes stay below 2^60.
inline constexpr std::int64_t kMostHeads = 1 << 12;
inline constexpr std::int64_t kMostWidth = 1 << 17;
inline constexpr std::int64_t kMostFfn = 1 << 20;
inline constexpr std::int64_t kMostPositions = 1 << 22;
inline constexpr double kMostTheta = 1e12;

// The keys of sizes; null: not read here.
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
// num_key_value_heads, after read_sizes.
void read_kv_heads(Fields& config, TransformerConfig& out);
// May be 0 or absent.
void read_type_vocab_size(Fields& config, TransformerConfig& out);
void read_epsilon(Fields& config, const char* key, double fallback, TransformerConfig& out);
// Names are those of transformers' ACT2FN.
Activation read_activation(Fields& config, const char* key);
// The one of that name; an UnsupportedError at key if there is none.
Activation find_activation(Fields& config, const char* key, std::string_view word);

// Rejects features that no stack supports: pruned heads, quantised weights, cross attention in a single stack.
void reject_switches(Fields& config);
// Also rejects is_decoder.
void reject_decoder(Fields& config);
// For decoders: also rejects keys by which relatives of the architecture change the arithmetic, but those it has itself.
void reject_foreign(Fields& config, std::initializer_list<std::string_view> own = {});

// BERT's config without token types: reject_decoder, sizes, layer_norm_eps, hidden_act.
void read_bert_like(Fields& config, TransformerConfig& out);

// The rotary base: of rope (rope_parameters or an entry of it, whose rope_type must be "default"), else config's under key.
double read_theta(Fields& config, JsonRef rope, const char* key, double fallback);
// How much of each head rotates.
struct PartialRotary {
  const char* key = nullptr;  // of config.json, where rope has no partial_rotary_factor; null: all of a head rotates
  double factor = 1;          // where neither says it
};
// rope_parameters, or rope_scaling and rope_theta: default, dynamic, linear, llama3 or a rarer type.
RopeScaling read_rope(Fields& config, double theta, const PartialRotary& part = {});
// The same from rope, which may be null; then rope_theta is config's.
RopeScaling read_rope_of(Fields& config, JsonRef rope, double theta, const PartialRotary& part = {});

// Rarer types of rope (rope_types.cpp).
struct MoreRopeTypes {
  // False if it is none of them.
  bool (*read)(Fields& config, Fields& rope, RopeScaling& out);
};
extern const MoreRopeTypes kMoreRopeTypes;

// The layers limited to a window: by layer_types, or is_local where that is absent.
void read_local_layers(Fields& config, const std::function<bool(std::int64_t layer)>& is_local, TransformerConfig& out);
// sliding_window, if used: of the layers named by layer_types, else those from first_layer on. In a causal model it includes the
// token itself.
void read_sliding_window(Fields& config, bool used, std::int64_t first_layer, TransformerConfig& out);

}  // namespace wattn
