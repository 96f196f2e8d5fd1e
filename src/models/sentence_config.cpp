#include "models/sentence_config.h"

#include <algorithm>

#include "core/fields.h"
#include "models/activations.h"

namespace wattn {
namespace {

// The older form: one boolean per mode. Several are concatenated in this order.
constexpr std::pair<const char*, PoolingMode> kPoolingFlags[] = {
    {"pooling_mode_cls_token", PoolingMode::kCls},
    {"pooling_mode_max_tokens", PoolingMode::kMax},
    {"pooling_mode_mean_tokens", PoolingMode::kMean},
    {"pooling_mode_mean_sqrt_len_tokens", PoolingMode::kMeanSqrtLen},
    {"pooling_mode_weightedmean_tokens", PoolingMode::kWeightedMean},
    {"pooling_mode_lasttoken", PoolingMode::kLastToken},
};

void add_mode(Fields& config, JsonRef value, SentenceConfig& out) {
  const std::string_view name = config.take(value.as_string());
  const auto mode = pooling_mode_from_name(name);
  if (mode && std::find(out.pooling.begin(), out.pooling.end(), *mode) != out.pooling.end()) {
    return config.fail(unsupported_error(value.mismatch("each mode at most once").message));
  }
  if (mode) return out.pooling.push_back(*mode);
  config.fail(unsupported_error(value.mismatch("cls, max, mean, mean_sqrt_len_tokens, weightedmean or lasttoken").message));
}

constexpr std::int64_t kMostModuleWidth = 1 << 20;

// "Tanh" of "torch.nn.modules.activation.Tanh".
std::string_view last_word(std::string_view name) { return name.substr(name.rfind('.') + 1); }

Activation read_function(Fields& config) {
  constexpr std::pair<std::string_view, Activation> kFunctions[] = {
      {"Identity", Activation::kNone}, {"Tanh", Activation::kTanh}, {"ReLU", Activation::kRelu},
      {"GELU", Activation::kGelu},     {"SiLU", Activation::kSilu}, {"Sigmoid", Activation::kSigmoid}};
  const std::string_view name = last_word(config.string_or("activation_function", "Tanh"));
  for (const auto& [word, activation] : kFunctions) {
    if (name == word) return activation;
  }
  std::string known = "torch's Identity, Tanh, ReLU, GELU, SiLU, Sigmoid";
  for (const NamedActivation& more : more_activations()) {
    if (more.torch.empty()) continue;
    if (name == more.torch) return more.activation;
    known += ", " + std::string(more.torch);
  }
  config.unsupported("activation_function", known);
  return Activation::kNone;
}

}  // namespace

Result<ModuleList> parse_modules(JsonRef modules) {
  if (!modules.is_array()) return modules.mismatch("an array of modules");
  if (modules.size() == 0) return modules.mismatch("at least one module");
  ModuleList list;
  for (std::size_t i = 0; i < modules.size(); ++i) {
    Fields module(modules[i]);
    const std::string_view name = last_word(module.string("type"));
    std::string_view path = module.string_or("path", "");
    while (path.ends_with('/')) path.remove_suffix(1);
    if (i == 0 && name == "Transformer") {
      if (!path.empty()) module.unsupported("path", "\"\" (the encoder in the repository's root)");
    } else if (i == 1 && name == "Pooling") {
      list.pooling = true;
      list.pooling_path = path;
    } else if (list.pooling && name == "Dropout") {
      // Nothing is dropped outside training.
    } else if (list.pooling && name == "Dense" && !path.empty()) {
      list.modules.push_back({SentenceModule::Kind::kDense, std::string(path)});
    } else if (list.pooling && name == "LayerNorm" && !path.empty()) {
      list.modules.push_back({SentenceModule::Kind::kLayerNorm, std::string(path)});
    } else if (i > 0 && name == "Normalize") {
      list.modules.push_back({SentenceModule::Kind::kNormalize, std::string(path)});
    } else {
      module.unsupported(
          "type",
          "Transformer, then Pooling, then any of Dense, LayerNorm, Normalize and Dropout (a Router with the option route)");
    }
    if (!module.ok()) return module.error();
  }
  // Twice is as good as once.
  for (; !list.modules.empty() && list.modules.back().kind == SentenceModule::Kind::kNormalize; list.modules.pop_back()) {
    list.normalize = true;
  }
  return list;
}

Result<void> parse_pooling(JsonRef json, SentenceConfig& out) {
  Fields config(json);
  const JsonRef mode = config["pooling_mode"];
  if (mode.is_array()) {
    config.each(mode, [&](JsonRef value) { add_mode(config, value, out); });
  } else if (!mode.is_null()) {
    add_mode(config, mode, out);
  } else {
    for (const auto& [key, pooling] : kPoolingFlags) {
      if (config.boolean_or(key, false)) out.pooling.push_back(pooling);
    }
  }
  if (out.pooling.empty()) out.pooling.push_back(PoolingMode::kMean);  // sentence-transformers' default
  out.include_prompt = config.boolean_or("include_prompt", true);
  return config.result();
}

Result<void> parse_dense(JsonRef json, std::string_view path, SentenceConfig& out, const char* input) {
  Fields config(json);
  out.modules.push_back({.path = std::string(path),
                         .in = config.size("in_features", kMostModuleWidth),
                         .out = config.size("out_features", kMostModuleWidth),
                         .bias = config.boolean_or("bias", true),
                         .activation = read_function(config),
                         .residual = config.boolean_or("use_residual", false)});
  for (const char* key : {"module_input_name", "module_output_name"}) config.expect(key, input);
  return config.result();
}

Result<void> parse_layer_norm(JsonRef json, std::string_view path, SentenceConfig& out) {
  Fields config(json);
  const std::int64_t width = config.size("dimension", kMostModuleWidth);
  out.modules.push_back({.kind = SentenceModule::Kind::kLayerNorm, .path = std::string(path), .in = width, .out = width});
  return config.result();
}

Result<void> parse_sentence_bert(JsonRef json, SentenceConfig& out) {
  Fields config(json);
  if (config.has("max_seq_length")) out.max_seq_length = config.size("max_seq_length", INT64_MAX);
  out.lowercase = config.boolean_or("do_lower_case", false);
  return config.result();
}

Result<void> parse_prompts(JsonRef json, SentenceConfig& out) {
  Fields config(json);
  for (const auto& [name, value] : config["prompts"].members()) {
    if (config.ok()) out.prompts.emplace(name, config.take(value.as_string()));
  }
  out.default_prompt_name = config.string_or("default_prompt_name", "");
  if (!out.default_prompt_name.empty() && !out.prompts.contains(out.default_prompt_name)) {
    config.mismatch("default_prompt_name", "the name of a prompt");
  }
  if (config.has("truncate_dim")) out.truncate_dim = config.size("truncate_dim", kMostModuleWidth);
  out.normalize_truncated = out.truncate_dim && config.boolean_or("normalize_embeddings", false);
  return config.result();
}

}  // namespace wattn
