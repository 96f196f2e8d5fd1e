// ALBERT, arXiv 1909.11942; transformers/models/albert/modeling_albert.py (v5.23.0). Differences from BERT:
// - all layers share one layer's weights, or those of a few groups;
// - the embedding tables are narrower than the layers, with a projection after their norm;
// - usually the tanh form of GELU.
#include "models/bert.h"
#include "models/config_fields.h"

namespace wattn {
namespace {

void parse_config(Fields& config, ModelConfig& out) {
  config.expect("position_embedding_type", "absolute");
  TransformerConfig& encoder = out.transformer;
  read_bert_like(config, encoder);
  read_type_vocab_size(config, encoder);
  encoder.embedding_size = config.size_or("embedding_size", kMostWidth, 128);
  encoder.layer_groups = config.size_or("num_hidden_groups", encoder.num_hidden_layers, 1);
  encoder.group_layers = config.size_or("inner_group_num", 64, 1);
  encoder.num_hidden_layers *= encoder.group_layers;
  encoder.pooler = true;
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
              .query = "encoder.albert_layer_groups.{}.albert_layers.{}.attention.query",
              .key = "encoder.albert_layer_groups.{}.albert_layers.{}.attention.key",
              .value = "encoder.albert_layer_groups.{}.albert_layers.{}.attention.value",
              .attention_output = "encoder.albert_layer_groups.{}.albert_layers.{}.attention.dense",
              .attention_norm = "encoder.albert_layer_groups.{}.albert_layers.{}.attention.LayerNorm",
              .up = "encoder.albert_layer_groups.{}.albert_layers.{}.ffn",
              .down = "encoder.albert_layer_groups.{}.albert_layers.{}.ffn_output",
              .ffn_norm = "encoder.albert_layer_groups.{}.albert_layers.{}.full_layer_layer_norm",
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
