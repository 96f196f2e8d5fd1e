// ALBERT, arXiv 1909.11942; transformers/models/albert/modeling_albert.py (v5.23.0). Against BERT:
// - all layers are one;
// - the embedding tables are narrower than the layers, with a matrix behind their norm;
// - GELU by tanh as a rule.
#include "models/arch.h"

namespace wattn {
namespace {

Result<EncoderConfig> parse_config(JsonRef config) {
  if (auto e = expect_string(config, "position_embedding_type", "absolute"); !e.ok()) return e.error();
  for (const char* key : {"num_hidden_groups", "inner_group_num"}) {
    if (auto e = expect_int(config, key, 1); !e.ok()) return e.error();
  }
  auto parsed = parse_usual_config(config);
  if (!parsed.ok()) return parsed;
  EncoderConfig& encoder = parsed.value();
  if (auto e = read_type_vocab_size(config, encoder); !e.ok()) return e.error();
  constexpr ConfigSize kEmbedding[] = {{"embedding_size", &EncoderConfig::embedding_size, 128}};
  if (auto e = read_sizes(config, kEmbedding, encoder); !e.ok()) return e.error();
  encoder.one_layer_for_all = true;
  return parsed;
}

constexpr const char* kIgnored[] = {
    "embeddings.position_ids", "predictions.*", "sop_classifier.*", "classifier.*", "qa_outputs.*",
};

}  // namespace

extern const Arch kAlbert;
const Arch kAlbert = {
    .model_type = "albert",
    .base_prefix = "albert.",
    .parse_config = parse_config,
    .names = {.word_embeddings = "embeddings.word_embeddings",
              .position_embeddings = "embeddings.position_embeddings",
              .token_type_embeddings = "embeddings.token_type_embeddings",
              .embeddings_norm = "embeddings.LayerNorm",
              .embeddings_projection = "encoder.embedding_hidden_mapping_in",
              .query = "encoder.albert_layer_groups.0.albert_layers.0.attention.query",
              .key = "encoder.albert_layer_groups.0.albert_layers.0.attention.key",
              .value = "encoder.albert_layer_groups.0.albert_layers.0.attention.value",
              .attention_output = "encoder.albert_layer_groups.0.albert_layers.0.attention.dense",
              .attention_norm = "encoder.albert_layer_groups.0.albert_layers.0.attention.LayerNorm",
              .intermediate = "encoder.albert_layer_groups.0.albert_layers.0.ffn",
              .output = "encoder.albert_layer_groups.0.albert_layers.0.ffn_output",
              .output_norm = "encoder.albert_layer_groups.0.albert_layers.0.full_layer_layer_norm",
              .pooler = "pooler"},
    .ignored = kIgnored,
};

}  // namespace wattn
