// Llama, arXiv 2302.13971 and 2407.21783, SmolLM and all that share their code; transformers/models/llama/modeling_llama.py
// (v5.23.0): RMSNorm before attention and feed-forward, rotary positions, grouped queries, gated feed-forward. What the others of
// the family differ from.
#include "models/decoder_arch.h"

namespace wattn {
namespace {

Result<DecoderConfig> parse_config(JsonRef config) {
  auto decoder = parse_llama_like(config);
  if (!decoder.ok()) return decoder;
  const auto attention_bias = config["attention_bias"].as_bool_or(false);
  if (!attention_bias.ok()) return attention_bias.error();
  const auto mlp_bias = config["mlp_bias"].as_bool_or(false);
  if (!mlp_bias.ok()) return mlp_bias.error();
  decoder.value().biases = {
      .qkv = attention_bias.value(), .attention_output = attention_bias.value(), .feed_forward = mlp_bias.value()};
  if (auto e = expect_absent(config, "sliding_window"); !e.ok()) return e.error();
  return decoder;
}

constexpr DecoderNames turned(DecoderNames names) {
  names.turned_in_gguf = true;
  return names;
}

}  // namespace

extern const DecoderArch kLlama;
const DecoderArch kLlama = {
    .model_type = "llama",
    .base_prefix = "model.",
    .gguf_architecture = "llama",
    .parse_config = parse_config,
    .names = turned(kLlamaNames),
    .ignored = kLlamaIgnored,
    .gguf_names = kLlamaGgufNames,
    .gguf_fields = kLlamaGgufFields,
    .gguf_rest = R"("hidden_act": "silu")",
};

}  // namespace wattn
