// DeBERTa-v2 and v3, arXiv 2006.03654 and 2111.09543; transformers/models/deberta_v2/modeling_deberta_v2.py (v5.23.0).
// Differences from BERT:
// - disentangled attention over bucketed distances (ops/attention_disentangled.h), with each layer's own matrices;
// - the largest ones have a convolution beside the first layer;
// - absolute positions and token types are optional; a pooler only in the sequence head.
#include "core/part.h"
#include "models/deberta.h"
#include "models/transformer.h"

namespace wattn {
namespace {

// "p2c|c2p", or a list of the two.
void expect_both_ways(Fields& config) {
  const JsonRef types = config["pos_att_type"];
  std::string joined(types.is_string() ? types.as_string().value() : "");
  config.each(types, [&](JsonRef type) { joined += std::string(config.take(type.as_string())) + "|"; });
  const auto has = [&](const char* way) { return joined.find(way) != std::string::npos; };
  if (!has("c2p") || !has("p2c") || has("p2p")) config.unsupported("pos_att_type", "\"p2c|c2p\"");
}

}  // namespace

void read_disentangled(Fields& config, TransformerConfig& out) {
  if (!config.has("relative_attention")) config.mismatch("relative_attention", "true");
  config.expect("relative_attention", true);
  expect_both_ways(config);
  out.disentangled.max_distance = config.integer_or("max_relative_positions", -1, INT32_MIN, 1 << 16);
  if (out.disentangled.max_distance < 1) out.disentangled.max_distance = out.max_position_embeddings;
  out.positions = config.boolean_or("position_biased_input", true) ? Positions::kLearned : Positions::kNone;
  out.relative_positions = RelativePositions::kDisentangled;
}

namespace {

void read_buckets(Fields& config, TransformerConfig& out) {
  if (!config.has("share_att_key")) config.mismatch("share_att_key", "true");
  config.expect("share_att_key", true);
  constexpr std::pair<std::string_view, bool> kNorms[] = {{"none", false}, {"layer_norm", true}};
  auto& relative = out.disentangled;
  relative.buckets = config.integer_or("position_buckets", -1, INT32_MIN, 1 << 16);
  if (relative.buckets == 1) config.mismatch("position_buckets", "a whole number from 2 to 65536");
  relative.norm = config.choice("norm_rel_ebd", kNorms, "none");
  // Distances beyond half of the buckets share by the logarithm, for which there must be some up to the largest.
  const std::int64_t half = relative.buckets / 2;
  if (relative.buckets > 0 && out.max_position_embeddings > half && relative.max_distance <= half + 1) {
    config.mismatch("position_buckets", "less than twice the largest distance " + std::to_string(relative.max_distance));
  }
}

void parse_config(Fields& config, ModelConfig& out) {
  TransformerConfig& encoder = out.transformer;
  read_bert_like(config, encoder);
  if (!config.ok()) return;
  config.expect("attention_head_size", encoder.head_size());
  config.expect("embedding_size", encoder.hidden_size);
  read_type_vocab_size(config, encoder);
  read_disentangled(config, encoder);
  read_buckets(config, encoder);
  if (const auto* convolutions = Part<Convolutions>::get()) {
    convolutions->read(config, encoder);
  } else {
    config.expect("conv_kernel_size", 0);
  }
}

constexpr const char* kIgnored[] = {
    "embeddings.position_embeddings.*",
    "cls.*",
    "lm_predictions.*",
    "mask_predictions.*",
    "pooler.*",
    "classifier.*",
    "qa_outputs.*",
};

constexpr TransformerNames names() {
  TransformerNames names = kBertNames;
  names.query = "encoder.layer.{}.attention.self.query_proj";
  names.key = "encoder.layer.{}.attention.self.key_proj";
  names.value = "encoder.layer.{}.attention.self.value_proj";
  names.relative_embeddings = "encoder.rel_embeddings";
  names.relative_norm = "encoder.LayerNorm";
  names.convolution = "encoder.conv.conv";
  names.convolution_norm = "encoder.conv.LayerNorm";
  names.pooler = nullptr;
  return names;
}

}  // namespace

extern const Arch kDebertaV2 = {
    .model_type = "deberta-v2",
    .base_prefix = "deberta.",
    .parse_config = parse_config,
    .names = names(),
    .ignored = kIgnored,
    .heads = deberta_heads(),
    .defaults = {kBertDefaults, R"("vocab_size": 128100, "hidden_size": 1536, "num_hidden_layers": 24, "num_attention_heads": 24, )"
                                R"("intermediate_size": 6144, "type_vocab_size": 0, "layer_norm_eps": 1e-7)"},
};

}  // namespace wattn
