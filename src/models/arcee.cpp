// Arcee's AFM; transformers/models/arcee/modeling_arcee.py (v5.24.0). Difference from Llama: an ungated feed-forward with the
// square of ReLU.
#include "models/llama.h"

namespace wattn {
namespace {

void parse_config(Fields& config, ModelConfig& out) {
  TransformerConfig& decoder = out.transformer;
  parse_llama(config, decoder);
  read_epsilon(config, "rms_norm_eps", 1e-5, decoder);
  decoder.feed_forward = FeedForward::kPlain;
  decoder.biases.qkv = decoder.biases.attention_output = config.boolean_or("attention_bias", false);
  decoder.biases.up = decoder.biases.down = config.boolean_or("mlp_bias", false);
}

constexpr GgufSwitch kGgufSwitches[] = {{"blk.0.attn_q.bias", R"("attention_bias": true)"}};

constexpr Arch arch() {
  Arch arch = llama_arch("arcee", parse_config, "arcee",
                         R"("vocab_size": 32000, "hidden_size": 2560, "intermediate_size": 18432, "hidden_act": "relu2", )"
                         R"("max_position_embeddings": 4096)");
  arch.names.gate = nullptr;
  arch.names.rope_permuted_in_gguf = true;
  arch.gguf.config = R"("hidden_act": "relu2")";
  arch.gguf.switches = kGgufSwitches;
  return arch;
}

}  // namespace

extern const Arch kArcee = arch();

}  // namespace wattn
