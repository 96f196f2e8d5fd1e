// GTE of 2024 ("new"), arXiv 2407.19669; modeling.py of Alibaba-NLP/new-impl, and transformers/models/gte/modeling_gte.py
// (v5.23.0). Differences from BERT:
// - rotary positions, optionally with fixed NTK scaling; token types are optional;
// - gated feed-forward, whose gate and up projections have no biases.
#include "models/bert.h"
#include "models/config_fields.h"

namespace wattn {
namespace {

// {"type": "ntk", "factor": 2.0}
void read_scaling(Fields& config, RopeScaling& out) {
  if (!config.has("rope_scaling")) return;
  Fields scaling(config["rope_scaling"]);
  if (!scaling.has("type")) scaling.mismatch("type", "a string");
  scaling.expect("type", "ntk");
  scaling.absent("mixed_b");
  out.type = RopeScaling::Type::kNtk;
  out.factor = scaling.number_or("factor", 1, 1e6);
  config.fail(scaling.error());
}

void parse_config(Fields& config, ModelConfig& out) {
  TransformerConfig& encoder = out.transformer;
  config.expect("position_embedding_type", "rope");
  config.expect("layer_norm_type", "layer_norm");
  config.expect("logn_attention_scale", false);
  config.expect("pack_qkv", true);
  read_bert_like(config, encoder);
  read_type_vocab_size(config, encoder);
  encoder.rope.theta = read_theta(config, config["rope_parameters"], "rope_theta", 10000);
  read_scaling(config, encoder.rope);
  encoder.feed_forward = FeedForward::kGated;
  encoder.biases.up = false;
  encoder.positions = Positions::kNone;
  encoder.relative_positions = RelativePositions::kRotary;
  encoder.pooler = true;
}

constexpr const char* kIgnored[] = {"lm_head.*", "classifier.*", "qa_outputs.*"};

constexpr Heads heads() {
  Heads heads = kBertHeads;
  heads.masked_lm = {.dense = "lm_head.dense",
                     .activation = Activation::kGelu,
                     .norm = "lm_head.norm",
                     .output = "lm_head.decoder.bias",
                     .tied = true};
  return heads;
}

constexpr Arch gte_as(const char* model_type, const char* defaults) {
  return {
      .model_type = model_type,
      .base_prefix = "new.",
      .parse_config = parse_config,
      .names = {.word_embeddings = "embeddings.word_embeddings",
                .token_type_embeddings = "embeddings.token_type_embeddings",
                .embeddings_norm = "embeddings.LayerNorm",
                .query_key_value = "encoder.layer.{}.attention.qkv_proj",
                .attention_output = "encoder.layer.{}.attention.o_proj",
                .attention_norm = "encoder.layer.{}.attn_ln",
                .up_gate = "encoder.layer.{}.mlp.up_gate_proj",
                .down = "encoder.layer.{}.mlp.down_proj",
                .ffn_norm = "encoder.layer.{}.mlp_ln",
                .pooler = "pooler.dense"},
      .ignored = kIgnored,
      .heads = heads(),
      .defaults = {kBertDefaults, defaults},
  };
}

}  // namespace

extern const Arch kNewGte = gte_as("new", R"("vocab_size": 30528, "max_position_embeddings": 2048, "type_vocab_size": 1)");
extern const Arch kGte =
    gte_as("gte", R"("vocab_size": 250048, "max_position_embeddings": 8192, "type_vocab_size": 1, "rope_theta": 160000)");

}  // namespace wattn
