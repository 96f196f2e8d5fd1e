// Qwen2 and Qwen2.5, arXiv 2407.10671 and 2412.15115; transformers/models/qwen2/modeling_qwen2.py (v5.23.0). Differences from
// Llama: queries, keys and values have biases; upper layers may be limited to a sliding window.
#include "models/llama.h"

namespace wattn {
namespace {

void parse_config(Fields& config, ModelConfig& out) {
  parse_llama(config, out.transformer);
  out.transformer.biases.qkv = true;
  read_sliding_window(config, config.boolean_or("use_sliding_window", false),
                      config.integer_or("max_window_layers", 28, 0, 1 << 12), out.transformer);
}

}  // namespace

extern const Arch kQwen2 = llama_arch("qwen2", parse_config, "qwen2",
                                      R"("vocab_size": 151936, "intermediate_size": 22016, "num_key_value_heads": 32, )"
                                      R"("max_position_embeddings": 32768, "sliding_window": 4096)");

}  // namespace wattn
