// Mistral, arXiv 2310.06825; transformers/models/mistral/modeling_mistral.py (v5.23.0). Differences from Llama: every layer
// attends to only the last sliding_window tokens; no biases. Its GGUF architecture is llama. Ministral
// (ministral/modeling_ministral.py, v5.24.0): only some layers have a window. Ministral 3 (ministral3/modeling_ministral3.py,
// v5.24.0): YaRN. It scales queries from original_max_position_embeddings on, which is the limit of a text's length here.
#include <algorithm>

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

void parse_ministral3(Fields& config, ModelConfig& out) {
  parse_llama(config, out.transformer);
  read_sliding_window(config, true, 0, out.transformer);
  if (!config.has("rope_parameters")) return;
  Fields rope(config["rope_parameters"]);
  if (rope.has("llama_4_scaling_beta")) {
    std::int64_t& most = out.transformer.max_position_embeddings;
    most = std::min(most, rope.size("original_max_position_embeddings", kMostPositions));
  }
  config.fail(rope.error());
}

constexpr const char* kDefaults =
    R"("vocab_size": 32000, "intermediate_size": 14336, "num_key_value_heads": 8, "max_position_embeddings": 131072, )"
    R"("sliding_window": 4096)";

constexpr Arch ministral3() {
  Arch arch = llama_arch("ministral3", parse_ministral3, nullptr,
                         R"("vocab_size": 131072, "intermediate_size": 14336, "num_hidden_layers": 34, "num_key_value_heads": 8, )"
                         R"("head_dim": 128, "max_position_embeddings": 262144, "rms_norm_eps": 1e-5, "rope_parameters": {)"
                         R"("type": "yarn", "rope_theta": 1000000, "factor": 16, "original_max_position_embeddings": 16384, )"
                         R"("beta_fast": 32, "beta_slow": 1, "mscale_all_dim": 1, "mscale": 1, "llama_4_scaling_beta": 0.1})");
  return arch;
}

}  // namespace

extern const Arch kMistral = llama_arch("mistral", parse_config, nullptr, kDefaults);
extern const Arch kMinistral3 = ministral3();
extern const Arch kMinistral = llama_arch("ministral", parse_ministral, nullptr, kDefaults);

}  // namespace wattn
