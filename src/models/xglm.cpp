// XGLM, arXiv 2112.10668; transformers/models/xglm/modeling_xglm.py (v5.24.0). Differences from OPT: fairseq's sinusoidal
// positions and scaled word embeddings, as in M2M-100's decoder.
#include <cmath>

#include "models/arch.h"
#include "models/config_fields.h"

namespace wattn {
namespace {

void parse_config(Fields& config, ModelConfig& out) {
  TransformerConfig& decoder = out.transformer;
  reject_foreign(config);
  config.expect("add_cross_attention", false);
  const auto either = [&](const char* own, const char* usual) { return config.has(own) ? own : usual; };
  read_sizes(config,
             {.hidden_size = either("hidden_size", "d_model"),
              .num_hidden_layers = either("num_hidden_layers", "num_layers"),
              .num_attention_heads = either("num_attention_heads", "attention_heads"),
              .intermediate_size = "ffn_dim"},
             decoder);
  decoder.hidden_act = read_activation(config, "activation_function");
  decoder.norm_eps = 1e-5f;
  if (config.boolean_or("scale_embedding", true))
    decoder.embedding_scale = static_cast<float>(std::sqrt(static_cast<double>(decoder.hidden_size)));
  decoder.causal = config.boolean_or("is_causal", true);
  decoder.norm_placement = NormPlacement::kPre;
  decoder.embeddings_norm = false;
  decoder.fairseq_positions = true;
  decoder.padding_idx = config.integer_or("pad_token_id", 1, 0, 1);
  decoder.position_offset = 2;
  decoder.lm_head = true;
  decoder.tie_word_embeddings = config.boolean_or("tie_word_embeddings", true);
}

constexpr const char* kIgnored[] = {"lm_head.*", "embed_positions.*"};

}  // namespace

extern const Arch kXglm = {
    .model_type = "xglm",
    .base_prefix = "model.",
    .parse_config = parse_config,
    .names = {.word_embeddings = "embed_tokens",
              .query = "layers.{}.self_attn.q_proj",
              .key = "layers.{}.self_attn.k_proj",
              .value = "layers.{}.self_attn.v_proj",
              .attention_output = "layers.{}.self_attn.out_proj",
              .attention_norm = "layers.{}.self_attn_layer_norm",
              .up = "layers.{}.fc1",
              .down = "layers.{}.fc2",
              .ffn_norm = "layers.{}.final_layer_norm",
              .final_norm = "layer_norm"},
    .ignored = kIgnored,
    .defaults = {R"("vocab_size": 256008, "d_model": 1024, "num_layers": 24, "ffn_dim": 4096, "attention_heads": 16, )"
                 R"("max_position_embeddings": 2048, "activation_function": "gelu")"},
};

}  // namespace wattn
