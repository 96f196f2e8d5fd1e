// EXAONE 3, arXiv 2408.03541: Llama with different names.
// EXAONE 4, arXiv 2507.11407; transformers/models/exaone4/modeling_exaone4.py (v5.24.0). Differences from Llama: norms of the
// outputs of attention and feed-forward, none of their inputs. RMSNorm of each head of queries and keys. Where some layers are
// limited to a window, the others have no positions.
#include "models/llama.h"

namespace wattn {
namespace {

void parse_config(Fields& config, ModelConfig& out) {
  TransformerConfig& decoder = out.transformer;
  parse_llama(config, decoder);
  read_epsilon(config, "rms_norm_eps", 1e-5, decoder);
  decoder.input_norms = false;
  decoder.output_norms = decoder.query_key_norm = true;
  if (!config.ok() || !config.has("sliding_window")) return;
  decoder.local_window = config.size("sliding_window", std::int64_t{1} << 30) - (decoder.causal ? 1 : 0);
  const std::int64_t pattern = config.size_or("sliding_window_pattern", 1 << 12, 4);
  read_local_layers(config, [&](std::int64_t layer) { return (layer + 1) % pattern != 0; }, decoder);
  decoder.rotary_layers = decoder.local_layers;
}

void parse_exaone(Fields& config, ModelConfig& out) {
  TransformerConfig& decoder = out.transformer;
  const auto either = [&](const char* own, const char* usual) { return config.has(own) ? own : usual; };
  reject_foreign(config);
  decoder.head_dim = config.size_or("head_dim", kMostHeads, 0);
  read_sizes(config, {.num_hidden_layers = either("num_layers", "num_hidden_layers")}, decoder);
  read_kv_heads(config, decoder);
  decoder.hidden_act = read_activation(config, either("activation_function", "hidden_act"));
  decoder.rope = read_rope(config, 500000);
  decoder.tie_word_embeddings = config.boolean_or("tie_word_embeddings", false);
  decoder.causal = config.boolean_or("is_causal", true);
  set_llama_layers(decoder);
  read_epsilon(config, either("layer_norm_epsilon", "rms_norm_eps"), 1e-5, decoder);
  decoder.biases.qkv = decoder.biases.attention_output = config.boolean_or("attention_bias", false);
  decoder.biases.up = decoder.biases.down = config.boolean_or("mlp_bias", false);
}

constexpr const char* kExaoneIgnored[] = {"lm_head.*", "score.*", "qa_outputs.*", "rotary.inv_freq",
                                          "h.{}.attn.attention.rotary.inv_freq"};

constexpr Arch exaone() {
  Arch arch = llama_arch("exaone", parse_exaone, "exaone",
                         R"("vocab_size": 102400, "intermediate_size": 14336, "num_key_value_heads": 8, )"
                         R"("max_position_embeddings": 4096)");
  arch.base_prefix = "transformer.";
  arch.ignored = kExaoneIgnored;
  TransformerNames& names = arch.names;
  names.word_embeddings = "wte";
  names.query = "h.{}.attn.attention.q_proj";
  names.key = "h.{}.attn.attention.k_proj";
  names.value = "h.{}.attn.attention.v_proj";
  names.attention_output = "h.{}.attn.attention.out_proj";
  names.attention_norm = "h.{}.ln_1";
  names.gate = "h.{}.mlp.c_fc_0";
  names.up = "h.{}.mlp.c_fc_1";
  names.down = "h.{}.mlp.c_proj";
  names.ffn_norm = "h.{}.ln_2";
  names.final_norm = "ln_f";
  return arch;
}

constexpr Arch arch() {
  Arch arch = llama_arch("exaone4", parse_config, nullptr,
                         R"("vocab_size": 102400, "intermediate_size": 16384, "num_key_value_heads": 32, )"
                         R"("max_position_embeddings": 2048, "sliding_window": 4096)");
  arch.names.attention_norm = arch.names.ffn_norm = nullptr;
  arch.names.attention_output_norm = "layers.{}.post_attention_layernorm";
  arch.names.ffn_output_norm = "layers.{}.post_feedforward_layernorm";
  return arch;
}

}  // namespace

extern const Arch kExaone = exaone();
extern const Arch kExaone4 = arch();

}  // namespace wattn
