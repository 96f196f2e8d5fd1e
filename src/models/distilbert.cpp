// DistilBERT, arXiv 1910.01108; transformers/models/distilbert/modeling_distilbert.py (v5.23.0). Against BERT:
// - no token types, no pooler;
// - other names in config and checkpoint, and the norms' epsilon is 1e-12 whatever the config says.
#include "models/arch.h"

namespace wattn {
namespace {

Result<EncoderConfig> parse_config(JsonRef config) {
  constexpr ConfigSize kSizes[] = {
      {"vocab_size", &EncoderConfig::vocab_size},        {"dim", &EncoderConfig::hidden_size},
      {"n_layers", &EncoderConfig::num_hidden_layers},   {"n_heads", &EncoderConfig::num_attention_heads},
      {"hidden_dim", &EncoderConfig::intermediate_size}, {"max_position_embeddings", &EncoderConfig::max_position_embeddings},
  };
  EncoderConfig encoder;
  if (auto e = refuse_switches(config); !e.ok()) return e.error();
  if (auto e = read_sizes(config, kSizes, encoder); !e.ok()) return e.error();
  if (auto e = read_activation(config, "activation", encoder); !e.ok()) return e.error();
  encoder.layer_norm_eps = 1e-12f;
  encoder.pooler = false;
  return encoder;
}

constexpr const char* kIgnored[] = {
    "embeddings.position_ids", "vocab_transform.*", "vocab_layer_norm.*", "vocab_projector.*",
    "pre_classifier.*",        "classifier.*",      "qa_outputs.*",
};

}  // namespace

extern const Arch kDistilBert;
const Arch kDistilBert = {
    .model_type = "distilbert",
    .base_prefix = "distilbert.",
    .parse_config = parse_config,
    .names = {.word_embeddings = "embeddings.word_embeddings",
              .position_embeddings = "embeddings.position_embeddings",
              .embeddings_norm = "embeddings.LayerNorm",
              .query = "transformer.layer.{}.attention.q_lin",
              .key = "transformer.layer.{}.attention.k_lin",
              .value = "transformer.layer.{}.attention.v_lin",
              .attention_output = "transformer.layer.{}.attention.out_lin",
              .attention_norm = "transformer.layer.{}.sa_layer_norm",
              .intermediate = "transformer.layer.{}.ffn.lin1",
              .output = "transformer.layer.{}.ffn.lin2",
              .output_norm = "transformer.layer.{}.output_layer_norm"},
    .ignored = kIgnored,
};

}  // namespace wattn
