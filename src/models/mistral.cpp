// Mistral, arXiv 2310.06825; transformers/models/mistral/modeling_mistral.py (v5.23.0). Differences from Llama: every layer attends
// to only the last sliding_window tokens; no biases. Its GGUF architecture is llama.
#include "models/llama.h"

namespace wattn {
namespace {

void parse_config(Fields& config, ModelConfig& out) {
  parse_llama(config, out.transformer);
  config.absent("layer_types");
  read_sliding_window(config, true, 0, out.transformer);
}

}  // namespace

extern const Arch kMistral = llama_arch("mistral", parse_config, nullptr,
                                        R"("vocab_size": 32000, "intermediate_size": 14336, "num_key_value_heads": 8, )"
                                        R"("max_position_embeddings": 131072, "sliding_window": 4096)");

}  // namespace wattn
