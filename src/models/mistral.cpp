// Mistral, arXiv 2310.06825; transformers/models/mistral/modeling_mistral.py (v5.23.0). Against Llama: every layer attends to the
// last sliding_window tokens only; no biases. In GGUF it is called llama.
#include "models/llama.h"

namespace wattn {
namespace {

void parse_config(Fields& config, ModelConfig& out) {
  parse_llama(config, out.transformer);
  if (!config["sliding_window"].exists()) {
    config.mismatch("sliding_window", "a number, or null for none (transformers would take 4096)");
  }
  config.absent("layer_types");
  read_sliding_window(config, true, 0, out.transformer);
}

}  // namespace

extern const Arch kMistral;
const Arch kMistral = {
    .model_type = "mistral",
    .base_prefix = "model.",
    .parse_config = parse_config,
    .names = kLlamaNames,
    .ignored = kLlamaIgnored,
    .heads = kLlamaHeads,
};

}  // namespace wattn
