// Qwen3, arXiv 2505.09388; transformers/models/qwen3/modeling_qwen3.py (v5.23.0). Against Llama: queries and keys pass an RMSNorm
// of each head before their positions; a head's width is its own; upper layers may see a window only.
#include "models/decoder_arch.h"

namespace wattn {
namespace {

Result<DecoderConfig> parse_config(JsonRef config) {
  auto decoder = parse_llama_like(config);
  if (!decoder.ok()) return decoder;
  if (!config["head_dim"].exists()) return config["head_dim"].mismatch("a number (transformers would take 128)");
  decoder.value().query_key_norm = true;
  const auto bias = config["attention_bias"].as_bool_or(false);
  if (!bias.ok()) return bias.error();
  decoder.value().biases = {.qkv = bias.value(), .attention_output = bias.value()};
  const auto windows = config["use_sliding_window"].as_bool_or(false);
  if (!windows.ok()) return windows.error();
  const auto first = config["max_window_layers"].as_int_or(28);
  if (!first.ok()) return first.error();
  if (auto e = read_windows(config, windows.value(), first.value(), decoder.value()); !e.ok()) return e.error();
  return decoder;
}

}  // namespace

extern const DecoderArch kQwen3;
const DecoderArch kQwen3 = {
    .model_type = "qwen3",
    .base_prefix = "model.",
    .gguf_architecture = "qwen3",
    .parse_config = parse_config,
    .names = kLlamaNames,
    .ignored = kLlamaIgnored,
    .gguf_names = kLlamaGgufNames,
    .gguf_fields = kLlamaGgufFields,
    .gguf_rest = R"("hidden_act": "silu")",
};

}  // namespace wattn
