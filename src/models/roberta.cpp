// RoBERTa, arXiv 1907.11692; transformers/models/roberta/modeling_roberta.py (v5.23.0), and the same network under two more
// names: XLM-RoBERTa, arXiv 1911.02116, and CamemBERT, arXiv 1911.03894. Against BERT:
// - positions are counted from padding_idx + 1 on, so that the table has padding_idx + 1 rows more than a text has tokens.
#include "models/arch.h"

namespace wattn {
namespace {

Result<EncoderConfig> parse_config(JsonRef config) {
  if (auto e = expect_string(config, "position_embedding_type", "absolute"); !e.ok()) return e.error();
  auto parsed = parse_usual_config(config);
  if (!parsed.ok()) return parsed;
  EncoderConfig& encoder = parsed.value();
  if (auto e = read_type_vocab_size(config, encoder); !e.ok()) return e.error();
  const auto padding = config["pad_token_id"].as_int_or(1);
  if (!padding.ok()) return padding.error();
  if (padding.value() < 0 || padding.value() + 1 >= encoder.max_position_embeddings) {
    return config["pad_token_id"].mismatch("a row of the position table, before the last");
  }
  encoder.positions = Positions::kAfterPadding;
  encoder.padding_idx = padding.value();
  encoder.max_position_embeddings -= encoder.padding_idx + 1;
  return parsed;
}

constexpr const char* kIgnored[] = {
    "embeddings.position_ids", "embeddings.token_type_ids", "lm_head.*", "classifier.*", "qa_outputs.*",
};

constexpr Arch roberta_as(const char* model_type) {
  return {
      .model_type = model_type,
      .base_prefix = "roberta.",
      .parse_config = parse_config,
      .names = {.word_embeddings = "embeddings.word_embeddings",
                .position_embeddings = "embeddings.position_embeddings",
                .token_type_embeddings = "embeddings.token_type_embeddings",
                .embeddings_norm = "embeddings.LayerNorm",
                .query = "encoder.layer.{}.attention.self.query",
                .key = "encoder.layer.{}.attention.self.key",
                .value = "encoder.layer.{}.attention.self.value",
                .attention_output = "encoder.layer.{}.attention.output.dense",
                .attention_norm = "encoder.layer.{}.attention.output.LayerNorm",
                .intermediate = "encoder.layer.{}.intermediate.dense",
                .output = "encoder.layer.{}.output.dense",
                .output_norm = "encoder.layer.{}.output.LayerNorm",
                .pooler = "pooler.dense"},
      .ignored = kIgnored,
  };
}

}  // namespace

extern const Arch kRoberta;
extern const Arch kXlmRoberta;
extern const Arch kCamembert;
const Arch kRoberta = roberta_as("roberta");
const Arch kXlmRoberta = roberta_as("xlm-roberta");
const Arch kCamembert = roberta_as("camembert");

}  // namespace wattn
