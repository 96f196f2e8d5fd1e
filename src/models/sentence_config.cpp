#include "models/sentence_config.h"

namespace wattn {
namespace {

// Old spelling: one boolean a mode. Several at once are concatenated in this order.
struct PoolingFlag {
  const char* key;
  PoolingMode mode;
};
constexpr PoolingFlag kPoolingFlags[] = {
    {"pooling_mode_cls_token", PoolingMode::kCls},
    {"pooling_mode_max_tokens", PoolingMode::kMax},
    {"pooling_mode_mean_tokens", PoolingMode::kMean},
    {"pooling_mode_mean_sqrt_len_tokens", PoolingMode::kMeanSqrtLen},
    {"pooling_mode_weightedmean_tokens", PoolingMode::kWeightedMean},
    {"pooling_mode_lasttoken", PoolingMode::kLastToken},
};

Result<PoolingMode> parse_mode(JsonRef value) {
  const auto name = value.as_string();
  if (!name.ok()) return name.error();
  if (const auto mode = pooling_mode_from_name(name.value())) return *mode;
  return unsupported_error(value.where() + ": expected cls, max, mean, mean_sqrt_len_tokens, weightedmean or lasttoken, found " +
                           value.describe());
}

}  // namespace

Result<ModuleList> parse_modules(JsonRef modules) {
  if (!modules.is_array()) return modules.mismatch("an array of modules");
  ModuleList list;
  for (std::size_t i = 0; i < modules.size(); ++i) {
    const JsonRef type = modules[i]["type"];
    const auto full_name = type.as_string();
    if (!full_name.ok()) return full_name.error();
    const std::string_view name = full_name.value().substr(full_name.value().rfind('.') + 1);
    const auto path = modules[i]["path"].as_string_or("");
    if (!path.ok()) return path.error();
    if (i == 0 && name == "Transformer") {
      if (!path.value().empty()) {
        return unsupported_error(modules[i]["path"].where() + ": expected \"\" (the encoder in the repository's root), found " +
                                 modules[i]["path"].describe());
      }
    } else if (i == 1 && name == "Pooling") {
      list.pooling = true;
      list.pooling_path = path.value();
    } else if (list.pooling && !list.normalize && name == "Dense" && !path.value().empty()) {
      list.dense_paths.emplace_back(path.value());
    } else if (i > 0 && !list.normalize && name == "Normalize") {
      list.normalize = true;
    } else {
      return unsupported_error(type.where() + ": expected Transformer, Pooling, Dense, Normalize in this order, found " +
                               type.describe());
    }
  }
  if (modules.size() == 0) return modules.mismatch("at least one module");
  return list;
}

Result<void> parse_pooling(JsonRef config, SentenceConfig& out) {
  if (!config.is_object()) return config.mismatch("an object");
  const JsonRef mode = config["pooling_mode"];
  if (mode.is_array()) {
    for (std::size_t i = 0; i < mode.size(); ++i) {
      const auto parsed = parse_mode(mode[i]);
      if (!parsed.ok()) return parsed.error();
      out.pooling.push_back(parsed.value());
    }
  } else if (!mode.is_null()) {
    const auto parsed = parse_mode(mode);
    if (!parsed.ok()) return parsed.error();
    out.pooling.push_back(parsed.value());
  } else {
    for (const PoolingFlag& flag : kPoolingFlags) {
      const auto on = config[flag.key].as_bool_or(false);
      if (!on.ok()) return on.error();
      if (on.value()) out.pooling.push_back(flag.mode);
    }
  }
  if (out.pooling.empty()) out.pooling.push_back(PoolingMode::kMean);  // sentence-transformers' default
  const auto include_prompt = config["include_prompt"].as_bool_or(true);
  if (!include_prompt.ok()) return include_prompt.error();
  out.include_prompt = include_prompt.value();
  return {};
}

Result<void> parse_dense(JsonRef config, std::string_view path, SentenceConfig& out) {
  if (!config.is_object()) return config.mismatch("an object");
  DenseConfig dense;
  dense.path = path;
  for (const auto& [key, size] : {std::pair{"in_features", &dense.in}, std::pair{"out_features", &dense.out}}) {
    const auto found = config[key].as_int();
    if (!found.ok()) return found.error();
    if (found.value() < 1 || found.value() > 1 << 20) return config[key].mismatch("a whole number from 1 to 1048576");
    *size = found.value();
  }
  const auto bias = config["bias"].as_bool_or(true);
  if (!bias.ok()) return bias.error();
  dense.bias = bias.value();
  for (const char* key : {"module_input_name", "module_output_name"}) {
    const auto name = config[key].as_string_or("sentence_embedding");
    if (!name.ok()) return name.error();
    if (name.value() == "sentence_embedding") continue;
    return unsupported_error(config[key].where() + ": expected \"sentence_embedding\", found " + config[key].describe());
  }
  const auto residual = config["use_residual"].as_bool_or(false);
  if (!residual.ok()) return residual.error();
  if (residual.value()) return unsupported_error(config["use_residual"].where() + ": expected false, found true");
  const JsonRef function = config["activation_function"];
  const auto name = function.as_string_or("Tanh");
  if (!name.ok()) return name.error();
  constexpr std::pair<std::string_view, Activation> kFunctions[] = {
      {"Identity", Activation::kNone}, {"Tanh", Activation::kTanh}, {"ReLU", Activation::kRelu},
      {"GELU", Activation::kGelu},     {"SiLU", Activation::kSilu}, {"Sigmoid", Activation::kSigmoid}};
  for (const auto& [word, activation] : kFunctions) {
    if (name.value().substr(name.value().rfind('.') + 1) != word) continue;
    dense.activation = activation;
    out.dense.push_back(std::move(dense));
    return {};
  }
  return unsupported_error(function.where() + ": expected torch's Identity, Tanh, ReLU, GELU, SiLU or Sigmoid, found " +
                           function.describe());
}

Result<void> parse_sentence_bert(JsonRef config, SentenceConfig& out) {
  if (!config.is_object()) return config.mismatch("an object");
  if (!config["max_seq_length"].is_null()) {
    const auto length = config["max_seq_length"].as_int();
    if (!length.ok()) return length.error();
    if (length.value() < 1) return config["max_seq_length"].mismatch("a whole number from 1 on");
    out.max_seq_length = length.value();
  }
  const auto lowercase = config["do_lower_case"].as_bool_or(false);
  if (!lowercase.ok()) return lowercase.error();
  out.lowercase = lowercase.value();
  return {};
}

Result<void> parse_prompts(JsonRef config, SentenceConfig& out) {
  if (!config.is_object()) return config.mismatch("an object");
  for (const auto& [name, value] : config["prompts"].members()) {
    const auto text = value.as_string();
    if (!text.ok()) return text.error();
    out.prompts.emplace(name, text.value());
  }
  const auto default_name = config["default_prompt_name"].as_string_or("");
  if (!default_name.ok()) return default_name.error();
  out.default_prompt_name = default_name.value();
  if (!out.default_prompt_name.empty() && !out.prompts.contains(out.default_prompt_name)) {
    return config["default_prompt_name"].mismatch("the name of a prompt");
  }
  return {};
}

}  // namespace wattn
