#include "models/arch.h"

namespace wattn {

std::string canonical_weight_name(const Arch& arch, std::string_view name) {
  const std::string own_prefix = std::string(arch.model_type) + ".";
  for (const std::string_view prefix : {std::string_view(arch.base_prefix), std::string_view(own_prefix)}) {
    if (!name.starts_with(prefix)) continue;
    name.remove_prefix(prefix.size());
    break;
  }
  constexpr std::string_view kGamma = ".gamma";
  constexpr std::string_view kBeta = ".beta";
  if (name.ends_with(kGamma)) return std::string(name.substr(0, name.size() - kGamma.size())) + ".weight";
  if (name.ends_with(kBeta)) return std::string(name.substr(0, name.size() - kBeta.size())) + ".bias";
  return std::string(name);
}

std::string canonical_gguf_name(std::span<const GgufName> names, std::string_view name) {
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos) return std::string(name);
  const std::string_view stem = name.substr(0, dot), ending = name.substr(dot);
  for (const GgufName& row : names) {
    const std::string_view pattern = row.gguf, canonical = row.canonical;
    const std::size_t hole = pattern.find("{}");
    if (hole == std::string_view::npos) {
      if (stem == pattern) return std::string(canonical) + std::string(ending);
      continue;
    }
    const std::string_view before = pattern.substr(0, hole), after = pattern.substr(hole + 2);
    if (stem.size() <= before.size() + after.size() || !stem.starts_with(before) || !stem.ends_with(after)) continue;
    const std::string_view layer = stem.substr(before.size(), stem.size() - before.size() - after.size());
    if (layer.find_first_not_of("0123456789") != std::string_view::npos) continue;
    const std::size_t into = canonical.find("{}");
    return std::string(canonical.substr(0, into)) + std::string(layer) + std::string(canonical.substr(into + 2)) +
           std::string(ending);
  }
  return std::string(name);
}

namespace {
constexpr ConfigSize kUsual[] = {
    {"vocab_size", &EncoderConfig::vocab_size},
    {"hidden_size", &EncoderConfig::hidden_size},
    {"num_hidden_layers", &EncoderConfig::num_hidden_layers},
    {"num_attention_heads", &EncoderConfig::num_attention_heads},
    {"intermediate_size", &EncoderConfig::intermediate_size},
    {"max_position_embeddings", &EncoderConfig::max_position_embeddings},
};

// Far above any model, and low enough to keep every product of sizes below 2^60.
std::int64_t largest(std::int64_t EncoderConfig::* field) {
  const struct {
    std::int64_t EncoderConfig::* field;
    std::int64_t limit;
  } limits[] = {{&EncoderConfig::vocab_size, 1 << 24},
                {&EncoderConfig::hidden_size, 1 << 17},
                {&EncoderConfig::embedding_size, 1 << 17},
                {&EncoderConfig::intermediate_size, 1 << 20},
                {&EncoderConfig::max_position_embeddings, 1 << 22}};
  for (const auto& row : limits) {
    if (row.field == field) return row.limit;
  }
  return 1 << 12;
}
}  // namespace

const std::span<const ConfigSize> kUsualSizes = kUsual;

Result<void> read_sizes(JsonRef config, std::span<const ConfigSize> sizes, EncoderConfig& out) {
  const char* heads_key = "num_attention_heads";
  for (const auto& [key, field, fallback] : sizes) {
    if (field == &EncoderConfig::num_attention_heads) heads_key = key;
    if (fallback > 0 && config[key].is_null()) {
      out.*field = fallback;
      continue;
    }
    const auto size = config_size(config, key, largest(field));
    if (!size.ok()) return size.error();
    out.*field = size.value();
  }
  if (out.hidden_size % out.num_attention_heads != 0) {
    return config[heads_key].mismatch("a divisor of hidden_size " + std::to_string(out.hidden_size));
  }
  return {};
}

Result<void> read_type_vocab_size(JsonRef config, EncoderConfig& out) {
  const auto size = config["type_vocab_size"].as_int_or(0);
  if (!size.ok()) return size.error();
  constexpr std::int64_t kMost = 1 << 12;
  if (size.value() < 0 || size.value() > kMost) return config["type_vocab_size"].mismatch("a whole number from 0 to 4096");
  out.type_vocab_size = size.value();
  return {};
}

Result<double> config_number(JsonRef config, std::string_view key, double fallback, double most) {
  const auto number = config[key].as_number_or(fallback);
  if (!number.ok()) return number.error();
  if (number.value() > 0 && number.value() <= most) return number;
  return config[key].mismatch("a number above 0, at most " + json_text(most));
}

