// BLOOM, arXiv 2211.05100; transformers/models/bloom/modeling_bloom.py (v5.24.0). Differences from GPT-NeoX: ALiBi (arXiv
// 2108.12409), whose differences between keys are those of distances; a norm of the embeddings; one sum after the other.
#include "models/arch.h"
#include "models/config_fields.h"

namespace wattn {
namespace {

void parse_config(Fields& config, ModelConfig& out) {
  TransformerConfig& decoder = out.transformer;
  reject_foreign(config);
  config.expect("apply_residual_connection_post_layernorm", false);
  const auto either = [&](const char* own, const char* usual) { return config.has(own) ? own : usual; };
  read_sizes(config,
             {.hidden_size = either("n_embed", "hidden_size"),
              .num_hidden_layers = either("num_hidden_layers", "n_layer"),
              .num_attention_heads = either("num_attention_heads", "n_head"),
              .intermediate_size = nullptr,
              .max_position_embeddings = nullptr},
             decoder);
  // There is no limit in the model; seq_length is what it was trained with.
  decoder.max_position_embeddings = config.size_or("seq_length", kMostPositions, 2048);
  decoder.intermediate_size = 4 * decoder.hidden_size;
  read_epsilon(config, "layer_norm_epsilon", 1e-5, decoder);
  decoder.hidden_act = find_activation(config, "hidden_act", "gelu_pytorch_tanh");
  decoder.causal = config.boolean_or("is_causal", true);
  decoder.norm_placement = NormPlacement::kPre;
  decoder.positions = Positions::kNone;
  decoder.relative_positions = RelativePositions::kAlibi;
  decoder.lm_head = true;
  decoder.tie_word_embeddings = config.boolean_or("tie_word_embeddings", true);
}

constexpr const char* kIgnored[] = {"lm_head.*", "score.*", "classifier.*", "qa_outputs.*"};

constexpr GgufField kGgufFields[] = {
    {"hidden_size", "embedding_length"},
    {"n_layer", "block_count"},
    {"n_head", "attention.head_count"},
    {"seq_length", "context_length"},
    {"layer_norm_epsilon", "attention.layer_norm_epsilon"},
};

}  // namespace

extern const Arch kBloom = {
    .model_type = "bloom",
    .base_prefix = "transformer.",
    .parse_config = parse_config,
    .names = {.word_embeddings = "word_embeddings",
              .embeddings_norm = "word_embeddings_layernorm",
              .query_key_value = "h.{}.self_attention.query_key_value",
              .heads_in_turn = true,
              .attention_output = "h.{}.self_attention.dense",
              .attention_norm = "h.{}.input_layernorm",
              .up = "h.{}.mlp.dense_h_to_4h",
              .down = "h.{}.mlp.dense_4h_to_h",
              .ffn_norm = "h.{}.post_attention_layernorm",
              .final_norm = "ln_f"},
    .ignored = kIgnored,
    .heads = {.sequence = {.output = "score", .output_bias = false, .input = HeadInput::kLast},
              .token = {.output = "classifier"},
              .answer = {.output = "qa_outputs"}},
    .gguf = {.architecture = "bloom", .fields = kGgufFields},
    .defaults = {R"("vocab_size": 250880, "hidden_size": 64, "n_layer": 2, "n_head": 8)"},
};

}  // namespace wattn
