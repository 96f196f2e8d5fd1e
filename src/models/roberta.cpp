// RoBERTa, arXiv 1907.11692; transformers/models/roberta/modeling_roberta.py (v5.23.0), and the same network as XLM-RoBERTa, arXiv
// 1911.02116, and CamemBERT, arXiv 1911.03894. Differences from BERT:
// - positions start at padding_idx + 1, so the table has padding_idx + 1 rows more than a text may have tokens.
#include "models/roberta.h"

#include "models/bert.h"
#include "models/config_fields.h"

namespace wattn {
namespace {

void parse_config(Fields& config, ModelConfig& out) {
  config.expect("position_embedding_type", "absolute");
  config.expect("use_flash_attn", false);  // jina_v3.cpp
  parse_roberta(config, out);
}

}  // namespace

void parse_roberta(Fields& config, ModelConfig& out) {
  TransformerConfig& encoder = out.transformer;
  read_bert_like(config, encoder);
  read_type_vocab_size(config, encoder);
  encoder.padding_idx = config.take(config["pad_token_id"].as_int_or(1));
  if (encoder.padding_idx < 0 || encoder.padding_idx + 1 >= encoder.max_position_embeddings) {
    config.mismatch("pad_token_id", "a row of the position table, before the last");
  }
  encoder.positions = Positions::kAfterPadding;
  encoder.max_position_embeddings -= encoder.padding_idx + 1;
  encoder.pooler = true;
}

namespace {

constexpr const char* kIgnored[] = {"lm_head.*", "classifier.*", "qa_outputs.*"};

constexpr Arch roberta_as(const char* model_type, const char* defaults = nullptr) {
  return {
      .model_type = model_type,
      .base_prefix = "roberta.",
      .parse_config = parse_config,
      .names = kBertNames,
      .ignored = kIgnored,
      .heads = kRobertaHeads,
      .defaults = {kBertDefaults, defaults},
  };
}

}  // namespace

extern const Arch kRoberta = roberta_as("roberta", R"("vocab_size": 50265)");
extern const Arch kXlmRoberta = roberta_as("xlm-roberta");
extern const Arch kCamembert = roberta_as("camembert");

}  // namespace wattn
