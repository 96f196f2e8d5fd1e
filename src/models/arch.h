// Arch: an architecture as data. One file each (bert.cpp, llama.cpp, t5.cpp, ...), listed in registry.cpp. An architecture's name
// occurs in its own file only.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/fields.h"
#include "core/json.h"
#include "models/heads.h"
#include "models/transformer_config.h"

namespace wattn {

// A weight's name in GGUF files and in the checkpoint; a "{}" in both stands for the layer's number.
struct GgufName {
  const char* gguf;
  const char* canonical;
};
// Where a key of config.json stands in GGUF metadata, after "<architecture>.".
struct GgufField {
  const char* field;
  const char* key;
  bool required = true;
  double fallback = 0;  // of one that is not required; 0: the field stays absent
};
// What a tensor's presence says of the config: members of config.json, as JSON without the braces.
struct GgufSwitch {
  const char* tensor;
  const char* present = "";
  const char* absent = "";
};
// How llama.cpp writes the architecture.
struct GgufLayout {
  const char* architecture = nullptr;  // general.architecture; null: there are no such files
  const char* config = "";             // members of config.json that hold for all such files, as JSON without the braces
  std::span<const GgufField> fields{};
  std::span<const GgufName> names{};
  std::span<const GgufSwitch> switches{};
};

struct Arch {
  const char* model_type;   // of config.json
  const char* base_prefix;  // that task checkpoints put before the base model's names: "bert."; or model_type and a dot
  void (*parse_config)(Fields& config, ModelConfig& out);
  TransformerNames names;            // of ModelConfig::transformer
  TransformerNames decoder_names{};  // of ModelConfig::decoder
  // Tensors that may be there and are not used: heads, buffers. '*' ends a prefix, "{}" is as in names.
  std::span<const char* const> ignored{};
  Heads heads{};
  GgufLayout gguf{};
  // Of several with one model_type: only where the config has this key with this string. They come first in the registry.
  const char* only_key = nullptr;
  const char* only_value = nullptr;
};

// The architecture of a config.json, by its model_type; an UnsupportedError names the ones there are.
Result<const Arch*> find_arch(JsonRef config);
// The architecture of a GGUF file's general.architecture; an UnsupportedError names the ones there are.
Result<const Arch*> find_gguf_arch(std::string_view architecture);
// The stacks of a config.json.
Result<ModelConfig> parse_model_config(const Arch& arch, JsonRef config);

// One name for each tensor: without a prefix, and ".gamma"/".beta" (checkpoints that came from TensorFlow) as ".weight"/".bias".
// is_gguf: the name is llama.cpp's; one that is in no table stays as it is.
std::string canonical_weight_name(const Arch& arch, std::string_view name, bool is_gguf);

}  // namespace wattn
