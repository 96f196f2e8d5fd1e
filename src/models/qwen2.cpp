// Qwen2 and Qwen2.5, arXiv 2407.10671 and 2412.15115; transformers/models/qwen2/modeling_qwen2.py (v5.23.0). Against Llama:
// queries, keys and values have biases; upper layers may see a window only.
#include "models/decoder_arch.h"

namespace wattn {
namespace {

Result<DecoderConfig> parse_config(JsonRef config) {
  auto decoder = parse_llama_like(config);
  if (!decoder.ok()) return decoder;
  decoder.value().biases.qkv = true;
  const auto windows = config["use_sliding_window"].as_bool_or(false);
  if (!windows.ok()) return windows.error();
  const auto first = config["max_window_layers"].as_int_or(28);
  if (!first.ok()) return first.error();
  if (auto e = read_windows(config, windows.value(), first.value(), decoder.value()); !e.ok()) return e.error();
  return decoder;
}

}  // namespace

extern const DecoderArch kQwen2;
const DecoderArch kQwen2 = {
    .model_type = "qwen2",
    .base_prefix = "model.",
    .gguf_architecture = "qwen2",
    .parse_config = parse_config,
    .names = kLlamaNames,
    .ignored = kLlamaIgnored,
    .gguf_names = kLlamaGgufNames,
    .gguf_fields = kLlamaGgufFields,
    .gguf_rest = R"("hidden_act": "silu")",
};

}  // namespace wattn
