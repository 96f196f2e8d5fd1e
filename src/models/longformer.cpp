// build: -Oz
// Longformer, arXiv 2004.05150; transformers/models/longformer/modeling_longformer.py (v5.24.0). Differences from RoBERTa:
// - a token attends to half of attention_window tokens on each side;
// - below heads for texts and for answers, the first token or all tokens of the question are global (ops/global_attention.h).
#include "models/longformer.h"

#include "models/bert.h"
#include "models/config_fields.h"
#include "models/layer_builder.h"
#include "models/roberta.h"
#include "models/target_list.h"

namespace wattn {

void read_attention_window(Fields& config, TransformerConfig& out) {
  const JsonRef windows = config["attention_window"];
  const std::size_t count = windows.is_array() ? windows.size() : 1;
  for (std::size_t i = 0; config.ok() && i < count; ++i) {
    const std::int64_t window = config.take((windows.is_array() ? windows[i] : windows).as_int_or(512));
    if (window < 2 || window > kMostPositions || window % 2 != 0) config.mismatch("attention_window", "even numbers of tokens");
    if (i > 0 && window / 2 != out.local_window) config.unsupported("attention_window", "the same number for all layers");
    out.local_window = window / 2;
  }
  out.local_layers.assign(static_cast<std::size_t>(out.num_hidden_layers), true);
}

namespace {

PlanId attention(LayerBuilder& builder, PlanId x) {
  const TransformerConfig& config = builder.config();
  const PlanId qkv = builder.query_key_value(x);
  if (config.global_tokens == GlobalTokens::kNone) return builder.attend(qkv);
  TransformerLayer& layer = builder.layer();
  builder.show_query_key_value(qkv);
  const PlanId global = builder.linear(x, "global_query_key_value", layer.global_qkv, config.qkv_width(), true, Hold::kSensitive);
  const std::int8_t constants = builder.attention({.shape = config.attention_shape(),
                                                   .scale = config.score_scale(),
                                                   .window_before = config.local_window,
                                                   .window_after = config.local_window});
  const bool is_first = config.global_tokens == GlobalTokens::kFirst;
  const PlanId context = builder.step({.op = Op::kGlobalAttention,
                                       .variant = static_cast<std::uint8_t>(config.global_tokens),
                                       .x = qkv,
                                       .other = global,
                                       .attention = constants,
                                       .factor = is_first ? -1 : static_cast<float>(config.separator)});
  return builder.linear(builder.named(context, "attention.context"), "attention_output", layer.attention_output, config.hidden_size,
                        true);
}

void add_layer_targets(const TransformerConfig& config, const TransformerLayer& layer, std::size_t i, TargetList& list) {
  const std::string at = "encoder.layer." + std::to_string(i) + ".";
  const std::int64_t width = config.query_width();
  const auto add_three = [&](const char* ending, const LinearWeights& linear) {
    std::int64_t first = 0;
    for (const char* role : {"query", "key", "value"}) {
      list.linear(at + "attention.self." + role + ending, linear, first, width);
      first += width;
    }
  };
  add_three("", layer.qkv);
  if (config.global_tokens != GlobalTokens::kNone) add_three("_global", layer.global_qkv);
  list.linear(at + "attention.output.dense", layer.attention_output, 0, config.hidden_size);
  list.norm(at + "attention.output.LayerNorm", layer.attention_norm, true);
  list.linear(at + "intermediate.dense", layer.up, 0, config.intermediate_size);
  list.linear(at + "output.dense", layer.down, 0, config.hidden_size);
  list.norm(at + "output.LayerNorm", layer.ffn_norm, true);
}

constexpr RareLayers kLayers{.attention = attention, .add_targets = add_layer_targets};

void parse_config(Fields& config, ModelConfig& out) {
  TransformerConfig& encoder = out.transformer;
  config.expect("position_embedding_type", "absolute");
  parse_roberta(config, out);
  encoder.rare = &kLayers;
  // A float holds the id (Step::factor).
  encoder.separator = config.integer_or("sep_token_id", 2, 0, 1 << 24);
  read_attention_window(config, encoder);
}

constexpr const char* kIgnored[] = {"lm_head.*",
                                    "classifier.*",
                                    "qa_outputs.*",
                                    "encoder.layer.{}.attention.self.query_global.*",
                                    "encoder.layer.{}.attention.self.key_global.*",
                                    "encoder.layer.{}.attention.self.value_global.*"};

constexpr Heads heads() {
  Heads heads = kRobertaHeads;
  heads.sequence.global_tokens = GlobalTokens::kFirst;
  heads.answer.global_tokens = GlobalTokens::kBeforeSeparator;
  return heads;
}

}  // namespace

extern const Arch kLongformer = {
    .model_type = "longformer",
    .base_prefix = "longformer.",
    .parse_config = parse_config,
    .names = kBertNames,
    .ignored = kIgnored,
    .heads = heads(),
    .defaults = {kBertDefaults, R"("vocab_size": 30522, "pad_token_id": 1)"},
};

}  // namespace wattn
