// GTE of 2024 ("new"), arXiv 2407.19669; modeling.py of Alibaba-NLP/new-impl, and transformers/models/gte/modeling_gte.py
// (v5.23.0). Against BERT:
// - rotary positions, which may be stretched by the fixed NTK rule; token types only in some;
// - gated feed-forward without bias on the way in.
#include "models/arch.h"

namespace wattn {
namespace {

// {"type": "ntk", "factor": 2.0}
Result<double> ntk_factor(JsonRef scaling) {
  if (scaling.is_null()) return 1.0;
  const auto type = scaling["type"].as_string();
  if (!type.ok()) return type.error();
  if (type.value() != "ntk") {
    return unsupported_error(scaling["type"].where() + ": expected \"ntk\", found " + scaling["type"].describe());
  }
  if (auto e = expect_absent(scaling, "mixed_b"); !e.ok()) return e.error();
  return config_number(scaling, "factor", 1, 1e6);
}

Result<EncoderConfig> parse_config(JsonRef config) {
  if (auto e = expect_string(config, "position_embedding_type", "rope"); !e.ok()) return e.error();
  if (auto e = expect_string(config, "layer_norm_type", "layer_norm"); !e.ok()) return e.error();
  if (auto e = expect_bool(config, "logn_attention_scale", false); !e.ok()) return e.error();
  if (auto e = expect_bool(config, "pack_qkv", true); !e.ok()) return e.error();
  auto parsed = parse_usual_config(config);
  if (!parsed.ok()) return parsed;
  EncoderConfig& encoder = parsed.value();
  if (auto e = read_type_vocab_size(config, encoder); !e.ok()) return e.error();
  const auto theta = read_theta(config["rope_parameters"], config, "rope_theta", 10000);
  if (!theta.ok()) return theta.error();
  const auto factor = ntk_factor(config["rope_scaling"]);
  if (!factor.ok()) return factor.error();
  encoder.rotary = {.theta = theta.value(), .ntk_factor = factor.value()};
  encoder.feed_forward = FeedForward::kGatedAfter;
  encoder.biases.intermediate = false;
  encoder.positions = Positions::kNone;
  encoder.distances = Distances::kRotary;
  return parsed;
}

constexpr const char* kIgnored[] = {"lm_head.*", "classifier.*", "qa_outputs.*"};

constexpr Arch gte_as(const char* model_type) {
  return {
      .model_type = model_type,
      .base_prefix = "new.",
      .parse_config = parse_config,
      .names = {.word_embeddings = "embeddings.word_embeddings",
                .token_type_embeddings = "embeddings.token_type_embeddings",
                .embeddings_norm = "embeddings.LayerNorm",
                .query = "encoder.layer.{}.attention.qkv_proj",
                .attention_output = "encoder.layer.{}.attention.o_proj",
                .attention_norm = "encoder.layer.{}.attn_ln",
                .intermediate = "encoder.layer.{}.mlp.up_gate_proj",
                .output = "encoder.layer.{}.mlp.down_proj",
                .output_norm = "encoder.layer.{}.mlp_ln",
                .pooler = "pooler.dense"},
      .ignored = kIgnored,
  };
}

}  // namespace

extern const Arch kNewGte;
extern const Arch kGte;
const Arch kNewGte = gte_as("new");
const Arch kGte = gte_as("gte");

}  // namespace wattn
