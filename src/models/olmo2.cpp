// OLMo, arXiv 2402.00838; transformers/models/olmo/modeling_olmo.py (v5.24.0). Difference from Llama: LayerNorm without weights.
// OLMo 2, arXiv 2501.00656, and OLMo 3, arXiv 2512.13961; transformers/models/olmo2/modeling_olmo2.py (v5.23.0) and
// olmo3/modeling_olmo3.py (v5.24.0). Differences from Llama: norms of the outputs of attention and feed-forward, none of their
// inputs. RMSNorm over a token's queries, and over its keys, before the rotation. OLMo 3: three of four layers are limited to a
// window, and their positions are not scaled.
#include "models/llama.h"

namespace wattn {
namespace {

void read_layers(Fields& config, TransformerConfig& decoder) {
  read_epsilon(config, "rms_norm_eps", 1e-5, decoder);
  decoder.biases.qkv = decoder.biases.attention_output = config.boolean_or("attention_bias", false);
  decoder.input_norms = false;
  decoder.output_norms = decoder.query_key_norm = decoder.query_key_norm_joined = true;
}

void parse_olmo2(Fields& config, ModelConfig& out) {
  parse_llama(config, out.transformer);
  config.absent("sliding_window");
  read_layers(config, out.transformer);
}

void parse_olmo3(Fields& config, ModelConfig& out) {
  constexpr double kTheta = 500000;
  TransformerConfig& decoder = out.transformer;
  const JsonRef rope = config["rope_parameters"];
  parse_llama(config, decoder, {.theta = kTheta, .reads_rope = rope.is_null()});
  if (!rope.is_null()) decoder.rope = read_rope_of(config, rope["full_attention"], kTheta);
  decoder.local_rope_theta =
      rope.is_null() ? decoder.rope.theta : read_theta(config, rope["sliding_attention"], "rope_theta", kTheta);
  read_layers(config, decoder);
  if (!config.ok()) return;
  decoder.local_window = config.size_or("sliding_window", std::int64_t{1} << 30, 4096) - (decoder.causal ? 1 : 0);
  read_local_layers(config, [](std::int64_t layer) { return (layer + 1) % 4 != 0; }, decoder);
}

void parse_olmo(Fields& config, ModelConfig& out) {
  TransformerConfig& decoder = out.transformer;
  config.absent("clip_qkv");
  parse_llama(config, decoder);
  decoder.norm = NormKind::kLayer;
  decoder.norm_eps = 1e-5f;
  decoder.learned_norms = false;
  decoder.biases.qkv = decoder.biases.attention_output = config.boolean_or("attention_bias", false);
}

constexpr GgufField kOlmoGgufFields[] = {
    {"hidden_size", "embedding_length"},
    {"num_hidden_layers", "block_count"},
    {"num_attention_heads", "attention.head_count"},
    {"num_key_value_heads", "attention.head_count_kv", false},
    {"intermediate_size", "feed_forward_length"},
    {"max_position_embeddings", "context_length"},
    {"clip_qkv", "attention.clamp_kqv", false},
    {"rope_theta", "rope.freq_base", false},
};

constexpr Arch olmo() {
  Arch arch =
      llama_arch("olmo", parse_olmo, "olmo", R"("vocab_size": 50304, "intermediate_size": 11008, "max_position_embeddings": 2048)");
  arch.names.attention_norm = arch.names.ffn_norm = arch.names.final_norm = "";
  arch.names.rope_permuted_in_gguf = true;
  arch.gguf.fields = kOlmoGgufFields;
  arch.heads.token = arch.heads.answer = {};
  return arch;
}

// In GGUF files OLMo 3 has this name, too, and layers with a window.
std::string more_of(const GgufKeys& keys) {
  return keys.number_or("attention.sliding_window", 0) > 0 ? R"("sliding_window": true)" : "";
}

constexpr Arch arch(const char* model_type, void (*parse_config)(Fields&, ModelConfig&), const char* gguf) {
  Arch arch = llama_arch(model_type, parse_config, gguf,
                         R"("vocab_size": 50304, "intermediate_size": 11008, "max_position_embeddings": 2048)");
  arch.gguf.more = more_of;
  arch.names.attention_norm = arch.names.ffn_norm = nullptr;
  arch.names.attention_output_norm = "layers.{}.post_attention_layernorm";
  arch.names.ffn_output_norm = "layers.{}.post_feedforward_layernorm";
  return arch;
}

}  // namespace

extern const Arch kOlmo = olmo();
extern const Arch kOlmo2 = arch("olmo2", parse_olmo2, "olmo2");
extern const Arch kOlmo3 = arch("olmo3", parse_olmo3, nullptr);

}  // namespace wattn
