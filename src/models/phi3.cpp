// Phi-3, arXiv 2404.14219; transformers/models/phi3/modeling_phi3.py (v5.23.0). Differences from Llama: one matrix for query, key
// and value, and one for gate and up; every layer may be limited to a sliding window; longrope; a part of each head may not rotate
// (Phi-4-mini).
#include "models/llama.h"

namespace wattn {
namespace {

void parse_config(Fields& config, ModelConfig& out) {
  constexpr const char* kPart = "partial_rotary_factor";
  parse_llama(config, out.transformer, {.own = {kPart}, .part = {.key = kPart}});
  read_sliding_window(config, true, 0, out.transformer);
}

constexpr Arch arch() {
  Arch arch = llama_arch("phi3", parse_config, nullptr,
                         R"("vocab_size": 32064, "hidden_size": 3072, "intermediate_size": 8192, "max_position_embeddings": 4096, )"
                         R"("original_max_position_embeddings": 4096, "rms_norm_eps": 1e-5)");
  TransformerNames& names = arch.names;
  names.query_key_value = "layers.{}.self_attn.qkv_proj";
  names.gate_up = "layers.{}.mlp.gate_up_proj";
  names.query = names.key = names.value = names.gate = names.up = nullptr;
  return arch;
}

}  // namespace

extern const Arch kPhi3 = arch();

}  // namespace wattn
