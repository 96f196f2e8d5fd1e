// DPR, arXiv 2004.04906; transformers/models/dpr/modeling_dpr.py (v5.24.0). Differences from BERT: checkpoints prefix the
// encoder's names with their part (question, passage or reader); a text's vector is its first token's state.
#include "models/bert.h"
#include "models/config_fields.h"

namespace wattn {
namespace {

void parse_config(Fields& config, ModelConfig& out) {
  config.expect("position_embedding_type", "absolute");
  config.expect("projection_dim", 0);
  read_bert_like(config, out.transformer);
  read_type_vocab_size(config, out.transformer);
}

// The poolers of BERT's checkpoints, from which DPR's were made, and the reader's heads.
constexpr const char* kIgnored[] = {"pooler.*", "span_predictor.qa_outputs.*", "span_predictor.qa_classifier.*"};

constexpr TransformerNames names() {
  TransformerNames out = kBertNames;
  out.pooler = nullptr;
  return out;
}

}  // namespace

extern const Arch kDpr = {
    .model_type = "dpr",
    .base_prefix = "question_encoder.bert_model.",
    .parse_config = parse_config,
    .names = names(),
    .ignored = kIgnored,
    .defaults = {kBertDefaults},
    .part_of = "bert_model.",
};

}  // namespace wattn
