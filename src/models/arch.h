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
  const char* base_prefix;  // that task checkpoints put before the encoder's names: "bert."
  Result<EncoderConfig> (*parse_config)(JsonRef config);
  EncoderNames names;
  std::span<const char* const> ignored;  // tensors that may be there and are not the encoder's: heads, buffers; '*' ends a prefix
  std::span<const GgufName> gguf_names{};
};

// The architecture of a config.json, by its model_type; an UnsupportedError names the ones there are.
Result<const Arch*> find_arch(JsonRef config);

// One name for each tensor: without base_prefix, and ".gamma"/".beta" (checkpoints that came from TensorFlow) as
// ".weight"/".bias".
std::string canonical_weight_name(const Arch& arch, std::string_view name);

// The canonical name of a GGUF file's tensor; a name that is in no table as it is.
std::string canonical_gguf_name(const Arch& arch, std::string_view name);

// Helpers for parse_config.
// A size in [1, limit].
Result<std::int64_t> config_size(JsonRef config, std::string_view key, std::int64_t limit);
// hidden_act by the names of transformers' ACT2FN.
Result<Activation> config_activation(JsonRef config, std::string_view key);
// An UnsupportedError unless config[key] is absent, null or this value.
Result<void> expect_string(JsonRef config, std::string_view key, std::string_view only);
Result<void> expect_bool(JsonRef config, std::string_view key, bool only);
Result<void> expect_absent(JsonRef config, std::string_view key);

}  // namespace wattn
