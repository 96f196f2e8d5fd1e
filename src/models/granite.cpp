// Granite, arXiv 2408.13359, and Granite 4 without Mamba; transformers/models/granite/modeling_granite.py (v5.23.0) and
// granitemoehybrid/modeling_granitemoehybrid.py (v5.24.0). Differences from Llama: factors of the embeddings, of the scores, of
// the outputs of attention and feed-forward, and of the logits.
#include "models/llama.h"

namespace wattn {
namespace {

void read_granite(Fields& config, ModelConfig& out) {
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

void parse_config(Fields& config, ModelConfig& out) {
  config.expect("position_embedding_type", "rope");
  read_granite(config, out);
}

// Its experts and its layers of Mamba are refused.
void parse_hybrid(Fields& config, ModelConfig& out) {
  read_granite(config, out);
  TransformerConfig& decoder = out.transformer;
  config.expect("num_local_experts", 0);
  decoder.intermediate_size = config.size("shared_intermediate_size", kMostFfn);
  config.each(config["layer_types"], [&](JsonRef type) {
    const std::string_view name = config.take(type.as_string());
    if (config.ok() && name != "attention" && name != "full_attention") config.unsupported("layer_types", "only attention layers");
  });
  if (config.ok() && config["layer_types"].size() != static_cast<std::size_t>(decoder.num_hidden_layers)) {
    config.unsupported("layer_types", "only attention layers, a type for each of " + std::to_string(decoder.num_hidden_layers));
  }
  if (config.string_or("position_embedding_type", "nope") == "nope") decoder.relative_positions = RelativePositions::kNone;
}

constexpr Arch hybrid() {
  Arch arch = llama_arch("granitemoehybrid", parse_hybrid, nullptr,
                         R"("vocab_size": 32000, "intermediate_size": 11008, "max_position_embeddings": 2048, )"
                         R"("num_local_experts": 8, "shared_intermediate_size": 1024)");
  arch.names.gate = nullptr;
  arch.names.gate_up = "layers.{}.shared_mlp.input_linear";
  arch.names.down = "layers.{}.shared_mlp.output_linear";
  arch.heads = {};
  return arch;
}

constexpr GgufField kGgufFields[] = {
    {"hidden_size", "embedding_length"},
    {"num_hidden_layers", "block_count"},
    {"num_attention_heads", "attention.head_count"},
    {"num_key_value_heads", "attention.head_count_kv", false},
    {"intermediate_size", "feed_forward_length"},
    {"max_position_embeddings", "context_length"},
    {"rms_norm_eps", "attention.layer_norm_rms_epsilon"},
    {"rope_theta", "rope.freq_base", false},
    {"attention_multiplier", "attention.scale", false},
    {"embedding_multiplier", "embedding_scale", false},
    {"residual_multiplier", "residual_scale", false},
    {"logits_scaling", "logit_scale", false},
};

// llama.cpp's switch for no positions at all.
std::string more_of(const GgufKeys& keys) {
  return keys.number_or("rope.scaling.finetuned", 1) == 0 ? R"("position_embedding_type": "nope")" : "";
}
constexpr GgufSwitch kGgufSwitches[] = {{"blk.0.attn_q.bias", R"("attention_bias": true)"}};

constexpr Arch arch() {
  Arch arch = llama_arch("granite", parse_config, "granite",
                         R"("vocab_size": 32000, "intermediate_size": 11008, "max_position_embeddings": 2048)");
  arch.names.rope_permuted_in_gguf = true;
  arch.gguf.fields = kGgufFields;
  arch.gguf.switches = kGgufSwitches;
  arch.gguf.more = more_of;
  return arch;
}

}  // namespace

extern const Arch kGranite = arch();
extern const Arch kGraniteMoeHybrid = hybrid();

}  // namespace wattn
