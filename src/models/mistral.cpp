// Mistral, arXiv 2310.06825; transformers/models/mistral/modeling_mistral.py (v5.23.0). Differences from Llama: every layer attends
// to only the last sliding_window tokens; no biases. Its GGUF architecture is llama. Ministral (ministral/modeling_ministral.py,
// v5.24.0): some layers do.
#include "models/llama.h"

namespace wattn {
namespace {

void parse_config(Fields& config, ModelConfig& out) {
  parse_llama(config, out.transformer);
  config.absent("layer_types");
  read_sliding_window(config, true, 0, out.transformer);
}

void parse_ministral(Fields& config, ModelConfig& out) {
  parse_llama(config, out.transformer);
  read_sliding_window(config, true, 0, out.transformer);
}

constexpr const char* kDefaults =
    R"("vocab_size": 32000, "intermediate_size": 14336, "num_key_value_heads": 8, "max_position_embeddings": 131072, )"
    R"("sliding_window": 4096)";

}  // namespace

extern const Arch kMistral = llama_arch("mistral", parse_config, nullptr, kDefaults);
extern const Arch kMinistral = llama_arch("ministral", parse_ministral, nullptr, kDefaults);

}  // namespace wattn
