// The text of Qwen3.5; transformers/models/qwen3_5/modeling_qwen3_5.py (v5.24.0); llama.cpp's conversion/qwen.py (03173d5e).
// Differences from Qwen3: most layers have a Gated DeltaNet (arXiv 2412.06464) in place of attention. Attention has a gate for each
// head, and a quarter of each head rotates. Norms multiply by 1 + their weight.
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
  for (std::int64_t i = 0, more = config.integer_or("num_nextn_predict_layers", 0, 0, 1 << 6); i < more; ++i) {
    for (const char* stem : {"layers.", "blk."}) out.ignored.push_back(stem + std::to_string(decoder.num_hidden_layers + i) + ".*");
  }
}

constexpr GgufField kGgufFields[] = {
    {"hidden_size", "embedding_length"},
    {"num_attention_heads", "attention.head_count"},
    {"num_key_value_heads", "attention.head_count_kv"},
    {"head_dim", "attention.key_length"},
    {"intermediate_size", "feed_forward_length"},
    {"max_position_embeddings", "context_length"},
    {"rms_norm_eps", "attention.layer_norm_rms_epsilon"},
    {"rope_theta", "rope.freq_base"},
    {"linear_conv_kernel_dim", "ssm.conv_kernel"},
    {"linear_key_head_dim", "ssm.state_size"},
    {"linear_num_key_heads", "ssm.group_count"},
    {"linear_num_value_heads", "ssm.time_step_rank"},
    {"full_attention_interval", "full_attention_interval", false, "4"},
};

constexpr GgufName kGgufNames[] = {
    {"blk.{}.post_attention_norm", "layers.{}.post_attention_layernorm"},
    {"blk.{}.attn_qkv", "layers.{}.linear_attn.in_proj_qkv"},
    {"blk.{}.attn_gate", "layers.{}.linear_attn.in_proj_z"},
    {"blk.{}.ssm_beta", "layers.{}.linear_attn.in_proj_b"},
    {"blk.{}.ssm_alpha", "layers.{}.linear_attn.in_proj_a"},
    {"blk.{}.ssm_conv1d", "layers.{}.linear_attn.conv1d"},
    {"blk.{}.ssm_dt", "layers.{}.linear_attn.dt"},
    {"blk.{}.ssm_norm", "layers.{}.linear_attn.norm"},
    {"blk.{}.ssm_out", "layers.{}.linear_attn.out_proj"},
    {"blk.{}", "layers.{}.linear_attn"},  // "ssm_a", which has no ending
};

// llama.cpp counts the layers that predict later tokens (MTP), and has the values of all heads in one number.
std::string more_of(const GgufKeys& keys) {
  const double unused = keys.number_or("nextn_predict_layers", 0), heads = keys.number_or("ssm.time_step_rank", 0);
  const auto member = [](const char* name, double value) {
    return std::string(", \"") + name + "\": " + std::to_string(static_cast<std::int64_t>(value));
  };
  const auto at_most = [](double value) { return value >= 0 && value < 1e9 ? value : 0; };
  return partial_rotary(keys, "partial_rotary_factor") +
         member("num_hidden_layers", at_most(keys.number_or("block_count", 0) - at_most(unused))) +
         member("num_nextn_predict_layers", at_most(unused)) +
         member("linear_value_head_dim", heads >= 1 ? at_most(keys.number_or("ssm.inner_size", 0) / heads) : 0);
}

constexpr const char* kIgnored[] = {"lm_head.*", "score.*", "mtp.*"};

constexpr Arch arch() {
  Arch arch = llama_arch("qwen3_5_text", parse_config, "qwen35",
                         R"("vocab_size": 248320, "intermediate_size": 12288, "num_attention_heads": 16, )"
                         R"("num_key_value_heads": 4, "head_dim": 256, "max_position_embeddings": 32768)");
  arch.ignored = kIgnored;
  arch.heads.answer = {};
  arch.names.norm_offset = 1;
  arch.names.gated_delta = "layers.{}.linear_attn";
  arch.gguf.fields = kGgufFields;
  arch.gguf.more = more_of;
  arch.gguf.names = kGgufNames;
  return arch;
}

}  // namespace

extern const Arch kQwen35 = arch();

}  // namespace wattn
