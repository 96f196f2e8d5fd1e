// Static embeddings: a row of a table for each token and no layers; a text's vector is the mean of its tokens' rows.
// - model2vec (github.com/MinishLab/model2vec, 0.10.0, model.py): tokens may share rows and may have a factor each.
// - StaticEmbedding of sentence-transformers (6.2.0, modules/static_embedding.py).
// Neither names the sizes of its tensors: web/source/static_model.ts completes config.json from the header of the weight file.
#include "models/arch.h"
#include "models/config_fields.h"

namespace wattn {
namespace {

constexpr std::int64_t kMostRows = 1 << 24;  // their numbers are exact in f32, to which WeightLoader widens

void parse_config(Fields& config, ModelConfig& out) {
  TransformerConfig& table = out.transformer;
  table.vocab_size = config.size("vocab_size", kMostRows);
  table.hidden_size = config.size("hidden_size", kMostWidth);
  table.table_rows = config.size_or("table_rows", kMostRows, 0);
  table.token_weights = config.boolean_or("token_weights", false);
  table.skip_unknown = config.boolean_or("skip_unknown", false);
  table.max_position_embeddings = INT32_MAX;
  table.positions = Positions::kNone;
  table.embeddings_norm = false;
}

}  // namespace

extern const Arch kModel2Vec = {
    .model_type = "model2vec",
    .base_prefix = "",
    .parse_config = parse_config,
    .names = {.word_embeddings = "embeddings", .token_rows = "mapping", .token_weights = "weights"},
};
extern const Arch kStaticEmbedding = {
    .model_type = "static-embedding",
    .base_prefix = "",
    .parse_config = parse_config,
    .names = {.word_embeddings = "embedding"},
};

}  // namespace wattn
