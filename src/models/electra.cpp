// ELECTRA, arXiv 2003.10555; transformers/models/electra/modeling_electra.py (v5.23.0). Differences from BERT:
// - the embedding tables may be narrower than the layers, with a projection after their norm;
// - no pooler.
#include "models/bert.h"
#include "models/config_fields.h"

namespace wattn {
namespace {

void parse_config(Fields& config, ModelConfig& out) {
  TransformerConfig& encoder = out.transformer;
  config.expect("position_embedding_type", "absolute");
  read_bert_like(config, encoder);
  read_type_vocab_size(config, encoder);
  encoder.embedding_size = config.size_or("embedding_size", kMostWidth, 128);
  if (encoder.embedding_size == encoder.hidden_size) encoder.embedding_size = 0;
}

constexpr const char* kIgnored[] = {
    "discriminator_predictions.*", "generator_predictions.*", "generator_lm_head.*", "classifier.*", "qa_outputs.*",
};

constexpr TransformerNames names() {
  TransformerNames names = kBertNames;
  names.embeddings_projection = "embeddings_project";
  names.pooler = nullptr;
  return names;
}

}  // namespace

extern const Arch kElectra = {
    .model_type = "electra",
    .base_prefix = "electra.",
    .parse_config = parse_config,
    .names = names(),
    .ignored = kIgnored,
    .heads = {.sequence = {.dense = "classifier.dense", .activation = Activation::kGelu, .output = "classifier.out_proj"},
              .token = {.output = "classifier"},
              .answer = {.output = "qa_outputs"},
              .masked_lm = {.dense = "generator_predictions.dense",
                            .activation = Activation::kGelu,
                            .norm = "generator_predictions.LayerNorm",
                            .output = "generator_lm_head.bias",
                            .tied = true}},
    .defaults = {kBertDefaults,
                 R"("embedding_size": 128, "hidden_size": 256, "num_attention_heads": 4, "intermediate_size": 1024)"},
};

}  // namespace wattn
