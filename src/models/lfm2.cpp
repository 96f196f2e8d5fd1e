// LFM2, arXiv 2511.23404; transformers/models/lfm2/modeling_lfm2.py (v5.24.0). Differences from Llama: most layers have a gated
// short convolution in place of attention. RMSNorm of each head of queries and keys before the rotation. The width of the
// feed-forward is computed.
#include <algorithm>

#include "models/llama.h"

namespace wattn {
namespace {

// Older files have full_attn_idxs, the numbers of the layers with attention, in place of layer_types.
void read_layers(Fields& config, TransformerConfig& out) {
  auto& of = out.short_convolution;
  of.layers.assign(static_cast<std::size_t>(out.num_hidden_layers), false);
  if (const JsonRef types = config["layer_types"]; !types.is_null()) {
    if (!types.is_array() || types.size() != of.layers.size()) {
      return config.mismatch("layer_types", "a list of " + std::to_string(of.layers.size()) + " layers");
    }
    for (std::size_t i = 0; i < of.layers.size(); ++i) {
      const std::string_view type = types[i].is_string() ? types[i].as_string().value() : "";
      if (type != "conv" && type != "full_attention")
        return config.mismatch("layer_types", R"("conv" or "full_attention" for each layer)");
      of.layers[i] = type == "conv";
    }
    return;
  }
  const JsonRef attention = config["full_attn_idxs"];
  if (attention.is_null()) return;
  of.layers.assign(of.layers.size(), true);
  config.each(attention, [&](JsonRef index) {
    const std::int64_t layer = config.take(index.as_int());
    if (layer < 0 || layer >= out.num_hidden_layers) return config.mismatch("full_attn_idxs", "layer numbers");
    of.layers[static_cast<std::size_t>(layer)] = false;
  });
}

// As Lfm2MLP in Python: two thirds of intermediate_size, rounded up to a multiple.
void read_feed_forward(Fields& config, TransformerConfig& out) {
  if (config.has("block_ff_dim")) out.intermediate_size = config.size("block_ff_dim", kMostFfn);
  if (!config.ok() || !config.boolean_or("block_auto_adjust_ff_dim", true)) return;
  const double part = static_cast<double>(2 * out.intermediate_size) / 3;
  out.intermediate_size = static_cast<std::int64_t>(part);
  if (config.has("block_ffn_dim_multiplier")) {
    const double factor = config.number_or("block_ffn_dim_multiplier", 1, 1024);
    out.intermediate_size = static_cast<std::int64_t>(factor * static_cast<double>(out.intermediate_size));
  }
  const std::int64_t multiple = config.size_or("block_multiple_of", kMostFfn, 256);
  if (!config.ok()) return;
  out.intermediate_size = std::max<std::int64_t>(1, (out.intermediate_size + multiple - 1) / multiple) * multiple;
}

void parse_config(Fields& config, ModelConfig& out) {
  TransformerConfig& decoder = out.transformer;
  parse_llama(config, decoder, {.theta = 1e6});
  read_epsilon(config, "norm_eps", 1e-5, decoder);
  decoder.query_key_norm = true;
  decoder.tie_word_embeddings = config.boolean_or("tie_embedding", config.boolean_or("tie_word_embeddings", true));
  decoder.short_convolution.kernel = config.size_or("conv_L_cache", 64, 3);
  decoder.short_convolution.bias = config.boolean_or("conv_bias", false);
  if (!config.ok()) return;
  read_layers(config, decoder);
  read_feed_forward(config, decoder);
}

constexpr Arch arch() {
  Arch arch = llama_arch("lfm2", parse_config, nullptr,
                         R"("vocab_size": 65536, "hidden_size": 2560, "intermediate_size": 12288, "num_key_value_heads": 8, )"
                         R"("max_position_embeddings": 128000, "tie_word_embeddings": true)");
  arch.heads = {};
  TransformerNames& names = arch.names;
  names.query_norm = "layers.{}.self_attn.q_layernorm";
  names.key_norm = "layers.{}.self_attn.k_layernorm";
  names.attention_output = "layers.{}.self_attn.out_proj";
  names.attention_norm = "layers.{}.operator_norm";
  names.short_convolution_in = "layers.{}.conv.in_proj";
  names.short_convolution = "layers.{}.conv.conv";
  names.short_convolution_out = "layers.{}.conv.out_proj";
  names.gate = "layers.{}.feed_forward.w1";
  names.up = "layers.{}.feed_forward.w3";
  names.down = "layers.{}.feed_forward.w2";
  names.ffn_norm = "layers.{}.ffn_norm";
  names.final_norm = "embedding_norm";
  return arch;
}

}  // namespace

extern const Arch kLfm2 = arch();

}  // namespace wattn
