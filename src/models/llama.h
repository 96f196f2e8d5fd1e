// What architectures derived from Llama share with it.
#pragma once

#include "models/arch.h"
#include "models/config_fields.h"

namespace wattn {

// Where an architecture reads its config differently from Llama.
struct LlamaReading {
  std::initializer_list<std::string_view> own{};  // keys that reject_foreign() leaves to it
  PartialRotary part{};
  double theta = 10000;    // where config.json has none
  bool reads_rope = true;  // false: the architecture does
};
// Everything but biases and attention windows: none.
void parse_llama(Fields& config, TransformerConfig& out, const LlamaReading& reading = {});
// What is the same for every config: kinds of norms, positions and feed-forward, no biases, a head over the vocabulary.
void set_llama_layers(TransformerConfig& out);

inline constexpr TransformerNames kLlamaNames = {
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
    .ffn_norm = "layers.{}.post_attention_layernorm",
    .final_norm = "norm",
};

inline constexpr const char* kLlamaIgnored[] = {"lm_head.*", "score.*", "qa_outputs.*"};

inline constexpr Heads kLlamaHeads = {
    .sequence = {.output = "score", .output_bias = false, .input = HeadInput::kLast},
    .token = {.output = "score"},
    .answer = {.output = "qa_outputs"},
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
// A member of config.json: which part of each head rotates, where llama.cpp has the number of its dimensions (gpt_neox.cpp).
std::string partial_rotary(const GgufKeys& keys, const char* field);

inline constexpr const char* kLlamaDefaults =
    R"("hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32, "hidden_act": "silu")";
// gguf: the name of the architecture there, or null. defaults: Arch::defaults beside kLlamaDefaults.
constexpr Arch llama_arch(const char* model_type, void (*parse_config)(Fields&, ModelConfig&), const char* gguf,
                          const char* defaults = nullptr) {
  return {
      .model_type = model_type,
      .base_prefix = "model.",
      .parse_config = parse_config,
      .names = kLlamaNames,
      .ignored = kLlamaIgnored,
      .heads = kLlamaHeads,
      .gguf = {.architecture = gguf, .config = R"("hidden_act": "silu")", .fields = kLlamaGgufFields},
      .defaults = {kLlamaDefaults, defaults},
  };
}

}  // namespace wattn
