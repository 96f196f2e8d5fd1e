// Phi-3, arXiv 2404.14219; transformers/models/phi3/modeling_phi3.py (v5.23.0). Differences from Llama: one matrix for query, key
// and value, and one for gate and up. Every layer may be limited to a sliding window. longrope. A part of each head may not rotate
// (Phi-4-mini).
#include "models/llama.h"

namespace wattn {
namespace {

void parse_config(Fields& config, ModelConfig& out) {
  constexpr const char* kPart = "partial_rotary_factor";
  parse_llama(config, out.transformer, {.own = {kPart}, .part = {.key = kPart}});
  read_sliding_window(config, true, 0, out.transformer);
}

// The window is 0 where there is none. The factors of longrope are tensors, read in place of these: those for short texts.
std::string more_of(const GgufKeys& keys) {
  std::string out = partial_rotary(keys, "partial_rotary_factor");
  const double window = keys.number_or("attention.sliding_window", 0);
  if (window > 0) out += R"(, "sliding_window": )" + std::to_string(static_cast<std::int64_t>(window));
  const TensorInfo* factors = keys.find("rope_factors_short.weight");
  if (!factors || factors->shape.size() != 1 || factors->shape[0] > RopeScaling::kMostPairs) return out;
  std::string ones;
  for (std::int64_t i = 0; i < factors->shape[0]; ++i) ones += i > 0 ? ", 1" : "1";
  const double context = keys.number_or("context_length", 1);
  return out + R"(, "original_max_position_embeddings": )" +
         std::to_string(static_cast<std::int64_t>(keys.number_or("rope.scaling.original_context_length", context))) +
         R"(, "rope_scaling": {"type": "longrope", "short_factor": [)" + ones + R"(], "attention_factor": )" +
         json_text(keys.number_or("rope.scaling.attn_factor", 1)) + "}";
}

constexpr const char* kIgnored[] = {"lm_head.*", "score.*", "qa_outputs.*", "rope_factors_long.weight"};

constexpr Arch arch() {
  Arch arch = llama_arch("phi3", parse_config, "phi3",
                         R"("vocab_size": 32064, "hidden_size": 3072, "intermediate_size": 8192, "max_position_embeddings": 4096, )"
                         R"("original_max_position_embeddings": 4096, "rms_norm_eps": 1e-5)");
  arch.gguf.more = more_of;
  arch.ignored = kIgnored;
  TransformerNames& names = arch.names;
  names.query_key_value = "layers.{}.self_attn.qkv_proj";
  names.gate_up = "layers.{}.mlp.gate_up_proj";
  names.query = names.key = names.value = names.gate = names.up = nullptr;
  return arch;
}

}  // namespace

extern const Arch kPhi3 = arch();

}  // namespace wattn
