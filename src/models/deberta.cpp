// DeBERTa, arXiv 2006.03654; transformers/models/deberta/modeling_deberta.py (v5.23.0). Differences from DeBERTa-v2:
// - a row of relative embeddings for each distance, and separate matrices for these in each layer;
// - one matrix with the query, key and value of each head in turn; biases of queries and values only.
#include "models/deberta.h"

namespace wattn {
namespace {

void parse_config(Fields& config, ModelConfig& out) {
  TransformerConfig& encoder = out.transformer;
  read_bert_like(config, encoder);
  if (!config.ok()) return;
  config.expect("talking_head", false);
  config.expect("embedding_size", encoder.hidden_size);
  read_type_vocab_size(config, encoder);
  read_disentangled(config, encoder);
  encoder.disentangled.own_matrices = true;
  encoder.biases.keys = false;
}

constexpr const char* kIgnored[] = {
    "embeddings.position_embeddings.*", "cls.*", "lm_predictions.*", "pooler.*", "classifier.*", "qa_outputs.*"};

constexpr TransformerNames names() {
  TransformerNames names = kBertNames;
  names.query = names.key = names.value = names.pooler = nullptr;
  names.query_key_value = "encoder.layer.{}.attention.self.in_proj";
  names.heads_in_turn = true;
  names.query_bias = "encoder.layer.{}.attention.self.q_bias";
  names.value_bias = "encoder.layer.{}.attention.self.v_bias";
  names.relative_embeddings = "encoder.rel_embeddings";
  names.relative_query = "encoder.layer.{}.attention.self.pos_q_proj";
  names.relative_key = "encoder.layer.{}.attention.self.pos_proj";
  return names;
}

}  // namespace

extern const Arch kDeberta = {
    .model_type = "deberta",
    .base_prefix = "deberta.",
    .parse_config = parse_config,
    .names = names(),
    .ignored = kIgnored,
    .heads = deberta_heads(),
    .defaults = {kBertDefaults, R"("vocab_size": 50265, "type_vocab_size": 0, "layer_norm_eps": 1e-7)"},
};

}  // namespace wattn