Result<void> read_epsilon(JsonRef config, std::string_view key, double fallback, EncoderConfig& out) {
  const auto epsilon = config[key].as_number_or(fallback);
  if (!epsilon.ok()) return epsilon.error();
  if (!(epsilon.value() >= 0 && epsilon.value() < 1)) return config[key].mismatch("a number from 0 to 1");
  out.layer_norm_eps = static_cast<float>(epsilon.value());
  return {};
}

Result<double> read_theta(JsonRef rope, JsonRef config, std::string_view key, double fallback) {
  if (auto e = expect_string(rope, "rope_type", "default"); !e.ok()) return e.error();
  const auto part = rope["partial_rotary_factor"].as_number_or(1);
  if (!part.ok()) return part.error();
  if (part.value() != 1) return expect_absent(rope, "partial_rotary_factor").error();
  constexpr double kMost = 1e12;
  return rope["rope_theta"].is_null() ? config_number(config, key, fallback, kMost)
                                      : config_number(rope, "rope_theta", fallback, kMost);
}

Result<void> expect_int(JsonRef config, std::string_view key, std::int64_t only) {
  const auto value = config[key].as_int_or(only);
  if (!value.ok()) return value.error();
  if (value.value() == only) return {};
  return unsupported_error(config[key].where() + ": expected " + std::to_string(only) + ", found " + config[key].describe());
}

Result<void> refuse_switches(JsonRef config) {
  if (auto e = expect_bool(config, "is_decoder", false); !e.ok()) return e;
  if (auto e = expect_bool(config, "add_cross_attention", false); !e.ok()) return e;
  if (auto e = expect_absent(config, "pruned_heads"); !e.ok()) return e;
  return expect_absent(config, "quantization_config");
}

Result<EncoderConfig> parse_usual_config(JsonRef config) {
  EncoderConfig encoder;
  if (auto e = refuse_switches(config); !e.ok()) return e.error();
  if (auto e = read_sizes(config, kUsualSizes, encoder); !e.ok()) return e.error();
  if (auto e = read_epsilon(config, "layer_norm_eps", 1e-12, encoder); !e.ok()) return e.error();
  if (auto e = read_activation(config, "hidden_act", encoder); !e.ok()) return e.error();
  return encoder;
}

Result<void> read_activation(JsonRef config, std::string_view key, EncoderConfig& out) {
  const auto activation = config_activation(config, key);
  if (!activation.ok()) return activation.error();
  out.hidden_act = activation.value();
  return {};
}

Result<std::int64_t> config_size(JsonRef config, std::string_view key, std::int64_t limit) {
  const JsonRef value = config[key];
  const auto size = value.as_int();
  if (!size.ok()) return size;
  if (size.value() < 1 || size.value() > limit) return value.mismatch("a whole number from 1 to " + std::to_string(limit));
  return size;
}

Result<Activation> config_activation(JsonRef config, std::string_view key) {
  const auto name = config[key].as_string();
  if (!name.ok()) return name.error();
  constexpr struct {
    std::string_view name;
    Activation activation;
  } kNames[] = {{"gelu", Activation::kGelu},
                {"gelu_python", Activation::kGelu},
                {"relu", Activation::kRelu},
                {"gelu_new", Activation::kGeluTanh},
                {"gelu_pytorch_tanh", Activation::kGeluTanh},
                {"gelu_fast", Activation::kGeluTanh},
                {"silu", Activation::kSilu},
                {"swish", Activation::kSilu}};
  for (const auto& row : kNames) {
    if (row.name == name.value()) return row.activation;
  }
  return unsupported_error(config[key].where() + ": expected \"gelu\", \"gelu_new\", \"relu\" or \"silu\", found " +
                           config[key].describe());
}

Result<void> expect_string(JsonRef config, std::string_view key, std::string_view only) {
  const auto value = config[key].as_string_or(only);
  if (!value.ok()) return value.error();
  if (value.value() == only) return {};
  return unsupported_error(config[key].where() + ": expected \"" + std::string(only) + "\", found " + config[key].describe());
}

Result<void> expect_bool(JsonRef config, std::string_view key, bool only) {
  const auto value = config[key].as_bool_or(only);
  if (!value.ok()) return value.error();
  if (value.value() == only) return {};
  return unsupported_error(config[key].where() + ": expected " + (only ? "true" : "false") + ", found " + config[key].describe());
}

Result<void> expect_absent(JsonRef config, std::string_view key) {
  const JsonRef value = config[key];
  if (value.is_null() || (value.size() == 0 && (value.is_object() || value.is_array()))) return {};
  return unsupported_error(value.where() + ": expected nothing (not supported), found " + value.describe());
}

}  // namespace wattn
