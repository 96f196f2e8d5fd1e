// MPNet, arXiv 2004.09297; transformers/models/mpnet/modeling_mpnet.py (v5.23.0). Differences from BERT:
// - no token types; positions as in RoBERTa, but padding_idx is always 1;
// - also T5's distance buckets, one table for all layers.
#include "models/bert.h"
#include "models/config_fields.h"
#include "models/roberta.h"

namespace wattn {
namespace {

void parse_config(Fields& config, ModelConfig& out) {
  TransformerConfig& encoder = out.transformer;
  read_bert_like(config, encoder);
  config.expect("relative_attention_num_buckets", 32);
  if (encoder.max_position_embeddings < 3) config.mismatch("max_position_embeddings", "a whole number of at least 3");
  encoder.positions = Positions::kAfterPadding;
  encoder.padding_idx = 1;
  encoder.max_position_embeddings -= 2;
  encoder.relative_positions = RelativePositions::kT5Buckets;
  encoder.pooler = true;
}

constexpr const char* kIgnored[] = {"lm_head.*", "classifier.*", "qa_outputs.*"};

}  // namespace

extern const Arch kMpnet = {
    .model_type = "mpnet",
    .base_prefix = "mpnet.",
    .parse_config = parse_config,
    .names = {.word_embeddings = "embeddings.word_embeddings",
              .position_embeddings = "embeddings.position_embeddings",
              .embeddings_norm = "embeddings.LayerNorm",
              .query = "encoder.layer.{}.attention.attn.q",
              .key = "encoder.layer.{}.attention.attn.k",
              .value = "encoder.layer.{}.attention.attn.v",
              .attention_output = "encoder.layer.{}.attention.attn.o",
              .attention_norm = "encoder.layer.{}.attention.LayerNorm",
              .up = "encoder.layer.{}.intermediate.dense",
              .down = "encoder.layer.{}.output.dense",
              .ffn_norm = "encoder.layer.{}.output.LayerNorm",
              .relative_attention_bias = "encoder.relative_attention_bias",
              .pooler = "pooler.dense"},
    .ignored = kIgnored,
    .heads = kRobertaHeads,
    .defaults = {kBertDefaults, R"("vocab_size": 30527)"},
};

}  // namespace wattn
