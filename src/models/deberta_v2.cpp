// DeBERTa-v2 and v3, arXiv 2006.03654 and 2111.09543; transformers/models/deberta_v2/modeling_deberta_v2.py (v5.23.0).
// Against BERT:
// - disentangled attention over bucketed distances (ops/attention_disentangled.h), with the content's own matrices;
// - absolute positions and token types only where the config asks for them; no pooler of the encoder's own.
#include "models/arch.h"

namespace wattn {
namespace {

Result<void> expect_both_ways(JsonRef types) {
  std::string joined;
  for (std::size_t i = 0; i < types.size(); ++i) {
    const auto type = types[i].as_string();
    if (!type.ok()) return type.error();
    joined += std::string(type.value()) + "|";
  }
  if (types.is_string()) joined = types.as_string().value();
  if (joined.find("c2p") != std::string::npos && joined.find("p2c") != std::string::npos &&
      joined.find("p2p") == std::string::npos) {
    return {};
  }
  return unsupported_error(types.where() + ": expected \"p2c|c2p\", found " + types.describe());
}

Result<void> read_relative(JsonRef config, EncoderConfig& out) {
  if (config["relative_attention"].is_null()) return config["relative_attention"].mismatch("true");
  if (auto e = expect_bool(config, "relative_attention", true); !e.ok()) return e;
  if (config["share_att_key"].is_null()) return config["share_att_key"].mismatch("true");
  if (auto e = expect_bool(config, "share_att_key", true); !e.ok()) return e;
  if (auto e = expect_both_ways(config["pos_att_type"]); !e.ok()) return e;
  const auto buckets = config["position_buckets"].as_int_or(-1);
  if (!buckets.ok()) return buckets.error();
  const auto distance = config["max_relative_positions"].as_int_or(-1);
  if (!distance.ok()) return distance.error();
  constexpr std::int64_t kMost = 1 << 16;
  if (buckets.value() > kMost || buckets.value() == 1) return config["position_buckets"].mismatch("a whole number from 2 to 65536");
  if (distance.value() > kMost) return config["max_relative_positions"].mismatch("a whole number up to 65536");
  const auto norm = config["norm_rel_ebd"].as_string_or("none");
  if (!norm.ok()) return norm.error();
  if (norm.value() != "none" && norm.value() != "layer_norm") {
    return unsupported_error(config["norm_rel_ebd"].where() + ": expected \"none\" or \"layer_norm\", found " +
                             config["norm_rel_ebd"].describe());
  }
  out.relative = {.buckets = buckets.value(),
                  .max_distance = distance.value() < 1 ? out.max_position_embeddings : distance.value(),
                  .norm = norm.value() == "layer_norm"};
  // Beyond half of the buckets distances go by the logarithm, which needs room up to the largest.
  const std::int64_t half = out.relative.buckets / 2;
  if (out.relative.buckets > 0 && out.max_position_embeddings > half && out.relative.max_distance <= half + 1) {
    return config["position_buckets"].mismatch("less than twice the largest distance " + std::to_string(out.relative.max_distance));
  }
  return {};
}

Result<EncoderConfig> parse_config(JsonRef config) {
  auto parsed = parse_usual_config(config);
  if (!parsed.ok()) return parsed;
  EncoderConfig& encoder = parsed.value();
  if (auto e = expect_int(config, "attention_head_size", encoder.head_dim()); !e.ok()) return e.error();
  if (auto e = expect_int(config, "embedding_size", encoder.hidden_size); !e.ok()) return e.error();
  if (auto e = expect_int(config, "conv_kernel_size", 0); !e.ok()) return e.error();
  if (auto e = read_type_vocab_size(config, encoder); !e.ok()) return e.error();
  if (auto e = read_relative(config, encoder); !e.ok()) return e.error();
  const auto absolute = config["position_biased_input"].as_bool_or(true);
  if (!absolute.ok()) return absolute.error();
  encoder.positions = absolute.value() ? Positions::kLearned : Positions::kNone;
  encoder.distances = Distances::kDisentangled;
  encoder.pooler = false;
  return parsed;
}

constexpr const char* kIgnored[] = {
    "embeddings.position_embeddings.*",
    "embeddings.position_ids",
    "cls.*",
    "lm_predictions.*",
    "mask_predictions.*",
    "pooler.*",
    "classifier.*",
    "qa_outputs.*",
};

}  // namespace

extern const Arch kDebertaV2;
const Arch kDebertaV2 = {
    .model_type = "deberta-v2",
    .base_prefix = "deberta.",
    .parse_config = parse_config,
    .names = {.word_embeddings = "embeddings.word_embeddings",
              .position_embeddings = "embeddings.position_embeddings",
              .token_type_embeddings = "embeddings.token_type_embeddings",
              .embeddings_norm = "embeddings.LayerNorm",
              .query = "encoder.layer.{}.attention.self.query_proj",
              .key = "encoder.layer.{}.attention.self.key_proj",
              .value = "encoder.layer.{}.attention.self.value_proj",
              .attention_output = "encoder.layer.{}.attention.output.dense",
              .attention_norm = "encoder.layer.{}.attention.output.LayerNorm",
              .intermediate = "encoder.layer.{}.intermediate.dense",
              .output = "encoder.layer.{}.output.dense",
              .output_norm = "encoder.layer.{}.output.LayerNorm",
              .relative_embeddings = "encoder.rel_embeddings",
              .relative_norm = "encoder.LayerNorm"},
    .ignored = kIgnored,
};

}  // namespace wattn
