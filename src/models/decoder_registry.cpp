// The decoder architectures there are. Adding one: its file, a declaration and a line here.
#include "models/decoder_arch.h"

namespace wattn {

extern const DecoderArch kBart;
extern const DecoderArch kGpt2;
extern const DecoderArch kLlama;
extern const DecoderArch kMarian;
extern const DecoderArch kMistral;
extern const DecoderArch kQwen2;
extern const DecoderArch kQwen3;
extern const DecoderArch kT5;

namespace {

const DecoderArch* const kDecoders[] = {&kBart, &kGpt2, &kLlama, &kMarian, &kMistral, &kQwen2, &kQwen3, &kT5};

// The one whose field is name; else what there is, for a message.
const DecoderArch* find(std::string_view name, const char* DecoderArch::* field, std::string& known) {
  for (const DecoderArch* arch : kDecoders) {
    if (!(arch->*field)) continue;
    if (name == arch->*field) return arch;
    known += (known.empty() ? "\"" : ", \"") + std::string(arch->*field) + "\"";
  }
  return nullptr;
}

}  // namespace

Result<const DecoderArch*> find_decoder_arch(JsonRef config) {
  if (!config.is_object()) return config.mismatch("an object");
  const auto model_type = config["model_type"].as_string();
  if (!model_type.ok()) return model_type.error();
  std::string known;
  if (const DecoderArch* arch = find(model_type.value(), &DecoderArch::model_type, known)) return arch;
  return unsupported_error(config["model_type"].where() + ": expected one of " + known + " (for generating text), found " +
                           config["model_type"].describe());
}

Result<const DecoderArch*> find_gguf_decoder(std::string_view architecture) {
  std::string known;
  if (const DecoderArch* arch = find(architecture, &DecoderArch::gguf_architecture, known)) return arch;
  return unsupported_error("general.architecture: expected one of " + known + " (for generating text), found " +
                           shown_text(architecture));
}

}  // namespace wattn
