// ALBERT, arXiv 1909.11942; transformers/models/albert/modeling_albert.py (v5.23.0). Differences from BERT:
// - all layers share one layer's weights;
// - the embedding tables are narrower than the layers, with a projection after their norm;
// - usually the tanh form of GELU.
#include "models/bert.h"
#include "models/config_fields.h"

namespace wattn {
namespace {

void parse_config(Fields& config, ModelConfig& out) {
  config.expect("position_embedding_type", "absolute");
  for (const char* key : {"num_hidden_groups", "inner_group_num"}) config.expect(key, 1);
  read_bert_like(config, out.transformer);
  read_type_vocab_size(config, out.transformer);
  out.transformer.embedding_size = config.size_or("embedding_size", kMostWidth, 128);
  out.transformer.share_layers = true;
  out.transformer.pooler = true;
}

constexpr const char* kIgnored[] = {
    "predictions.*",
    "sop_classifier.*",
    "classifier.*",
    "qa_outputs.*",
};

}  // namespace

extern const Arch kAlbert = {
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
              .up = "encoder.albert_layer_groups.0.albert_layers.0.ffn",
              .down = "encoder.albert_layer_groups.0.albert_layers.0.ffn_output",
              .ffn_norm = "encoder.albert_layer_groups.0.albert_layers.0.full_layer_layer_norm",
              .pooler = "pooler"},
    .ignored = kIgnored,
    .heads = {.sequence = {.dense = "pooler", .activation = Activation::kTanh, .output = "classifier"},
              .token = {.output = "classifier"},
              .answer = {.output = "qa_outputs"},
              .masked_lm = {.dense = "predictions.dense",
                            .activation_key = "hidden_act",
                            .norm = "predictions.LayerNorm",
                            .output = "predictions.bias",
                            .tied = true}},
    .defaults = {kBertDefaults, R"("vocab_size": 30000, "embedding_size": 128, "hidden_size": 4096, "num_attention_heads": 64, )"
                                R"("intermediate_size": 16384, "hidden_act": "gelu_new")"},
};

}  // namespace wattn
