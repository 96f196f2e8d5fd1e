// OLMo 2, arXiv 2501.00656; transformers/models/olmo2/modeling_olmo2.py (v5.23.0). Differences from Llama: norms of what attention
// and feed-forward add, none of what they read; RMSNorm of all queries and of all keys of a token, before the rotation.
#include "models/llama.h"

namespace wattn {
namespace {

void parse_config(Fields& config, ModelConfig& out) {
  TransformerConfig& decoder = out.transformer;
  parse_llama(config, decoder);
  read_epsilon(config, "rms_norm_eps", 1e-5, decoder);
  decoder.biases.qkv = decoder.biases.attention_output = config.boolean_or("attention_bias", false);
  decoder.input_norms = false;
  decoder.output_norms = decoder.query_key_norm = decoder.query_key_norm_joined = true;
}

constexpr Arch arch() {
  Arch arch = llama_arch("olmo2", parse_config, nullptr,
                         R"("vocab_size": 50304, "intermediate_size": 11008, "max_position_embeddings": 2048)");
  arch.names.attention_norm = arch.names.ffn_norm = nullptr;
  arch.names.attention_output_norm = "layers.{}.post_attention_layernorm";
  arch.names.ffn_output_norm = "layers.{}.post_feedforward_layernorm";
  return arch;
}

}  // namespace

extern const Arch kOlmo2 = arch();

}  // namespace wattn
