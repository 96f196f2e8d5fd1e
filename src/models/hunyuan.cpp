// Hunyuan (0.5B to 7B); transformers/models/hunyuan_v1_dense/modeling_hunyuan_v1_dense.py (v5.24.0). Difference from Llama: RMSNorm
// of each head of queries and keys, after the rotation.
#include "models/llama.h"

namespace wattn {
namespace {

void parse_config(Fields& config, ModelConfig& out) {
  TransformerConfig& decoder = out.transformer;
  parse_llama(config, decoder);
  read_epsilon(config, "rms_norm_eps", 1e-5, decoder);
  decoder.query_key_norm = decoder.query_key_norm_last = true;
  decoder.biases.qkv = decoder.biases.attention_output = config.boolean_or("attention_bias", false);
}

constexpr Arch arch() {
  Arch arch = llama_arch("hunyuan_v1_dense", parse_config, "hunyuan-dense",
                         R"("vocab_size": 290943, "intermediate_size": 11008, "max_position_embeddings": 2048)");
  arch.names.query_norm = "layers.{}.self_attn.query_layernorm";
  arch.names.key_norm = "layers.{}.self_attn.key_layernorm";
  arch.heads.token = arch.heads.answer = {};
  return arch;
}

}  // namespace

extern const Arch kHunyuan = arch();

}  // namespace wattn
