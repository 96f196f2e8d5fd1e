// MobileBERT, arXiv 2004.02984; transformers/models/mobilebert/modeling_mobilebert.py (v5.24.0). Differences from BERT:
// - narrow word embeddings: those of the next token, the token itself and the one before it, side by side, are projected;
// - each layer works on fewer columns than it reads and writes, between two matrices;
// - several feed-forwards in a row;
// - norms may be just a weight and a bias;
// - the head over the vocabulary has columns of its own beside those of the word embeddings.
#include "models/bert.h"
#include "models/config_fields.h"
#include "models/layer_builder.h"
#include "models/target_list.h"

namespace wattn {
namespace {

constexpr std::int64_t kMostFeedForwards = TransformerLayer::kMostStacked + 1;
static_assert(kMostFeedForwards == 4);

PlanId embed(LayerBuilder& builder, PlanId x) {
  const TransformerConfig& config = builder.config();
  constexpr std::uint8_t kBackwards = 1;
  if (config.bottleneck.trigrams) x = builder.step({.op = Op::kWindows, .variant = kBackwards, .x = x, .factor = 3});
  if (config.embedding_size == 0) return x;
  return builder.linear(x, "embeddings_projection", builder.ends().projection, config.hidden_size, true);
}

PlanId layer(LayerBuilder& builder, PlanId x) {
  const TransformerConfig& config = builder.config();
  const auto& of = config.bottleneck;
  const bool is_narrow = of.size > 0;
  TransformerLayer& layer = builder.layer();
  const auto narrow = [&](const char* name, const char* norm, TransformerLayer::Dense& to) {
    return builder.norm(builder.linear(x, name, to.layer, of.size, true), norm, to.norm);
  };
  PlanId y = is_narrow ? narrow("narrow", "narrow_norm", layer.narrow) : x;
  const PlanId residual = y;
  if (of.shared) {
    const PlanId shared = narrow("shared", "shared_norm", layer.shared);
    const std::int64_t width = config.query_width();
    const PlanId query_key = builder.linear(shared, "query_key", layer.qkv, 2 * width, true, Hold::kSensitive);
    const PlanId value = builder.linear(x, "value", layer.value, width, true, Hold::kSensitive);
    y = builder.step({.op = Op::kJoin, .x = query_key, .other = value});
  } else {
    y = builder.query_key_value(of.attention ? y : x);
  }
  y = builder.attend(y);
  if (!is_narrow) builder.dropped(y, DropPlace::kAttention);
  y = builder.named(builder.residual(y, residual, "attention_norm", layer.attention_norm), "attention.output");
  for (std::int64_t i = 0; i + 1 < of.feed_forwards; ++i) {
    TransformerLayer::Stacked& stacked = layer.stacked[i];
    y = builder.residual(builder.feed_forward(y, stacked.up, stacked.down, nullptr), y, "stacked_norm", stacked.norm);
  }
  PlanId added = builder.feed_forward(y, layer.up, layer.down, "intermediate");
  if (!is_narrow) builder.dropped(added, DropPlace::kFeedForward);
  y = builder.residual(added, y, "ffn_norm", layer.ffn_norm);
  if (is_narrow) {
    added = builder.dropped(builder.linear(y, "widen", layer.widen.layer, config.hidden_size, true), DropPlace::kFeedForward);
    y = builder.residual(added, x, "widen_norm", layer.widen.norm);
  }
  // The class makes these two without layer_norm_eps.
  constexpr float kTorchEpsilon = 1e-5f;
  for (Weight& weight : builder.plan.weights) {
    if (weight.at == &layer.ffn_norm || weight.at == &builder.ends().norm) weight.epsilon = kTorchEpsilon;
  }
  return builder.named(y, "output");
}

void add_layer_targets(const TransformerConfig& config, const TransformerLayer& layer, std::size_t i, TargetList& list) {
  const auto& of = config.bottleneck;
  const std::int64_t width = config.query_width();
  const auto add = [&](const std::string& name, const LinearWeights& linear, std::int64_t first, std::int64_t rows,
                       const LayerNorm* norm) {
    const std::string at = "encoder.layer." + std::to_string(i) + "." + name;
    list.linear(at + (norm ? "dense" : ""), linear, first, rows);
    if (norm) list.norm(at + "LayerNorm", *norm, true);
  };
  const auto add_feed_forward = [&](const std::string& name, const LinearWeights& up, const LinearWeights& down,
                                    const LayerNorm& norm) {
    add(name + "intermediate.dense", up, 0, up.out, nullptr);
    add(name + "output.", down, 0, down.out, &norm);
  };
  if (of.size > 0) add("bottleneck.input.", layer.narrow.layer, 0, of.size, &layer.narrow.norm);
  if (of.shared) add("bottleneck.attention.", layer.shared.layer, 0, of.size, &layer.shared.norm);
  add("attention.self.query", layer.qkv, 0, width, nullptr);
  add("attention.self.key", layer.qkv, width, width, nullptr);
  add("attention.self.value", of.shared ? layer.value : layer.qkv, of.shared ? 0 : 2 * width, width, nullptr);
  add("attention.output.", layer.attention_output, 0, layer.attention_output.out, &layer.attention_norm);
  for (std::int64_t k = 0; k + 1 < of.feed_forwards; ++k) {
    const TransformerLayer::Stacked& stacked = layer.stacked[k];
    add_feed_forward("ffn." + std::to_string(k) + ".", stacked.up, stacked.down, stacked.norm);
  }
  add_feed_forward("", layer.up, layer.down, layer.ffn_norm);
  if (of.size > 0) add("output.bottleneck.", layer.widen.layer, 0, config.hidden_size, &layer.widen.norm);
}

constexpr RareLayers kLayers{.embed = embed, .layer = layer, .add_targets = add_layer_targets};

void parse_config(Fields& config, ModelConfig& out) {
  constexpr std::pair<std::string_view, bool> kNorms[] = {{"no_norm", false}, {"layer_norm", true}};
  TransformerConfig& encoder = out.transformer;
  auto& of = encoder.bottleneck;
  encoder.rare = &kLayers;
  encoder.head_dim = 1;  // heads need not divide hidden_size
  read_bert_like(config, encoder);
  read_type_vocab_size(config, encoder);
  encoder.norm = config.choice("normalization_type", kNorms, "no_norm") ? NormKind::kLayer : NormKind::kAffine;
  encoder.embedding_size = config.size_or("embedding_size", kMostWidth, 128);
  encoder.pooler = config.boolean_or("classifier_activation", true);
  of.trigrams = config.boolean_or("trigram_input", true);
  if (!of.trigrams && encoder.embedding_size == encoder.hidden_size) encoder.embedding_size = 0;
  of.feed_forwards = config.size_or("num_feedforward_networks", kMostFfn, 4);
  if (of.feed_forwards > kMostFeedForwards) {
    config.unsupported("num_feedforward_networks", "a number from 1 to 4");
  }
  if (config.boolean_or("use_bottleneck", true)) {
    of.size = config.size_or("intra_bottleneck_size", kMostWidth, 128);
    of.attention = config.boolean_or("use_bottleneck_attention", false);
    of.shared = !of.attention && config.boolean_or("key_query_shared_bottleneck", true);
    // Queries and keys read the layer's input by matrices for fewer columns.
    if (!of.attention && !of.shared) config.expect("hidden_size", of.size);
  }
  const std::int64_t size = encoder.layer_size();
  config.expect("true_hidden_size", size);
  if (!config.ok()) return;
  if (size % encoder.num_attention_heads != 0) config.mismatch("num_attention_heads", "a divisor of true_hidden_size");
  encoder.head_dim = size / encoder.num_attention_heads;
}

constexpr const char* kIgnored[] = {
    "cls.*",
    "classifier.*",
    "qa_outputs.*",
    "encoder.layer.{}.bottleneck.attention.*",  // with use_bottleneck_attention
    "embeddings.embedding_transformation.*",    // where the word embeddings are as wide as the layers
};

constexpr TransformerNames names() {
  TransformerNames names = kBertNames;
  names.embeddings_projection = "embeddings.embedding_transformation";
  return names;
}

constexpr Heads heads() {
  Heads heads = kBertHeads;
  heads.sequence.dense_key = "classifier_activation";
  heads.masked_lm.rest = "cls.predictions.dense";
  return heads;
}

}  // namespace

extern const Arch kMobileBert = {
    .model_type = "mobilebert",
    .base_prefix = "mobilebert.",
    .parse_config = parse_config,
    .names = names(),
    .ignored = kIgnored,
    .heads = heads(),
    .defaults =
        {kBertDefaults,
         R"("hidden_size": 512, "num_hidden_layers": 24, "num_attention_heads": 4, "intermediate_size": 512, "hidden_act": "relu")"},
};

}  // namespace wattn
