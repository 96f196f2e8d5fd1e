// Granite, arXiv 2408.13359; transformers/models/granite/modeling_granite.py (v5.23.0). Differences from Llama: factors of the
// embeddings, of the scores, of what attention and feed-forward add, and of the logits.
#include "models/llama.h"

namespace wattn {
namespace {

void parse_config(Fields& config, ModelConfig& out) {
  constexpr double kMost = 1e6;
  TransformerConfig& decoder = out.transformer;
  parse_llama(config, decoder, {.own = {"embedding_multiplier", "attention_multiplier", "residual_multiplier", "logits_scaling"}});
  decoder.biases.qkv = decoder.biases.attention_output = config.boolean_or("attention_bias", false);
  decoder.biases.up = decoder.biases.down = config.boolean_or("mlp_bias", false);
  decoder.embedding_scale = static_cast<float>(config.number_or("embedding_multiplier", 1, kMost));
  const double scores = config.number_or("attention_multiplier", 1, kMost);
  decoder.query_pre_attn_scalar = 1 / (scores * scores);
  decoder.residual_multiplier = static_cast<float>(config.number_or("residual_multiplier", 1, kMost));
  decoder.lm_head_scale = static_cast<float>(1 / config.number_or("logits_scaling", 1, kMost));
}

}  // namespace

extern const Arch kGranite = llama_arch("granite", parse_config, nullptr,
                                        R"("vocab_size": 32000, "intermediate_size": 11008, "max_position_embeddings": 2048)");

}  // namespace wattn
