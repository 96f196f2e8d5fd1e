// Arch: an architecture as data. One file each (bert.cpp, ...), listed in registry.cpp.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"
#include "models/encoder.h"

namespace wattn {

// A weight's name in GGUF files and in the checkpoint; a "{}" in both stands for the layer's number.
struct GgufName {
  const char* gguf;
  const char* canonical;
};

struct Arch {
  const char* model_type;   // of config.json
  const char* base_prefix;  // that task checkpoints put before the encoder's names: "bert."; or model_type and a dot
  Result<EncoderConfig> (*parse_config)(JsonRef config);
  EncoderNames names;
  std::span<const char* const> ignored;  // tensors that may be there and are not the encoder's: heads, buffers; '*' ends a prefix
  std::span<const GgufName> gguf_names{};
  // Of several with one model_type: only where the config has this key with this string. They come first in the registry.
  const char* only_key = nullptr;
  const char* only_value = nullptr;
};

// The architecture of a config.json, by its model_type; an UnsupportedError names the ones there are.
Result<const Arch*> find_arch(JsonRef config);

// One name for each tensor: without a prefix, and ".gamma"/".beta" (checkpoints that came from TensorFlow) as
// ".weight"/".bias".
std::string canonical_weight_name(const Arch& arch, std::string_view name);

// The canonical name of a GGUF file's tensor; a name that is in no table as it is.
std::string canonical_gguf_name(std::span<const GgufName> names, std::string_view name);

// Helpers for parse_config.
// Where one size of an EncoderConfig stands in the config. fallback: what an absent key means; 0: it must be there.
struct ConfigSize {
  const char* key;
  std::int64_t EncoderConfig::* field;
  std::int64_t fallback = 0;
};
// vocab_size, hidden_size, ... as BERT calls them, without type_vocab_size.
extern const std::span<const ConfigSize> kUsualSizes;
// Reads sizes, none below 1 and none beyond what any model has, and refuses heads that do not divide the width.
Result<void> read_sizes(JsonRef config, std::span<const ConfigSize> sizes, EncoderConfig& out);
// type_vocab_size, which may be 0.
Result<void> read_type_vocab_size(JsonRef config, EncoderConfig& out);
// A number in (0, most]; fallback for an absent one.
Result<double> config_number(JsonRef config, std::string_view key, double fallback, double most);
// layer_norm_eps, or whatever it is called.
Result<void> read_epsilon(JsonRef config, std::string_view key, double fallback, EncoderConfig& out);
// The base of rotary angles: rope's (an entry of rope_parameters, whose rope_type must be the default), else config[key].
Result<double> read_theta(JsonRef rope, JsonRef config, std::string_view key, double fallback);
// An UnsupportedError unless config[key] is absent, null or this number.
Result<void> expect_int(JsonRef config, std::string_view key, std::int64_t only);
// What a config of any architecture may ask for and this encoder does not do: decoders, pruned heads, quantised weights.
Result<void> refuse_switches(JsonRef config);
// A size in [1, limit].
Result<std::int64_t> config_size(JsonRef config, std::string_view key, std::int64_t limit);
// What BERT's config has but token types: refuse_switches, sizes, layer_norm_eps, hidden_act.
Result<EncoderConfig> parse_usual_config(JsonRef config);
// hidden_act by the names of transformers' ACT2FN.
Result<Activation> config_activation(JsonRef config, std::string_view key);
Result<void> read_activation(JsonRef config, std::string_view key, EncoderConfig& out);
// An UnsupportedError unless config[key] is absent, null or this value.
Result<void> expect_string(JsonRef config, std::string_view key, std::string_view only);
Result<void> expect_bool(JsonRef config, std::string_view key, bool only);
Result<void> expect_absent(JsonRef config, std::string_view key);

}  // namespace wattn
