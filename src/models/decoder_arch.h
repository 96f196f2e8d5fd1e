// DecoderArch: a decoder architecture as data. One file each (llama.cpp, ...), listed in decoder_registry.cpp.
#pragma once

#include <span>

#include "core/json.h"
#include "models/arch.h"
#include "models/decoder.h"

namespace wattn {

// Where a key of config.json stands in a GGUF file, after "<architecture>.".
struct GgufField {
  const char* field;
  const char* key;
  bool required = true;
};

struct DecoderArch {
  const char* model_type;         // of config.json
  const char* base_prefix;        // that checkpoints put before the decoder's names: "model."
  const char* gguf_architecture;  // general.architecture
  Result<DecoderConfig> (*parse_config)(JsonRef config);
  DecoderNames names;
  std::span<const char* const> ignored{};  // tensors that may be there and are not used: buffers; "{}" as in names
  std::span<const GgufName> gguf_names{};
  std::span<const GgufField> gguf_fields{};
  // Of encoder-decoders: their encoder, under the same base_prefix.
  Result<EncoderConfig> (*parse_encoder)(JsonRef config) = nullptr;
  EncoderNames encoder_names{};
  const char* gguf_rest = "";  // more of the config.json that a GGUF file stands for: what is always so
};

// The architecture of a config.json, by its model_type; an UnsupportedError names the ones there are.
Result<const DecoderArch*> find_decoder_arch(JsonRef config);
// The architecture of a GGUF file's general.architecture.
Result<const DecoderArch*> find_gguf_decoder(std::string_view architecture);

// What the checkpoint's name is called in DecoderNames.
std::string canonical_decoder_name(const DecoderArch& arch, std::string_view name, bool is_gguf);

// Helpers for parse_config.
// An UnsupportedError for what a config of any decoder may ask for and is not there.
Result<void> refuse_decoder_switches(JsonRef config);
// The usual keys of the Llama family: sizes, heads, rms_norm_eps, hidden_act, rope, ties. Leaves biases and windows as they are.
Result<DecoderConfig> parse_llama_like(JsonRef config);
// num_key_value_heads and head_dim, and whether heads divide. key: what the config calls the heads.
Result<void> check_heads(JsonRef config, const char* key, DecoderConfig& out);
// rope_parameters or rope_scaling and rope_theta: default, linear or llama3.
Result<RopeScaling> read_rope(JsonRef config);
// sliding_window, where it is used: of the layers that layer_types names, else of those from first_layer on.
Result<void> read_windows(JsonRef config, bool used, std::int64_t first_layer, DecoderConfig& out);

// The names of the Llama family, in safetensors and in GGUF; architectures change single ones.
inline constexpr DecoderNames kLlamaNames = {
    .word_embeddings = "embed_tokens",
    .query = "layers.{}.self_attn.q_proj",
    .key = "layers.{}.self_attn.k_proj",
    .value = "layers.{}.self_attn.v_proj",
    .query_norm = "layers.{}.self_attn.q_norm",
    .key_norm = "layers.{}.self_attn.k_norm",
    .attention_output = "layers.{}.self_attn.o_proj",
    .attention_norm = "layers.{}.input_layernorm",
    .gate = "layers.{}.mlp.gate_proj",
    .up = "layers.{}.mlp.up_proj",
    .down = "layers.{}.mlp.down_proj",
    .feed_forward_norm = "layers.{}.post_attention_layernorm",
    .final_norm = "norm",
};
inline constexpr GgufName kLlamaGgufNames[] = {
    {"token_embd", "embed_tokens"},
    {"blk.{}.attn_q", "layers.{}.self_attn.q_proj"},
    {"blk.{}.attn_k", "layers.{}.self_attn.k_proj"},
    {"blk.{}.attn_v", "layers.{}.self_attn.v_proj"},
    {"blk.{}.attn_q_norm", "layers.{}.self_attn.q_norm"},
    {"blk.{}.attn_k_norm", "layers.{}.self_attn.k_norm"},
    {"blk.{}.attn_output", "layers.{}.self_attn.o_proj"},
    {"blk.{}.attn_norm", "layers.{}.input_layernorm"},
    {"blk.{}.ffn_gate", "layers.{}.mlp.gate_proj"},
    {"blk.{}.ffn_up", "layers.{}.mlp.up_proj"},
    {"blk.{}.ffn_down", "layers.{}.mlp.down_proj"},
    {"blk.{}.ffn_norm", "layers.{}.post_attention_layernorm"},
    {"output_norm", "norm"},
    {"output", "lm_head"},
};
inline constexpr GgufField kLlamaGgufFields[] = {
    {"hidden_size", "embedding_length"},
    {"num_hidden_layers", "block_count"},
    {"num_attention_heads", "attention.head_count"},
    {"num_key_value_heads", "attention.head_count_kv", false},
    {"head_dim", "attention.key_length", false},
    {"intermediate_size", "feed_forward_length"},
    {"max_position_embeddings", "context_length"},
    {"rms_norm_eps", "attention.layer_norm_rms_epsilon"},
    {"rope_theta", "rope.freq_base", false},
};
inline constexpr const char* kLlamaIgnored[] = {"layers.{}.self_attn.rotary_emb.inv_freq"};

}  // namespace wattn
