// SqueezeBERT, arXiv 2006.11316; transformers/models/squeezebert/modeling_squeezebert.py (v5.24.0). Difference from BERT: matrices
// are convolutions over one token in groups, and each group reads only its own inputs.
#include "models/bert.h"
#include "models/config_fields.h"

namespace wattn {
namespace {

void parse_config(Fields& config, ModelConfig& out) {
  TransformerConfig& encoder = out.transformer;
  read_bert_like(config, encoder);
  read_type_vocab_size(config, encoder);
  encoder.pooler = true;
  config.expect("embedding_size", encoder.hidden_size);
  const auto groups = [&](const char* key, std::int64_t fallback, std::int64_t in, std::int64_t rows) {
    const std::int64_t count = config.size_or(key, kMostPositions, fallback);
    if (config.ok() && (in % count != 0 || rows % count != 0)) config.mismatch(key, "a divisor of the matrix' rows and columns");
    return count;
  };
  const std::int64_t hidden = encoder.hidden_size, inner = encoder.intermediate_size;
  encoder.pointwise = {.query = groups("q_groups", 4, hidden, hidden),
                       .key = groups("k_groups", 4, hidden, hidden),
                       .value = groups("v_groups", 4, hidden, hidden),
                       .attention_output = groups("post_attention_groups", 1, hidden, hidden),
                       .up = groups("intermediate_groups", 4, hidden, inner),
                       .down = groups("output_groups", 4, inner, hidden)};
}

constexpr const char* kIgnored[] = {"cls.*", "classifier.*", "qa_outputs.*"};

constexpr TransformerNames names() {
  TransformerNames out = kBertNames;
  out.query = "encoder.layers.{}.attention.query";
  out.key = "encoder.layers.{}.attention.key";
  out.value = "encoder.layers.{}.attention.value";
  out.attention_output = "encoder.layers.{}.post_attention.conv1d";
  out.attention_norm = "encoder.layers.{}.post_attention.layernorm";
  out.up = "encoder.layers.{}.intermediate.conv1d";
  out.down = "encoder.layers.{}.output.conv1d";
  out.ffn_norm = "encoder.layers.{}.output.layernorm";
  return out;
}

}  // namespace

extern const Arch kSqueezeBert = {
    .model_type = "squeezebert",
    .base_prefix = "transformer.",
    .parse_config = parse_config,
    .names = names(),
    .ignored = kIgnored,
    .heads = kBertHeads,
    .defaults = {kBertDefaults, R"("embedding_size": 768)"},
};

}  // namespace wattn
