#include "models/config_fields.h"

#include <algorithm>

#include "core/part.h"
#include "models/activations.h"

namespace wattn {
namespace {

// Keys that change the arithmetic unless they have this value or are false (as SmolLM2's rope_interleaved).
constexpr struct {
  const char* key;
  double neutral;
} kForeignKeys[] = {{"partial_rotary_factor", 1}, {"logit_scale", 1},          {"embedding_multiplier", 1},
                    {"residual_multiplier", 1},   {"attention_multiplier", 1}, {"logits_scaling", 1},
                    {"num_local_experts", 0},     {"num_experts", 0},          {"attn_logit_softcapping", 0},
                    {"attention_sinks", 0},       {"rope_interleaved", 0},     {"final_logit_softcapping", 0},
                    {"no_rope_layers", 0},        {"parallel_attn", 0}};

constexpr const char* kPartial = "partial_rotary_factor";

constexpr std::pair<std::string_view, Activation> kActivations[] = {{"gelu", Activation::kGelu},
                                                                    {"gelu_python", Activation::kGelu},
                                                                    {"relu", Activation::kRelu},
                                                                    {"gelu_new", Activation::kGeluTanh},
                                                                    {"gelu_pytorch_tanh", Activation::kGeluTanh},
                                                                    {"gelu_fast", Activation::kGeluTanh},
                                                                    {"silu", Activation::kSilu},
                                                                    {"swish", Activation::kSilu},
                                                                    {"gelu_accurate", Activation::kGeluTanh},
                                                                    {"gelu_python_tanh", Activation::kGeluTanh},
                                                                    {"tanh", Activation::kTanh},
                                                                    {"sigmoid", Activation::kSigmoid},
                                                                    {"linear", Activation::kNone}};

// rope's rope_theta, or the config's under key.
double base_of(Fields& config, Fields& rope, const char* key, double fallback) {
  return rope.has("rope_theta") ? rope.number_or("rope_theta", fallback, kMostTheta) : config.number_or(key, fallback, kMostTheta);
}

void read_llama3(Fields& config, Fields& rope, RopeScaling& out) {
  constexpr double kMostFactor = 1e6;
  for (const auto& [key, factor] :
       {std::pair("low_freq_factor", &out.low_freq_factor), std::pair("high_freq_factor", &out.high_freq_factor)}) {
    if (!rope.has(key)) rope.mismatch(key, "a number");
    *factor = rope.number_or(key, 1, kMostFactor);
  }
  if (out.high_freq_factor <= out.low_freq_factor) rope.mismatch("high_freq_factor", "a number above low_freq_factor");
  constexpr const char* kOld = "original_max_position_embeddings";
  out.original_max_position_embeddings = static_cast<double>(
      rope.has(kOld) ? rope.size(kOld, kMostPositions) : config.size("max_position_embeddings", kMostPositions));
}

}  // namespace

void read_sizes(Fields& config, const SizeKeys& keys, TransformerConfig& out) {
  const auto read = [&](const char* key, std::int64_t most, std::int64_t& size) {
    if (key) size = config.size(key, most);
  };
  read(keys.vocab_size, 1 << 24, out.vocab_size);
  read(keys.hidden_size, kMostWidth, out.hidden_size);
  read(keys.num_hidden_layers, 1 << 12, out.num_hidden_layers);
  read(keys.num_attention_heads, kMostHeads, out.num_attention_heads);
  read(keys.intermediate_size, kMostFfn, out.intermediate_size);
  read(keys.max_position_embeddings, kMostPositions, out.max_position_embeddings);
  if (config.ok() && out.head_dim == 0 && out.hidden_size % out.num_attention_heads != 0) {
    config.mismatch(keys.num_attention_heads,
                    "a divisor of " + std::string(keys.hidden_size) + " " + std::to_string(out.hidden_size));
  }
}

void read_kv_heads(Fields& config, TransformerConfig& out) {
  out.num_key_value_heads = config.size_or("num_key_value_heads", kMostHeads, out.num_attention_heads);
  if (config.ok() && out.num_attention_heads % out.num_key_value_heads != 0) {
    config.mismatch("num_key_value_heads", "a divisor of num_attention_heads " + std::to_string(out.num_attention_heads));
  }
}

void read_type_vocab_size(Fields& config, TransformerConfig& out) {
  out.type_vocab_size = config.integer_or("type_vocab_size", 0, 0, 1 << 12);
}

void read_epsilon(Fields& config, const char* key, double fallback, TransformerConfig& out) {
  const double epsilon = config.take(config[key].as_number_or(fallback));
  if (!(epsilon >= 0 && epsilon < 1)) config.mismatch(key, "a number from 0 to 1");
  out.norm_eps = static_cast<float>(epsilon);
}

Activation find_activation(Fields& config, const char* key, std::string_view word) {
  std::string known;
  const auto is = [&](std::string_view name) {
    if (!name.empty()) known += (known.empty() ? "\"" : ", \"") + std::string(name) + "\"";
    return name == word && !name.empty();
  };
  for (const auto& [name, activation] : kActivations) {
    if (is(name)) return activation;
  }
  for (const NamedActivation& more : more_activations()) {
    if (is(more.name)) return more.activation;
  }
  config.unsupported(key, "one of " + known);
  return Activation::kNone;
}

Activation read_activation(Fields& config, const char* key) {
  const std::string_view word = config.string(key);
  return config.ok() ? find_activation(config, key, word) : Activation::kNone;
}

void reject_switches(Fields& config) {
  config.expect("add_cross_attention", false);
  config.absent("pruned_heads");
  config.absent("quantization_config");
}

void reject_decoder(Fields& config) {
  config.expect("is_decoder", false);
  reject_switches(config);
}

void reject_foreign(Fields& config, std::initializer_list<std::string_view> own) {
  config.expect("is_encoder_decoder", false);
  reject_switches(config);
  for (const auto& [key, neutral] : kForeignKeys) {
    if (std::find(own.begin(), own.end(), key) != own.end()) continue;
    const JsonRef value = config[key];
    if (value.is_bool() && !value.as_bool().value()) continue;
    if (value.is_number() && value.as_number().value() == neutral) continue;
    config.absent(key);
  }
}

void read_bert_like(Fields& config, TransformerConfig& out) {
  reject_decoder(config);
  read_sizes(config, {}, out);
  read_epsilon(config, "layer_norm_eps", 1e-12, out);
  out.hidden_act = read_activation(config, "hidden_act");
}

double read_theta(Fields& config, JsonRef rope, const char* key, double fallback) {
  if (rope.is_null()) return config.number_or(key, fallback, kMostTheta);
  Fields parameters(rope);
  parameters.expect("rope_type", "default");
  parameters.expect(kPartial, 1);
  const double theta = base_of(config, parameters, key, fallback);
  config.fail(parameters.error());
  return theta;
}

RopeScaling read_rope(Fields& config, double theta, const PartialRotary& part) {
  return read_rope_of(config, config.has("rope_parameters") ? config["rope_parameters"] : config["rope_scaling"], theta, part);
}

RopeScaling read_rope_of(Fields& config, JsonRef either, double theta, const PartialRotary& part) {
  using Type = RopeScaling::Type;
  // "dynamic" changes nothing up to max_position_embeddings.
  constexpr std::pair<std::string_view, Type> kTypes[] = {
      {"default", Type::kDefault}, {"dynamic", Type::kDefault}, {"linear", Type::kLinear}, {"llama3", Type::kLlama3}};
  RopeScaling out;
  if (part.key) out.partial_rotary_factor = config.number_or(part.key, part.factor, 1);
  if (either.is_null()) {
    out.theta = config.number_or("rope_theta", theta, kMostTheta);
    return out;
  }
  Fields rope(either);
  out.theta = base_of(config, rope, "rope_theta", theta);
  if (!part.key) rope.expect(kPartial, 1);
  if (part.key) out.partial_rotary_factor = rope.number_or(kPartial, out.partial_rotary_factor, 1);
  if (const auto* more = Part<MoreRopeTypes>::get(); more && more->read(config, rope, out)) {
    config.fail(rope.error());
    return out;
  }
  out.type = rope.choice(rope.has("rope_type") ? "rope_type" : "type", kTypes, "default");
  if (out.type != Type::kDefault) {
    if (!rope.has("factor")) rope.mismatch("factor", "a number");
    out.factor = rope.number_or("factor", 1, 1e6);
  }
  if (out.type == Type::kLlama3) read_llama3(config, rope, out);
  config.fail(rope.error());
  return out;
}

void read_local_layers(Fields& config, const std::function<bool(std::int64_t)>& is_local, TransformerConfig& out) {
  const JsonRef types = config["layer_types"];
  if (!types.is_null() && types.size() != static_cast<std::size_t>(out.num_hidden_layers)) {
    config.mismatch("layer_types", "one word for each of " + std::to_string(out.num_hidden_layers) + " layers");
  }
  for (std::int64_t i = 0; config.ok() && i < out.num_hidden_layers; ++i) {
    if (types.is_null()) {
      out.local_layers.push_back(is_local(i));
      continue;
    }
    const JsonRef type = types[static_cast<std::size_t>(i)];
    const std::string_view name = config.take(type.as_string());
    const bool local = name == "sliding_attention";
    if (!local && name != "full_attention") config.fail(type.mismatch("\"full_attention\" or \"sliding_attention\""));
    out.local_layers.push_back(local);
  }
}

void read_sliding_window(Fields& config, bool used, std::int64_t first_layer, TransformerConfig& out) {
  if (!used || !config.has("sliding_window")) return;
  out.local_window = config.size("sliding_window", std::int64_t{1} << 30) - (out.causal ? 1 : 0);
  read_local_layers(config, [&](std::int64_t layer) { return layer >= first_layer; }, out);
}

}  // namespace wattn
