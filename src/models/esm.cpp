// ESM-2 and ESM-1b, models of proteins, bioRxiv 2022.07.20.500902; transformers/models/esm/modeling_esm.py (v5.24.0). Differences
// from BERT: norms before attention and feed-forward and after the last layer; rotary positions, or RoBERTa's; the word embeddings
// are scaled by the share of masks. The head that predicts contacts is ignored.
#include "models/bert.h"
#include "models/config_fields.h"
#include "models/roberta.h"

namespace wattn {
namespace {

void parse_config(Fields& config, ModelConfig& out) {
  TransformerConfig& encoder = out.transformer;
  config.expect("is_folding_model", false);
  const bool rotary = config.string_or("position_embedding_type", "absolute") == "rotary";
  if (rotary) {
    read_bert_like(config, encoder);
    encoder.rope.theta = config.number_or("rope_theta", 10000, kMostTheta);
    encoder.positions = Positions::kNone;
    encoder.relative_positions = RelativePositions::kRotary;
  } else {
    config.expect("position_embedding_type", "absolute");
    parse_roberta(config, out);
  }
  encoder.type_vocab_size = 0;
  encoder.norm_placement = NormPlacement::kPre;
  encoder.embeddings_norm = config.boolean_or("emb_layer_norm_before", false);
  encoder.pooler = true;
  if (config.boolean_or("token_dropout", false)) encoder.dropped_word = config.integer_or("mask_token_id", 0, 0, 1 << 24);
}

constexpr const char* kIgnored[] = {"lm_head.*",
                                    "classifier.*",
                                    "qa_outputs.*",
                                    "contact_head.*",
                                    "embeddings.position_embeddings.*",
                                    "*rotary_embeddings.inv_freq"};

constexpr TransformerNames names() {
  TransformerNames names = kBertNames;
  names.embeddings_norm = "embeddings.layer_norm";
  names.attention_norm = "encoder.layer.{}.attention.LayerNorm";
  names.ffn_norm = "encoder.layer.{}.LayerNorm";
  names.final_norm = "encoder.emb_layer_norm_after";
  return names;
}

constexpr Heads heads() {
  Heads heads = kRobertaHeads;
  heads.answer = {};
  return heads;
}

}  // namespace

extern const Arch kEsm = {
    .model_type = "esm",
    .base_prefix = "esm.",
    .parse_config = parse_config,
    .names = names(),
    .ignored = kIgnored,
    .heads = heads(),
    .defaults = {kBertDefaults, R"("max_position_embeddings": 1026)"},
};

}  // namespace wattn
