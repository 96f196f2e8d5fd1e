// Command R and R7B, Aya; transformers/models/cohere/modeling_cohere.py and cohere2/modeling_cohere2.py (v5.24.0). Differences from
// Llama: LayerNorm without a bias; attention and feed-forward read the same norm; pairs of neighbours rotate; logits times
// logit_scale. Cohere 2: three of four layers attend to a window, and only these rotate.
#include "models/llama.h"

namespace wattn {
namespace {

void parse_layers(Fields& config, double theta, TransformerConfig& decoder) {
  constexpr double kMostScale = 1e6;
  parse_llama(config, decoder, {.own = {"logit_scale"}, .theta = theta});
  config.expect("use_qk_norm", false);
  read_epsilon(config, "layer_norm_eps", 1e-5, decoder);
  decoder.norm = NormKind::kLayer;
  decoder.residual = Residual::kParallelOneNorm;
  decoder.rope.interleaved = true;
  decoder.biases.qkv = decoder.biases.attention_output = config.boolean_or("attention_bias", false);
  decoder.lm_head_scale = static_cast<float>(config.number_or("logit_scale", 0.0625, kMostScale));
  decoder.tie_word_embeddings = config.boolean_or("tie_word_embeddings", true);
}

void parse_cohere(Fields& config, ModelConfig& out) { parse_layers(config, 500000, out.transformer); }

void parse_cohere2(Fields& config, ModelConfig& out) {
  TransformerConfig& decoder = out.transformer;
  parse_layers(config, 10000, decoder);
  if (!config.ok()) return;
  decoder.local_window = config.size_or("sliding_window", std::int64_t{1} << 30, 4096) - (decoder.causal ? 1 : 0);
  const std::int64_t pattern = config.size_or("sliding_window_pattern", 1 << 12, 4);
  read_local_layers(config, [&](std::int64_t layer) { return (layer + 1) % pattern != 0; }, decoder);
  decoder.rotary_layers = decoder.local_layers;
}

constexpr GgufField kGgufFields[] = {
    {"hidden_size", "embedding_length"},
    {"num_hidden_layers", "block_count"},
    {"num_attention_heads", "attention.head_count"},
    {"num_key_value_heads", "attention.head_count_kv", false},
    {"head_dim", "attention.key_length", false},
    {"intermediate_size", "feed_forward_length"},
    {"max_position_embeddings", "context_length"},
    {"layer_norm_eps", "attention.layer_norm_epsilon"},
    {"rope_theta", "rope.freq_base", false},
    {"logit_scale", "logit_scale"},
    {"sliding_window", "attention.sliding_window", false},
};

constexpr Arch arch(const char* model_type, void (*parse_config)(Fields&, ModelConfig&), const char* gguf) {
  Arch arch = llama_arch(model_type, parse_config, gguf,
                         R"("vocab_size": 256000, "hidden_size": 8192, "intermediate_size": 22528, "num_hidden_layers": 40, )"
                         R"("num_attention_heads": 64, "max_position_embeddings": 8192)");
  arch.names.ffn_norm = nullptr;
  arch.gguf.fields = kGgufFields;
  arch.heads = {};
  return arch;
}

}  // namespace

extern const Arch kCohere = arch("cohere", parse_cohere, "command-r");
extern const Arch kCohere2 = arch("cohere2", parse_cohere2, "cohere2");

}  // namespace wattn
