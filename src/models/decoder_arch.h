// DecoderArch: a decoder architecture as data. One file each (llama.cpp, ...), listed in decoder_registry.cpp.
#pragma once

#include <span>

#include "core/json.h"
#include "models/arch.h"
#include "models/decoder.h"

namespace wattn {

// Where a key of config.json stands in a GGUF file, after "<architecture>.".
struct GgufField {
  const char* field;
  const char* key;
  bool required = true;
};

struct DecoderArch {
  const char* model_type;         // of config.json
  const char* base_prefix;        // that checkpoints put before the decoder's names: "model."
  const char* gguf_architecture;  // general.architecture
  Result<DecoderConfig> (*parse_config)(JsonRef config);
  DecoderNames names;
  std::span<const char* const> ignored{};  // tensors that may be there and are not used: buffers; '*' ends a prefix
  std::span<const GgufName> gguf_names{};
  std::span<const GgufField> gguf_fields{};
};

// The architecture of a config.json, by its model_type; an UnsupportedError names the ones there are.
Result<const DecoderArch*> find_decoder_arch(JsonRef config);
// The architecture of a GGUF file's general.architecture.
Result<const DecoderArch*> find_gguf_decoder(std::string_view architecture);

// What the checkpoint's name is called in DecoderNames.
std::string canonical_decoder_name(const DecoderArch& arch, std::string_view name, bool is_gguf);

// The usual keys of the Llama family: sizes, rms_norm_eps, hidden_act, rope, ties. Leaves biases as they are.
Result<DecoderConfig> parse_llama_like(JsonRef config);
// rope_parameters or rope_scaling and rope_theta: default, linear or llama3.
Result<RopeScaling> read_rope(JsonRef config);

}  // namespace wattn
