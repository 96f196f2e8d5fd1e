// Gemma, arXiv 2403.08295, Gemma 2, arXiv 2408.00118, and Gemma 3, arXiv 2503.19786, whose bidirectional form is EmbeddingGemma,
// arXiv 2509.20354; transformers/models/gemma*/modeling_gemma*.py (v5.23.0). Differences from Llama:
// - embeddings times sqrt(hidden_size); norms multiply by 1 + weight; head_dim is independent of hidden_size; the head is tied;
// - from 2 on: norms of the outputs of attention and feed-forward; scores divided by sqrt(query_pre_attn_scalar); soft caps; some
//   layers attend to a window only;
// - 3: RMSNorm of each head of queries and keys; layers with a window have their own rotary base.
// VaultGemma, arXiv 2510.15001, is Gemma 2 without norms of the outputs of attention and feed-forward.
#include <cmath>

#include "models/llama.h"

namespace wattn {
namespace {

// The keys by which Gemma changes the arithmetic are read here, where a decoder's other readers refuse them.
void parse_common(Fields& config, const char* activation, TransformerConfig& out) {
  config.expect("is_encoder_decoder", false);
  reject_switches(config);
  out.head_dim = config.size_or("head_dim", kMostHeads, 256);
  read_sizes(config, {}, out);
  read_kv_heads(config, out);
  read_epsilon(config, "rms_norm_eps", 1e-6, out);
  out.hidden_act = config.has(activation) ? read_activation(config, activation) : Activation::kGeluTanh;
  out.tie_word_embeddings = config.boolean_or("tie_word_embeddings", true);
  out.causal = !config.boolean_or("use_bidirectional_attention", false);
  set_llama_layers(out);
  out.biases.qkv = out.biases.attention_output = config.boolean_or("attention_bias", false);
  out.embedding_scale = static_cast<float>(std::sqrt(static_cast<double>(out.hidden_size)));
}

void parse_gemma(Fields& config, ModelConfig& out) {
  TransformerConfig& decoder = out.transformer;
  parse_common(config, "hidden_act", decoder);
  if (decoder.hidden_act == Activation::kGelu) decoder.hidden_act = Activation::kGeluTanh;  // what the first files mean
  decoder.rope = read_rope(config, 10000);
}

float read_cap(Fields& config, const char* key, double fallback) {
  constexpr double kMost = 1e6;
  if (config[key].exists() && config[key].is_null()) return 0;
  return static_cast<float>(config.number_or(key, fallback, kMost));
}

// pattern: one in this many layers attends to everything.
void parse_later(Fields& config, std::int64_t pattern, double score_cap, double logit_cap, TransformerConfig& out) {
  parse_common(config, "hidden_activation", out);
  out.output_norms = true;
  out.query_pre_attn_scalar = config.number_or("query_pre_attn_scalar", 256, kMostWidth);
  out.attn_logit_softcapping = read_cap(config, "attn_logit_softcapping", score_cap);
  out.final_logit_softcapping = read_cap(config, "final_logit_softcapping", logit_cap);
  const std::int64_t window = config.size_or("sliding_window", std::int64_t{1} << 30, 4096);
  out.local_window = out.causal ? window - 1 : window / 2;
  read_local_layers(config, [&](std::int64_t layer) { return (layer + 1) % pattern != 0; }, out);
}

void parse_gemma2(Fields& config, ModelConfig& out) {
  parse_later(config, 2, 50, 30, out.transformer);
  out.transformer.rope = read_rope(config, 10000);
}

void parse_vault(Fields& config, ModelConfig& out) {
  parse_gemma2(config, out);
  out.transformer.output_norms = false;
}

void parse_gemma3(Fields& config, ModelConfig& out) {
  TransformerConfig& decoder = out.transformer;
  const char* key = config.has("_sliding_window_pattern") ? "_sliding_window_pattern" : "sliding_window_pattern";
  parse_later(config, config.size_or(key, 1 << 12, 6), 0, 0, decoder);
  decoder.query_key_norm = true;
  const JsonRef rope = config["rope_parameters"];
  decoder.rope = rope.is_null() ? read_rope(config, 1e6) : read_rope_of(config, rope["full_attention"], 1e6);
  decoder.local_rope_theta = read_theta(config, rope["sliding_attention"], "rope_local_base_freq", 10000);
}

// llama.cpp's names are those of Llama; its norms have the whole factor.
constexpr GgufField kLaterGgufFields[] = {
    {"query_pre_attn_scalar", "attention.key_length"},  // llama.cpp takes another only for the models of 27B
    {"hidden_size", "embedding_length"},
    {"num_hidden_layers", "block_count"},
    {"num_attention_heads", "attention.head_count"},
    {"num_key_value_heads", "attention.head_count_kv", false},
    {"head_dim", "attention.key_length"},
    {"intermediate_size", "feed_forward_length"},
    {"max_position_embeddings", "context_length"},
    {"rms_norm_eps", "attention.layer_norm_rms_epsilon"},
    {"rope_theta", "rope.freq_base", false},
    {"rope_local_base_freq", "rope.freq_base_swa", false},
    {"sliding_window", "attention.sliding_window", false},
    {"_sliding_window_pattern", "attention.sliding_window_pattern", false},
    {"attn_logit_softcapping", "attn_logit_softcapping", false},
    {"final_logit_softcapping", "final_logit_softcapping", false},
};
constexpr std::span<const GgufField> kGgufFields = std::span(kLaterGgufFields).subspan(1);

constexpr Arch arch(const char* model_type, void (*parse_config)(Fields&, ModelConfig&), const char* gguf, const char* defaults) {
  Arch arch = llama_arch(model_type, parse_config, gguf);
  arch.names.norm_offset = 1;
  arch.defaults[0] =
      R"("vocab_size": 256000, "hidden_size": 2304, "intermediate_size": 9216, "num_hidden_layers": 26, "num_attention_heads": 8, )"
      R"("num_key_value_heads": 4, "max_position_embeddings": 8192)";
  arch.defaults[1] = defaults;
  arch.gguf.config = "";
  arch.gguf.fields = kGgufFields;
  return arch;
}

constexpr Arch later(const char* model_type, void (*parse_config)(Fields&, ModelConfig&), const char* gguf, const char* defaults) {
  Arch out = arch(model_type, parse_config, gguf, defaults);
  out.names.attention_output_norm = "layers.{}.post_attention_layernorm";
  out.names.ffn_norm = "layers.{}.pre_feedforward_layernorm";
  out.names.ffn_output_norm = "layers.{}.post_feedforward_layernorm";
  out.gguf.fields = kLaterGgufFields;
  return out;
}

constexpr Arch vault() {
  Arch out = later("vaultgemma", parse_vault, nullptr, nullptr);
  out.names.attention_output_norm = out.names.ffn_output_norm = nullptr;
  return out;
}

// llama.cpp has a separate name for the bidirectional form. Its config.json is that of kGemma3.
constexpr Arch embedding_in_gguf() {
  Arch out = later("gemma3_text", parse_gemma3, "gemma-embedding", nullptr);
  out.gguf.config = R"("use_bidirectional_attention": true)";
  out.only_key = kOnlyInGguf;
  return out;
}

}  // namespace

extern const Arch kGemma = arch("gemma", parse_gemma, "gemma",
                                R"("hidden_size": 3072, "intermediate_size": 24576, "num_hidden_layers": 28, )"
                                R"("num_attention_heads": 16, "num_key_value_heads": 16)");
extern const Arch kGemma2 = later("gemma2", parse_gemma2, "gemma2", nullptr);
extern const Arch kGemma3 =
    later("gemma3_text", parse_gemma3, "gemma3", R"("vocab_size": 262208, "max_position_embeddings": 131072)");
extern const Arch kGemmaEmbedding = embedding_in_gguf();
extern const Arch kVaultGemma = vault();

}  // namespace wattn
