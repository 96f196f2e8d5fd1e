// build: -Oz
// ConvBERT, arXiv 2008.02496; transformers/models/convbert/modeling_convbert.py (v5.24.0). Differences from ELECTRA:
// - attention has num_attention_heads / head_ratio heads, and its context half of the columns;
// - the other half is a convolution whose weights each token gives (ops/span_convolution.h), the softmax of a matrix times the
//   query times a key, which is a convolution of the layer's input;
// - the matrices of the feed-forward may be in groups, each of which reads only its own inputs.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "models/bert.h"
#include "models/config_fields.h"
#include "models/layer_builder.h"
#include "models/target_list.h"
#include "ops/span_convolution.h"

namespace wattn {
namespace {

PlanId attention(LayerBuilder& builder, PlanId x) {
  const TransformerConfig& config = builder.config();
  const std::int64_t width = config.query_width(), hidden = config.hidden_size, kernel = config.span_kernel;
  auto& of = builder.layer().span;
  const std::int8_t constants = builder.attention({.shape = config.attention_shape(), .scale = config.score_scale()});
  const auto join = [&](PlanId first, PlanId second) { return builder.step({.op = Op::kJoin, .x = first, .other = second}); };

  const PlanId query = builder.linear(x, "query", of.query, width, true, Hold::kSensitive);
  const PlanId key_value = builder.linear(x, "key_value", of.key_value, 2 * width, true, Hold::kSensitive);
  const PlanId qkv = join(query, key_value);
  builder.show_query_key_value(qkv);
  const PlanId context = builder.named(builder.step({.op = Op::kAttention, .x = qkv, .attention = constants}), "attention.context");

  const PlanId filtered =
      builder.step({.op = Op::kDepthwise, .x = x}, {"depthwise", &of.depthwise, Hold::kFilter, false, hidden, kernel});
  const PlanId key = builder.linear(filtered, "pointwise", of.pointwise, width, true, Hold::kSensitive);
  const PlanId product =
      builder.step({.op = Op::kGate, .variant = static_cast<std::uint8_t>(Activation::kNone), .x = join(key, query)});
  const PlanId logits = builder.linear(product, "kernel", of.kernel, config.num_attention_heads * kernel, true, Hold::kSensitive);
  const PlanId values = builder.linear(x, "values", of.values, width, true, Hold::kSensitive);
  const PlanId convolved = builder.step(
      {.op = Op::kDynamicConvolution, .x = values, .other = logits, .attention = constants, .factor = static_cast<float>(kernel)});
  return builder.linear(join(context, convolved), "attention_output", builder.layer().attention_output, hidden, true);
}

// A matrix in groups: the tensor is [groups, in / groups, out / groups]. The layer has zeros between them.
void add_grouped(const std::string& name, const LinearWeights& layer, std::int64_t groups, TargetList& list) {
  if (groups <= 1) return list.linear(name, layer, 0, layer.out);
  const std::int64_t inputs = layer.in / groups, outputs = layer.out / groups;
  const auto kept = std::make_shared<std::vector<float>>();
  list.targets.push_back({name + ".weight", {groups, inputs, outputs}, true, [=](std::int64_t i, const float* row) {
                            if (i % inputs == 0) kept->clear();
                            kept->insert(kept->end(), row, row + outputs);
                            if ((i + 1) % inputs != 0) return;
                            const std::int64_t group = i / inputs;
                            for (std::int64_t output = 0; output < outputs; ++output) {
                              std::vector<float> whole(static_cast<std::size_t>(layer.in));
                              for (std::int64_t input = 0; input < inputs; ++input) {
                                whole[static_cast<std::size_t>(group * inputs + input)] =
                                    (*kept)[static_cast<std::size_t>(input * outputs + output)];
                              }
                              set_weight_row(layer, group * outputs + output, whole.data());
                            }
                          }});
  list.vector(name + ".bias", layer.bias, layer.out);
  list.place(&layer, layer.bias, 0, layer.out);
}

void add_layer_targets(const TransformerConfig& config, const TransformerLayer& layer, std::size_t i, TargetList& list) {
  const std::string at = "encoder.layer." + std::to_string(i) + ".", self = at + "attention.self.";
  const std::int64_t width = config.query_width(), hidden = config.hidden_size;
  const auto& of = layer.span;
  list.linear(self + "query", of.query, 0, width);
  list.linear(self + "key", of.key_value, 0, width);
  list.linear(self + "value", of.key_value, width, width);
  list.linear(self + "conv_kernel_layer", of.kernel, 0, of.kernel.out);
  list.linear(self + "conv_out_layer", of.values, 0, width);
  const std::string key = self + "key_conv_attn_layer.";
  list.targets.push_back(
      {key + "depthwise.weight", {hidden, 1, config.span_kernel}, true, [to = of.depthwise](auto row, auto* values) {
         set_weight_row(to, row, values);
       }});
  // The tensors' rows are single weights.
  const auto kept = std::make_shared<std::vector<float>>();
  list.targets.push_back(
      {key + "pointwise.weight", {width, hidden, 1}, true, [=, to = of.pointwise](std::int64_t row, auto* value) {
         if (row % hidden == 0) kept->clear();
         kept->push_back(*value);
         if ((row + 1) % hidden == 0) set_weight_row(to, row / hidden, kept->data());
       }});
  list.targets.push_back({key + "bias", {width, 1}, true, [to = of.pointwise](auto row, auto* value) { to.bias[row] = *value; }});
  list.place(&of.pointwise, of.pointwise.bias, 0, width);
  list.linear(at + "attention.output.dense", layer.attention_output, 0, hidden);
  list.norm(at + "attention.output.LayerNorm", layer.attention_norm, true);
  add_grouped(at + "intermediate.dense", layer.up, config.pointwise.up, list);
  add_grouped(at + "output.dense", layer.down, config.pointwise.down, list);
  list.norm(at + "output.LayerNorm", layer.ffn_norm, true);
}

constexpr RareLayers kLayers{.attention = attention, .add_targets = add_layer_targets};

void parse_config(Fields& config, ModelConfig& out) {
  TransformerConfig& encoder = out.transformer;
  encoder.rare = &kLayers;
  encoder.head_dim = 1;  // the heads that are left need to divide hidden_size
  read_bert_like(config, encoder);
  read_type_vocab_size(config, encoder);
  encoder.embedding_size = config.size_or("embedding_size", kMostWidth, 768);
  if (encoder.embedding_size == encoder.hidden_size) encoder.embedding_size = 0;
  const std::int64_t ratio = config.size_or("head_ratio", kMostHeads, 2);
  encoder.span_kernel = config.size_or("conv_kernel_size", kMostSpan, 9);
  // torch pads an even number of tokens to another length.
  if (encoder.span_kernel % 2 == 0) config.mismatch("conv_kernel_size", "an odd number");
  const std::int64_t groups = config.size_or("num_groups", kMostFfn, 1);
  if (!config.ok()) return;
  if (encoder.hidden_size % groups != 0 || encoder.intermediate_size % groups != 0) {
    config.mismatch("num_groups", "a divisor of hidden_size and intermediate_size");
  }
  if (groups > 1) encoder.pointwise.up = encoder.pointwise.down = groups;
  encoder.num_attention_heads = std::max<std::int64_t>(1, encoder.num_attention_heads / ratio);
  encoder.head_dim = encoder.hidden_size / encoder.num_attention_heads / 2;
  if (encoder.hidden_size != 2 * encoder.query_width()) {
    config.mismatch("hidden_size", "a multiple of 2 * " + std::to_string(encoder.num_attention_heads) + " (heads)");
  }
}

constexpr const char* kIgnored[] = {"generator_predictions.*", "generator_lm_head.*", "classifier.*", "qa_outputs.*"};

constexpr TransformerNames names() {
  TransformerNames names = kBertNames;
  names.embeddings_projection = "embeddings_project";
  names.pooler = nullptr;
  return names;
}

}  // namespace

extern const Arch kConvBert = {
    .model_type = "convbert",
    .base_prefix = "convbert.",
    .parse_config = parse_config,
    .names = names(),
    .ignored = kIgnored,
    .heads = {.sequence = {.dense = "classifier.dense",
                           .activation = Activation::kGelu,
                           .activation_key = "hidden_act",
                           .output = "classifier.out_proj"},
              .token = {.output = "classifier"},
              .answer = {.output = "qa_outputs"},
              .masked_lm = {.dense = "generator_predictions.dense",
                            .activation = Activation::kGelu,
                            .norm = "generator_predictions.LayerNorm",
                            .output = "generator_lm_head.bias",
                            .tied = true}},
    .defaults = {kBertDefaults, R"("embedding_size": 768)"},
};

}  // namespace wattn
