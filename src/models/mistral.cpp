// Mistral, arXiv 2310.06825; transformers/models/mistral/modeling_mistral.py (v5.23.0). Against Llama: every layer sees the last
// sliding_window tokens only; no biases. In GGUF it is called llama.
#include "models/decoder_arch.h"

namespace wattn {
namespace {

Result<DecoderConfig> parse_config(JsonRef config) {
  auto decoder = parse_llama_like(config);
  if (!decoder.ok()) return decoder;
  if (!config["sliding_window"].exists()) {
    return config["sliding_window"].mismatch("a number, or null for none (transformers would take 4096)");
  }
  if (auto e = expect_absent(config, "layer_types"); !e.ok()) return e.error();
  if (auto e = read_windows(config, true, 0, decoder.value()); !e.ok()) return e.error();
  return decoder;
}

}  // namespace

extern const DecoderArch kMistral;
const DecoderArch kMistral = {
    .model_type = "mistral",
    .base_prefix = "model.",
    .gguf_architecture = nullptr,
    .parse_config = parse_config,
    .names = kLlamaNames,
    .ignored = kLlamaIgnored,
};

}  // namespace wattn
