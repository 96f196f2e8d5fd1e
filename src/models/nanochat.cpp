// nanochat (Karpathy); transformers/models/nanochat/modeling_nanochat.py (v5.24.0). Differences from Llama: norms have no weights,
// and one follows the embeddings. RMSNorm of each head of queries and keys, after a rotation in the opposite direction. The
// feed-forward is ungated. The logits have a soft cap.
#include "core/real_math.h"
#include "models/llama.h"

namespace wattn {
namespace {

float backward_frequency(const RopeScaling& scaling, std::int64_t j, std::int64_t head_dim) {
  return -1 / static_cast<float>(pow64(scaling.theta, static_cast<float>(2 * j) / static_cast<float>(head_dim)));
}

void parse_config(Fields& config, ModelConfig& out) {
  constexpr const char* kCap = "final_logit_softcapping";
  TransformerConfig& decoder = out.transformer;
  parse_llama(config, decoder, {.own = {kCap}});
  if (decoder.rope.type != RopeScaling::Type::kDefault || decoder.rope.frequency) {
    config.unsupported("rope_parameters", "a rope_type of \"default\"");
  }
  decoder.rope.frequency = backward_frequency;
  decoder.embeddings_norm = true;
  decoder.learned_norms = false;
  decoder.query_key_norm = decoder.query_key_norm_last = true;
  decoder.feed_forward = FeedForward::kPlain;
  decoder.biases.qkv = decoder.biases.attention_output = config.boolean_or("attention_bias", false);
  const bool uncapped = config[kCap].exists() && config[kCap].is_null();
  decoder.final_logit_softcapping = uncapped ? 0 : static_cast<float>(config.number_or(kCap, 15, 1e6));
}

constexpr Arch arch() {
  Arch arch = llama_arch("nanochat", parse_config, nullptr,
                         R"("vocab_size": 50304, "hidden_size": 768, "intermediate_size": 8192, "num_hidden_layers": 12, )"
                         R"("num_attention_heads": 6, "hidden_act": "relu2", "max_position_embeddings": 2048)");
  TransformerNames& names = arch.names;
  names.embeddings_norm = names.attention_norm = names.ffn_norm = names.final_norm = names.query_norm = names.key_norm = "";
  names.gate = nullptr;
  names.up = "layers.{}.mlp.fc1";
  names.down = "layers.{}.mlp.fc2";
  arch.heads = {};
  return arch;
}

}  // namespace

extern const Arch kNanoChat = arch();

}  // namespace wattn
