// ModernBERT, arXiv 2412.13663; transformers/models/modernbert/modeling_modernbert.py (v5.23.0). Against BERT:
// - norms before attention and feed-forward and after the last layer, none before the first attention, no biases as a rule;
// - rotary positions; most layers attend to a window only, with an angle base of their own;
// - gated feed-forward; no token types, no pooler.
#include "models/arch.h"

namespace wattn {
namespace {

Result<void> read_layers(JsonRef config, EncoderConfig& out) {
  const JsonRef types = config["layer_types"];
  const auto every = types.is_null() && !config["global_attn_every_n_layers"].is_null()
                         ? config_size(config, "global_attn_every_n_layers", 1 << 12)
                         : Result<std::int64_t>(3);
  if (!every.ok()) return every.error();
  if (!types.is_null() && types.size() != static_cast<std::size_t>(out.num_hidden_layers)) {
    return types.mismatch("one word for each of " + std::to_string(out.num_hidden_layers) + " layers");
  }
  for (std::int64_t i = 0; i < out.num_hidden_layers; ++i) {
    bool local = i % every.value() != 0;
    if (!types.is_null()) {
      const JsonRef type = types[static_cast<std::size_t>(i)];
      const auto name = type.as_string();
      if (!name.ok()) return name.error();
      local = name.value() == "sliding_attention";
      if (!local && name.value() != "full_attention") return type.mismatch("\"full_attention\" or \"sliding_attention\"");
    }
    out.local_layers.push_back(local);
  }
  const auto window = config["local_attention"].as_int_or(128);
  if (!window.ok()) return window.error();
  if (window.value() < 1 || window.value() > 1 << 22) return config["local_attention"].mismatch("a whole number from 1 on");
  out.local_window = window.value() / 2;
  return {};
}

Result<EncoderConfig> parse_config(JsonRef config) {
  EncoderConfig encoder;
  if (auto e = refuse_switches(config); !e.ok()) return e.error();
  if (auto e = expect_absent(config, "rope_scaling"); !e.ok()) return e.error();
  if (auto e = read_sizes(config, kUsualSizes, encoder); !e.ok()) return e.error();
  if (auto e = read_epsilon(config, "norm_eps", 1e-5, encoder); !e.ok()) return e.error();
  if (auto e = read_activation(config, "hidden_activation", encoder); !e.ok()) return e.error();
  if (auto e = read_layers(config, encoder); !e.ok()) return e.error();
  const JsonRef rope = config["rope_parameters"];
  const auto theta = read_theta(rope["full_attention"], config, "global_rope_theta", 160000);
  if (!theta.ok()) return theta.error();
  const auto local_theta = read_theta(rope["sliding_attention"], config, "local_rope_theta", 10000);
  if (!local_theta.ok()) return local_theta.error();
  encoder.rotary = {.theta = theta.value(), .local_theta = local_theta.value()};
  const auto attention_bias = config["attention_bias"].as_bool_or(false);
  if (!attention_bias.ok()) return attention_bias.error();
  const auto mlp_bias = config["mlp_bias"].as_bool_or(false);
  if (!mlp_bias.ok()) return mlp_bias.error();
  const auto norm_bias = config["norm_bias"].as_bool_or(false);
  if (!norm_bias.ok()) return norm_bias.error();
  encoder.biases = {.qkv = attention_bias.value(),
                    .attention_output = attention_bias.value(),
                    .intermediate = mlp_bias.value(),
                    .output = mlp_bias.value(),
                    .norms = norm_bias.value()};
  encoder.norms = NormPlacement::kPre;
  encoder.norms_first_attention = false;
  encoder.feed_forward = FeedForward::kGated;
  encoder.positions = Positions::kNone;
  encoder.distances = Distances::kRotary;
  encoder.pooler = false;
  return encoder;
}

// llama.cpp's names (gguf-py/gguf/tensor_mapping.py).
constexpr GgufName kGgufNames[] = {
    {"token_embd", "embeddings.tok_embeddings"},
    {"token_embd_norm", "embeddings.norm"},
    {"output_norm", "final_norm"},
    {"blk.{}.attn_norm", "layers.{}.attn_norm"},
    {"blk.{}.attn_qkv", "layers.{}.attn.Wqkv"},
    {"blk.{}.attn_output", "layers.{}.attn.Wo"},
    {"blk.{}.ffn_norm", "layers.{}.mlp_norm"},
    {"blk.{}.ffn_up", "layers.{}.mlp.Wi"},
    {"blk.{}.ffn_down", "layers.{}.mlp.Wo"},
    {"cls", "head.dense"},
    {"cls.norm", "head.norm"},
    {"cls.output", "classifier"},
};

constexpr const char* kIgnored[] = {"head.*", "decoder.*", "classifier.*", "drop.*"};

}  // namespace

extern const Arch kModernBert;
const Arch kModernBert = {
    .model_type = "modernbert",
    .base_prefix = "model.",
    .parse_config = parse_config,
    .names = {.word_embeddings = "embeddings.tok_embeddings",
              .embeddings_norm = "embeddings.norm",
              .query = "layers.{}.attn.Wqkv",
              .attention_output = "layers.{}.attn.Wo",
              .attention_norm = "layers.{}.attn_norm",
              .intermediate = "layers.{}.mlp.Wi",
              .output = "layers.{}.mlp.Wo",
              .output_norm = "layers.{}.mlp_norm",
              .final_norm = "final_norm"},
    .ignored = kIgnored,
    .gguf_names = kGgufNames,
};

}  // namespace wattn
