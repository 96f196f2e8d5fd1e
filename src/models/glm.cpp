// GLM-4 and GLM-Edge; transformers/models/glm/modeling_glm.py and glm4/modeling_glm4.py (v5.24.0). Differences from Llama: half of
// each head rotates, in pairs of neighbours; biases of query, key and value; gate and up in one matrix. GLM-4-0414 ("glm4") also
// has norms of the outputs of attention and feed-forward.
#include "models/llama.h"

namespace wattn {
namespace {

void parse_glm(Fields& config, ModelConfig& out) {
  TransformerConfig& decoder = out.transformer;
  parse_llama(config, decoder, {.own = {"partial_rotary_factor"}, .part = {.key = "partial_rotary_factor", .factor = 0.5}});
  decoder.rope.interleaved = true;
  decoder.biases.qkv = config.boolean_or("attention_bias", true);
}

void parse_glm4(Fields& config, ModelConfig& out) {
  parse_glm(config, out);
  out.transformer.output_norms = true;
}

constexpr Arch arch(const char* model_type, void (*parse_config)(Fields&, ModelConfig&)) {
  Arch arch = llama_arch(model_type, parse_config, nullptr,
                         R"("vocab_size": 151552, "intermediate_size": 13696, "num_hidden_layers": 40, "num_key_value_heads": 2, )"
                         R"("head_dim": 128, "max_position_embeddings": 131072, "rms_norm_eps": 1.5625e-07)");
  arch.names.gate = arch.names.up = nullptr;
  arch.names.gate_up = "layers.{}.mlp.gate_up_proj";
  arch.heads.answer = {};
  return arch;
}

constexpr Arch glm4() {
  Arch out = arch("glm4", parse_glm4);
  out.names.attention_output_norm = "layers.{}.post_self_attn_layernorm";
  out.names.ffn_output_norm = "layers.{}.post_mlp_layernorm";
  return out;
}

}  // namespace

extern const Arch kGlm = arch("glm", parse_glm);
extern const Arch kGlm4 = glm4();

}  // namespace wattn
