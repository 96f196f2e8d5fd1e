#include "models/decoder_arch.h"

namespace wattn {
namespace {

struct DecoderSize {
  const char* key;
  std::int64_t DecoderConfig::* field;
  std::int64_t limit;
};
constexpr DecoderSize kSizes[] = {
    {"vocab_size", &DecoderConfig::vocab_size, 1 << 24},
    {"hidden_size", &DecoderConfig::hidden_size, 1 << 17},
    {"num_hidden_layers", &DecoderConfig::num_hidden_layers, 1 << 12},
    {"num_attention_heads", &DecoderConfig::num_attention_heads, 1 << 12},
    {"intermediate_size", &DecoderConfig::intermediate_size, 1 << 20},
    {"max_position_embeddings", &DecoderConfig::max_position_embeddings, 1 << 22},
};

// Of families that are not here, under model types that are: they change the arithmetic, but for one value (and false: SmolLM2 says
// that of rope_interleaved).
constexpr struct {
  const char* key;
  double neutral;
} kForeignKeys[] = {{"partial_rotary_factor", 1}, {"logit_scale", 1},          {"embedding_multiplier", 1},
                    {"residual_multiplier", 1},   {"attention_multiplier", 1}, {"logits_scaling", 1},
                    {"num_local_experts", 0},     {"num_experts", 0},          {"attn_logit_softcapping", 0},
                    {"attention_sinks", 0},       {"rope_interleaved", 0},     {"final_logit_softcapping", 0},
                    {"no_rope_layers", 0},        {"parallel_attn", 0}};

}  // namespace

std::string canonical_decoder_name(const DecoderArch& arch, std::string_view name, bool is_gguf) {
  if (is_gguf) return canonical_gguf_name(arch.gguf_names, name);
  if (name.starts_with(arch.base_prefix)) name.remove_prefix(std::string_view(arch.base_prefix).size());
  return std::string(name);
}

Result<void> check_heads(JsonRef config, const char* key, DecoderConfig& out) {
  constexpr std::int64_t kMost = 1 << 12;
  const JsonRef kv_heads = config["num_key_value_heads"];
  const auto kv =
      kv_heads.is_null() ? Result<std::int64_t>(out.num_attention_heads) : config_size(config, "num_key_value_heads", kMost);
  if (!kv.ok()) return kv.error();
  out.num_key_value_heads = kv.value();
  if (out.num_attention_heads % kv.value() != 0) {
    return kv_heads.mismatch("a divisor of " + std::string(key) + " " + std::to_string(out.num_attention_heads));
  }
  if (config["head_dim"].is_null() && out.hidden_size % out.num_attention_heads != 0) {
    return config[key].mismatch("a divisor of hidden_size " + std::to_string(out.hidden_size));
  }
  const auto head_dim = config["head_dim"].is_null() ? Result<std::int64_t>(out.hidden_size / out.num_attention_heads)
                                                     : config_size(config, "head_dim", kMost);
  if (!head_dim.ok()) return head_dim.error();
  out.head_dim = head_dim.value();
  if (out.positions == TokenPlaces::kRotary && out.head_dim % 2 != 0) {
    return unsupported_error("config.json: expected an even number of dimensions a head for rotary positions, found " +
                             std::to_string(out.head_dim));
  }
  return {};
}

Result<RopeScaling> read_rope(JsonRef config) {
  constexpr double kMostTheta = 1e12, kMostFactor = 1e6;
  RopeScaling rope;
  const JsonRef both = config["rope_parameters"].is_null() ? config["rope_scaling"] : config["rope_parameters"];
  if (!both.is_null() && !both.is_object()) return both.mismatch("an object");
  const auto theta = both["rope_theta"].is_null() ? config_number(config, "rope_theta", 10000, kMostTheta)
                                                  : config_number(both, "rope_theta", 10000, kMostTheta);
  if (!theta.ok()) return theta.error();
  rope.theta = theta.value();
  if (auto e = expect_absent(both, "partial_rotary_factor"); !e.ok()) {
    const auto part = both["partial_rotary_factor"].as_number();
    if (!part.ok() || part.value() != 1) return e.error();
  }
  const JsonRef type = both["rope_type"].is_null() ? both["type"] : both["rope_type"];
  const auto name = type.as_string_or("default");
  if (!name.ok()) return name.error();
  if (name.value() == "default") return rope;
  if (name.value() != "linear" && name.value() != "llama3") {
    return unsupported_error(type.where() + ": expected \"default\", \"linear\" or \"llama3\", found " + type.describe());
  }
  const auto number = [&](const char* key, double& out) -> Result<void> {
    if (both[key].is_null()) return both[key].mismatch("a number");
    const auto value = config_number(both, key, 1, kMostFactor);
    if (!value.ok()) return value.error();
    out = value.value();
    return {};
  };
  if (auto e = number("factor", rope.factor); !e.ok()) return e.error();
  rope.type = RopeScaling::Type::kLinear;
  if (name.value() == "linear") return rope;
  rope.type = RopeScaling::Type::kLlama3;
  if (auto e = number("low_freq_factor", rope.low_freq_factor); !e.ok()) return e.error();
  if (auto e = number("high_freq_factor", rope.high_freq_factor); !e.ok()) return e.error();
  if (rope.high_freq_factor <= rope.low_freq_factor) return both["high_freq_factor"].mismatch("a number above low_freq_factor");
  const JsonRef old = both["original_max_position_embeddings"];
  const auto positions = old.is_null() ? config_size(config, "max_position_embeddings", 1 << 22)
                                       : config_size(both, "original_max_position_embeddings", 1 << 22);
  if (!positions.ok()) return positions.error();
  rope.original_max_position_embeddings = static_cast<double>(positions.value());
  return rope;
}

Result<void> read_windows(JsonRef config, bool used, std::int64_t first_layer, DecoderConfig& out) {
  const JsonRef window = config["sliding_window"];
  if (!used || window.is_null()) return {};
  constexpr std::int64_t kMost = std::int64_t{1} << 30;
  const auto size = config_size(config, "sliding_window", kMost);
  if (!size.ok()) return size.error();
  const JsonRef types = config["layer_types"];
  if (!types.is_null() && types.size() != static_cast<std::size_t>(out.num_hidden_layers)) {
    return types.mismatch("one word for each of " + std::to_string(out.num_hidden_layers) + " layers");
  }
  for (std::int64_t i = 0; i < out.num_hidden_layers; ++i) {
    bool local = i >= first_layer;
    if (!types.is_null()) {
      const JsonRef type = types[static_cast<std::size_t>(i)];
      const auto name = type.as_string();
      if (!name.ok()) return name.error();
      local = name.value() == "sliding_attention";
      if (!local && name.value() != "full_attention") return type.mismatch("\"full_attention\" or \"sliding_attention\"");
    }
    out.local_layers.push_back(local);
  }
  out.local_window = size.value();
  return {};
}

Result<DecoderConfig> parse_llama_like(JsonRef config) {
  DecoderConfig out;
  if (auto e = refuse_decoder_switches(config); !e.ok()) return e.error();
  for (const auto& [key, field, limit] : kSizes) {
    const auto size = config_size(config, key, limit);
    if (!size.ok()) return size.error();
    out.*field = size.value();
  }
  if (auto e = check_heads(config, "num_attention_heads", out); !e.ok()) return e.error();
  const auto epsilon = config_number(config, "rms_norm_eps", 1e-6, 1);
  if (!epsilon.ok()) return epsilon.error();
  out.norm_eps = static_cast<float>(epsilon.value());
  const auto activation = config_activation(config, "hidden_act");
  if (!activation.ok()) return activation.error();
  out.hidden_act = activation.value();
  const auto rope = read_rope(config);
  if (!rope.ok()) return rope.error();
  out.rope = rope.value();
  const auto tied = config["tie_word_embeddings"].as_bool_or(false);
  if (!tied.ok()) return tied.error();
  out.tie_word_embeddings = tied.value();
  return out;
}

Result<void> refuse_decoder_switches(JsonRef config) {
  if (auto e = expect_bool(config, "add_cross_attention", false); !e.ok()) return e;
  if (auto e = expect_bool(config, "is_encoder_decoder", false); !e.ok()) return e;
  if (auto e = expect_absent(config, "pruned_heads"); !e.ok()) return e;
  if (auto e = expect_absent(config, "quantization_config"); !e.ok()) return e;
  for (const auto& [key, neutral] : kForeignKeys) {
    const JsonRef value = config[key];
    if (value.is_bool() && !value.as_bool().value()) continue;
    if (value.is_number() && value.as_number().value() == neutral) continue;
    if (auto e = expect_absent(config, key); !e.ok()) return e;
  }
  return {};
}

}  // namespace wattn
