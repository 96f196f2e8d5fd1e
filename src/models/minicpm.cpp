// MiniCPM, arXiv 2404.06395, by the modeling_minicpm.py of openbmb/MiniCPM-2B-sft-bf16, and MobileLLM, arXiv 2402.14905, by that of
// facebook/MobileLLM-125M.
// - MiniCPM: Llama with factors of the embeddings, of the outputs of attention and feed-forward, and of the head's input;
// - MobileLLM: Llama whose head is the word embeddings where share_embedding says so.
#include <cmath>

#include "models/llama.h"

namespace wattn {
namespace {

void parse_minicpm(Fields& config, ModelConfig& out) {
  constexpr double kMost = 1e6;
  TransformerConfig& decoder = out.transformer;
  config.absent("sparse_config");
  parse_llama(config, decoder);
  decoder.biases.qkv = decoder.biases.attention_output = config.boolean_or("attention_bias", false);
  decoder.tie_word_embeddings = config.boolean_or("tie_word_embeddings", true);
  if (!config.ok()) return;
  decoder.embedding_scale = static_cast<float>(config.number_or("scale_emb", 1, kMost));
  const double layers = static_cast<double>(decoder.num_hidden_layers), hidden = static_cast<double>(decoder.hidden_size);
  decoder.residual_multiplier = static_cast<float>(config.number_or("scale_depth", 1, kMost) / std::sqrt(layers));
  decoder.lm_head_scale = static_cast<float>(config.number_or("dim_model_base", 1, kMost) / hidden);
}

void parse_mobilellm(Fields& config, ModelConfig& out) {
  TransformerConfig& decoder = out.transformer;
  config.expect("layer_sharing", false);
  parse_llama(config, decoder);
  decoder.biases.qkv = decoder.biases.attention_output = config.boolean_or("attention_bias", false);
  decoder.biases.up = decoder.biases.down = config.boolean_or("mlp_bias", false);
  if (config.boolean_or("share_embedding", false)) decoder.tie_word_embeddings = true;
}

// llama.cpp has the factors themselves; the head's input is divided by its.
std::string more_of(const GgufKeys& keys) {
  const double layers = keys.number_or("block_count", 1), hidden = keys.number_or("embedding_length", 1);
  return R"("scale_emb": )" + json_text(keys.number_or("embedding_scale", 1)) + R"(, "scale_depth": )" +
         json_text(keys.number_or("residual_scale", 1) * std::sqrt(layers)) + R"(, "dim_model_base": )" +
         json_text(hidden / keys.number_or("logit_scale", 1));
}

constexpr Arch minicpm(Arch arch) {
  arch.names.rope_permuted_in_gguf = true;
  arch.gguf.more = more_of;
  return arch;
}

constexpr Arch without_answers(Arch arch) {
  arch.heads.token = arch.heads.answer = {};
  return arch;
}

constexpr const char* kDefaults = R"("vocab_size": 32000, "intermediate_size": 11008, "max_position_embeddings": 2048)";

}  // namespace

extern const Arch kMiniCpm = minicpm(without_answers(llama_arch("minicpm", parse_minicpm, "minicpm", kDefaults)));
extern const Arch kMobileLlm = without_answers(llama_arch("mobilellm", parse_mobilellm, nullptr, kDefaults));

}  // namespace wattn
