// EXAONE 4, arXiv 2507.11407; transformers/models/exaone4/modeling_exaone4.py (v5.24.0). Differences from Llama: norms of what
// attention and feed-forward add, none of what they read; RMSNorm of each head of queries and keys; where some layers are limited
// to a window, the others have no positions.
#include "models/llama.h"

namespace wattn {
namespace {

void parse_config(Fields& config, ModelConfig& out) {
  TransformerConfig& decoder = out.transformer;
  parse_llama(config, decoder);
  read_epsilon(config, "rms_norm_eps", 1e-5, decoder);
  decoder.input_norms = false;
  decoder.output_norms = decoder.query_key_norm = true;
  if (!config.ok() || !config.has("sliding_window")) return;
  decoder.local_window = config.size("sliding_window", std::int64_t{1} << 30) - (decoder.causal ? 1 : 0);
  const std::int64_t pattern = config.size_or("sliding_window_pattern", 1 << 12, 4);
  read_local_layers(config, [&](std::int64_t layer) { return (layer + 1) % pattern != 0; }, decoder);
  decoder.rotary_layers = decoder.local_layers;
}

constexpr Arch arch() {
  Arch arch = llama_arch("exaone4", parse_config, nullptr,
                         R"("vocab_size": 102400, "intermediate_size": 16384, "num_key_value_heads": 32, )"
                         R"("max_position_embeddings": 2048, "sliding_window": 4096)");
  arch.names.attention_norm = arch.names.ffn_norm = nullptr;
  arch.names.attention_output_norm = "layers.{}.post_attention_layernorm";
  arch.names.ffn_output_norm = "layers.{}.post_feedforward_layernorm";
  return arch;
}

}  // namespace

extern const Arch kExaone4 = arch();

}  // namespace wattn
