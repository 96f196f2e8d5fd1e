// The text of Qwen3.5; transformers/models/qwen3_5/modeling_qwen3_5.py (v5.24.0). Differences from Qwen3: most layers have a Gated
// DeltaNet (arXiv 2412.06464) in place of attention. Attention has a gate for each head, and a quarter of each head rotates. Norms
// multiply by 1 + their weight.
#include "models/llama.h"

namespace wattn {
namespace {

void read_layers(Fields& config, TransformerConfig& out) {
  auto& layers = out.gated_delta.layers;
  const std::int64_t interval = config.size_or("full_attention_interval", 1 << 12, 4);
  const JsonRef types = config["layer_types"];
  for (std::int64_t i = 0; types.is_null() && i < out.num_hidden_layers; ++i) layers.push_back((i + 1) % interval != 0);
  if (types.is_null()) return;
  if (!types.is_array() || types.size() != static_cast<std::size_t>(out.num_hidden_layers)) {
    return config.mismatch("layer_types", "a list of " + std::to_string(out.num_hidden_layers) + " layers");
  }
  for (std::size_t i = 0; i < types.size(); ++i) {
    const std::string_view type = types[i].is_string() ? types[i].as_string().value() : "";
    if (type != "linear_attention" && type != "full_attention")
      return config.mismatch("layer_types", R"("linear_attention" or "full_attention" for each layer)");
    layers.push_back(type == "linear_attention");
  }
}

void parse_config(Fields& config, ModelConfig& out) {
  TransformerConfig& decoder = out.transformer;
  parse_llama(config, decoder, {.own = {"partial_rotary_factor"}, .part = {"partial_rotary_factor", 0.25}});
  decoder.query_key_norm = decoder.attention_gate = true;
  decoder.biases.qkv = decoder.biases.attention_output = config.boolean_or("attention_bias", false);
  auto& of = decoder.gated_delta;
  of.kernel = config.size_or("linear_conv_kernel_dim", 64, 4);
  of.key_dim = config.size_or("linear_key_head_dim", kMostHeads, 128);
  of.value_dim = config.size_or("linear_value_head_dim", kMostHeads, 128);
  of.key_heads = config.size_or("linear_num_key_heads", kMostHeads, 16);
  of.value_heads = config.size_or("linear_num_value_heads", kMostHeads, 32);
  if (!config.ok()) return;
  if (of.value_heads % of.key_heads != 0) {
    return config.mismatch("linear_num_value_heads", "a multiple of linear_num_key_heads " + std::to_string(of.key_heads));
  }
  read_layers(config, decoder);
}

constexpr const char* kIgnored[] = {"lm_head.*", "score.*", "mtp.*"};

constexpr Arch arch() {
  Arch arch = llama_arch("qwen3_5_text", parse_config, nullptr,
                         R"("vocab_size": 248320, "intermediate_size": 12288, "num_attention_heads": 16, )"
                         R"("num_key_value_heads": 4, "head_dim": 256, "max_position_embeddings": 32768)");
  arch.ignored = kIgnored;
  arch.heads.answer = {};
  arch.names.norm_offset = 1;
  arch.names.gated_delta = "layers.{}.linear_attn";
  return arch;
}

}  // namespace

extern const Arch kQwen35 = arch();

}  // namespace wattn
