// SmolLM3; transformers/models/smollm3/modeling_smollm3.py (v5.23.0). Differences from Llama: some layers have no positions (NoPE,
// arXiv 2501.18795), and those may be limited to a sliding window.
#include "models/llama.h"

namespace wattn {
namespace {

// no_rope_layers has 1 for a layer that rotates.
void read_rotary_layers(Fields& config, TransformerConfig& out) {
  constexpr const char* kKey = "no_rope_layers";
  const JsonRef given = config[kKey];
  const std::int64_t interval = config.size_or("no_rope_layer_interval", 1 << 12, 4);
  if (!given.is_null() && (!given.is_array() || given.size() != static_cast<std::size_t>(out.num_hidden_layers))) {
    config.mismatch(kKey, "0 or 1 for each of " + std::to_string(out.num_hidden_layers) + " layers");
  }
  for (std::int64_t i = 0; config.ok() && i < out.num_hidden_layers; ++i) {
    const JsonRef one = given.is_null() ? given : given[static_cast<std::size_t>(i)];
    out.rotary_layers.push_back(given.is_null() ? (i + 1) % interval != 0 : config.take(one.as_int()) != 0);
  }
}

void parse_config(Fields& config, ModelConfig& out) {
  TransformerConfig& decoder = out.transformer;
  parse_llama(config, decoder, {.own = {"no_rope_layers"}, .theta = 2000000});
  decoder.tie_word_embeddings = config.boolean_or("tie_word_embeddings", true);
  decoder.biases.qkv = decoder.biases.attention_output = config.boolean_or("attention_bias", false);
  decoder.biases.up = decoder.biases.down = config.boolean_or("mlp_bias", false);
  read_rotary_layers(config, decoder);
  if (!config.ok() || !config.boolean_or("use_sliding_window", false) || !config.has("sliding_window")) return;
  decoder.local_window = config.size("sliding_window", std::int64_t{1} << 30) - (decoder.causal ? 1 : 0);
  read_local_layers(config, [&](std::int64_t layer) { return !decoder.is_rotary(layer); }, decoder);
}

// llama.cpp's files do not say which layers rotate: three of four.
constexpr Arch arch() {
  Arch arch = llama_arch("smollm3", parse_config, "smollm3",
                         R"("vocab_size": 128256, "hidden_size": 2048, "intermediate_size": 11008, "num_hidden_layers": 36, )"
                         R"("num_attention_heads": 16, "num_key_value_heads": 4, "max_position_embeddings": 32768)");
  arch.names.rope_permuted_in_gguf = true;
  return arch;
}

}  // namespace

extern const Arch kSmolLm3 = arch();

}  // namespace wattn
