// ERNIE 4.5; transformers/models/ernie4_5/modeling_ernie4_5.py (v5.24.0), and Helium,
// transformers/models/helium/modeling_helium.py. Difference from Llama: pairs of neighbours rotate.
#include "models/llama.h"

namespace wattn {
namespace {

void parse_ernie(Fields& config, ModelConfig& out) {
  TransformerConfig& decoder = out.transformer;
  parse_llama(config, decoder, {.theta = 500000});
  read_epsilon(config, "rms_norm_eps", 1e-5, decoder);
  decoder.rope.interleaved = true;
  const bool biases = config.boolean_or("use_bias", false);
  decoder.biases = {.qkv = biases, .attention_output = biases, .up = biases, .down = biases, .norms = false};
  decoder.tie_word_embeddings = config.boolean_or("tie_word_embeddings", true);
}

void parse_helium(Fields& config, ModelConfig& out) {
  TransformerConfig& decoder = out.transformer;
  parse_llama(config, decoder, {.theta = 100000});
  read_epsilon(config, "rms_norm_eps", 1e-8, decoder);
  decoder.rope.interleaved = true;
  decoder.biases.qkv = config.boolean_or("attention_bias", false);
  decoder.biases.up = decoder.biases.down = config.boolean_or("mlp_bias", false);
}

constexpr Arch ernie() {
  Arch arch =
      llama_arch("ernie4_5", parse_ernie, "ernie4_5",
                 R"("vocab_size": 103424, "hidden_size": 1024, "intermediate_size": 3072, "num_hidden_layers": 18, )"
                 R"("num_attention_heads": 16, "num_key_value_heads": 2, "head_dim": 128, "max_position_embeddings": 131072)");
  arch.heads = {};
  return arch;
}

constexpr Arch helium() {
  Arch arch =
      llama_arch("helium", parse_helium, nullptr,
                 R"("vocab_size": 48000, "hidden_size": 2560, "intermediate_size": 7040, "num_hidden_layers": 24, )"
                 R"("num_attention_heads": 20, "num_key_value_heads": 20, "head_dim": 128, "max_position_embeddings": 4096)");
  arch.heads.answer = {};
  return arch;
}

}  // namespace

extern const Arch kErnie45 = ernie();
extern const Arch kHelium = helium();

}  // namespace wattn
