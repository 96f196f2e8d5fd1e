// ELECTRA, arXiv 2003.10555; transformers/models/electra/modeling_electra.py (v5.23.0). Against BERT:
// - the embedding tables may be narrower than the layers, with a matrix behind their norm;
// - no pooler.
#include "models/arch.h"

namespace wattn {
namespace {

Result<EncoderConfig> parse_config(JsonRef config) {
  if (auto e = expect_string(config, "position_embedding_type", "absolute"); !e.ok()) return e.error();
  auto parsed = parse_usual_config(config);
  if (!parsed.ok()) return parsed;
  EncoderConfig& encoder = parsed.value();
  if (auto e = read_type_vocab_size(config, encoder); !e.ok()) return e.error();
  constexpr ConfigSize kEmbedding[] = {{"embedding_size", &EncoderConfig::embedding_size, 128}};
  if (auto e = read_sizes(config, kEmbedding, encoder); !e.ok()) return e.error();
  if (encoder.embedding_size == encoder.hidden_size) encoder.embedding_size = 0;
  encoder.pooler = false;
  return parsed;
}

constexpr const char* kIgnored[] = {
    "embeddings.position_ids",
    "discriminator_predictions.*",
    "generator_predictions.*",
    "generator_lm_head.*",
    "classifier.*",
    "qa_outputs.*",
};

}  // namespace

extern const Arch kElectra;
const Arch kElectra = {
    .model_type = "electra",
    .base_prefix = "electra.",
    .parse_config = parse_config,
    .names = {.word_embeddings = "embeddings.word_embeddings",
              .position_embeddings = "embeddings.position_embeddings",
              .token_type_embeddings = "embeddings.token_type_embeddings",
              .embeddings_norm = "embeddings.LayerNorm",
              .embeddings_projection = "embeddings_project",
              .query = "encoder.layer.{}.attention.self.query",
              .key = "encoder.layer.{}.attention.self.key",
              .value = "encoder.layer.{}.attention.self.value",
              .attention_output = "encoder.layer.{}.attention.output.dense",
              .attention_norm = "encoder.layer.{}.attention.output.LayerNorm",
              .intermediate = "encoder.layer.{}.intermediate.dense",
              .output = "encoder.layer.{}.output.dense",
              .output_norm = "encoder.layer.{}.output.LayerNorm"},
    .ignored = kIgnored,
};

}  // namespace wattn
