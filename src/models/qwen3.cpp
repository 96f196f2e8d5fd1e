// Qwen3, arXiv 2505.09388; transformers/models/qwen3/modeling_qwen3.py (v5.23.0). Differences from Llama: RMSNorm of each head of
// queries and keys before the rotation; head_dim is independent of hidden_size; upper layers may be limited to a sliding window.
#include "models/llama.h"

namespace wattn {
namespace {

void parse_config(Fields& config, ModelConfig& out) {
  TransformerConfig& decoder = out.transformer;
  parse_llama(config, decoder);
  decoder.query_key_norm = true;
  decoder.biases.qkv = decoder.biases.attention_output = config.boolean_or("attention_bias", false);
  read_sliding_window(config, config.boolean_or("use_sliding_window", false),
                      config.integer_or("max_window_layers", 28, 0, 1 << 12), decoder);
}

}  // namespace

extern const Arch kQwen3 =
    llama_arch("qwen3", parse_config, "qwen3",
               R"("vocab_size": 151936, "intermediate_size": 22016, "num_key_value_heads": 32, "head_dim": 128, )"
               R"("max_position_embeddings": 32768, "sliding_window": 4096)");

}  // namespace wattn
