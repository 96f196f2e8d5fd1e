// Arch: an architecture as data. Each has a file (bert.cpp, llama.cpp, t5.cpp, ...), outside of which its name does not occur, and
// a line in registry.cpp or more_archs.cpp.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/fields.h"
#include "core/gguf.h"
#include "core/json.h"
#include "io/safetensors.h"
#include "models/heads.h"
#include "models/transformer_config.h"

namespace wattn {

// A number of config.json and its key in GGUF metadata after "<architecture>.".
struct GgufField {
  const char* field;
  const char* key;
  bool required = true;
  const char* missing = nullptr;  // JSON that stands for a missing key
};
// Members of config.json, as JSON without the braces, that follow from whether a tensor is present.
struct GgufSwitch {
  const char* tensor;
  const char* present = "";
  const char* absent = "";
};
// A file's metadata and tensors, and the numbers of its architecture.
struct GgufKeys {
  const GgufMetadata& metadata;
  const std::vector<TensorInfo>& tensors;
  std::string prefix;  // "<architecture>."

  const TensorInfo* find(std::string_view tensor) const;
  double number_or(std::string_view key, double fallback) const;
};
// A weight's name there and here, without ".weight"; "{}" is the layer.
struct GgufName {
  std::string_view tensor;
  const char* weight;
};
// How llama.cpp writes the architecture. Names of weights follow from TransformerNames (registry.cpp).
struct GgufLayout {
  const char* architecture = nullptr;  // general.architecture; null: llama.cpp does not write it
  const char* config = "";             // members of config.json, as JSON without the braces, that hold for every file
  std::span<const GgufField> fields{};
  std::span<const GgufSwitch> switches{};
  // Members of config.json that follow from several keys; null: none.
  std::string (*more)(const GgufKeys& keys) = nullptr;
  std::span<const GgufName> names{};  // of other weights; they take precedence
};

// only_key of an architecture that llama.cpp names separately and config.json does not; no config.json has this key.
inline constexpr const char* kOnlyInGguf = "only in GGUF";

struct Arch {
  const char* model_type;   // of config.json
  const char* base_prefix;  // of weight names in checkpoints with a head: "bert."; or model_type and a dot
  void (*parse_config)(Fields& config, ModelConfig& out);
  TransformerNames names;            // of ModelConfig::transformer
  TransformerNames decoder_names{};  // of ModelConfig::decoder
  // Tensors that may be present but are unused, beside the buffers of every architecture: heads, buffers. '*' ends a prefix or
  // begins an ending, "{}" is as in names.
  std::span<const char* const> ignored{};
  Heads heads{};
  const char* seq2seq_prefix = "";  // of weight names in an encoder-decoder's checkpoints with a language-model head
  GgufLayout gguf{};
  // Members of config.json, as JSON without the braces: the defaults of transformers' configuration class. The second text takes
  // precedence over the first.
  const char* defaults[2] = {nullptr, nullptr};
  // Where several share a model_type: selected only when the config has this string under this key; null: anything but null and
  // false.
  const char* only_key = nullptr;
  const char* only_value = nullptr;
  const char* part_of = nullptr;  // what names of weights begin after, wherever it is in them; null: nothing
  bool task_loras = false;        // checkpoints may have LoRAs, one for each of config.json's lora_adaptations
};

using ArchName = const char* (*)(const Arch&);  // in one kind of file; null: it has none
// The rarer architectures, and the advice in errors about unsupported ones.
struct MoreArchs {
  std::span<const Arch* const> archs;
  // The end of an error about an unsupported architecture: similar names, and what to use instead (advice.cpp).
  std::string (*advice_on)(std::string_view name, ArchName name_of, std::span<const Arch* const> common);
  // The config.json of the text part of a model that also reads other inputs (text_part.cpp); empty for all other models.
  std::string (*text_part)(JsonRef config);
};
extern const MoreArchs kMoreArchs;

std::string advice_on(std::string_view name, ArchName name_of, std::span<const Arch* const> common);
std::string text_part(JsonRef config);

// By config.json's model_type.
Result<const Arch*> find_arch(JsonRef config);
// By a GGUF file's general.architecture.
Result<const Arch*> find_gguf_arch(std::string_view architecture);
// A config.json with the defaults of its architecture.
Result<Json> read_config_json(std::string_view text);
Result<ModelConfig> parse_model_config(const Arch& arch, JsonRef config);

// Canonical names and patterns of the tensors that a model may have but does not use.
std::vector<std::string> ignored_tensors(const Arch& arch, const ModelConfig& stacks);

// A tensor's name without its prefix, and with ".weight"/".bias" for ".gamma"/".beta" (checkpoints converted from TensorFlow) and
// for what torch.nn.utils.parametrize calls the original.
// is_gguf: translates llama.cpp's name first; unknown names are kept.
std::string canonical_weight_name(const Arch& arch, std::string_view name, bool is_gguf);

}  // namespace wattn
