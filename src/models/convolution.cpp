// The weights of convolutions: that beside DeBERTa-v2's first layer, ConvLayer in
// transformers/models/deberta_v2/modeling_deberta_v2.py (v5.23.0), and the short ones of LFM2.
#include <algorithm>
#include <memory>

#include "models/config_fields.h"
#include "models/target_list.h"
#include "models/transformer.h"

namespace wattn {
namespace {

void read_convolution(Fields& config, TransformerConfig& out) {
  auto& convolution = out.convolution;
  convolution.kernel = config.integer_or("conv_kernel_size", 0, 0, 63);
  if (convolution.kernel == 0) return;
  // torch pads an even number of tokens to another length.
  if (convolution.kernel % 2 == 0) config.mismatch("conv_kernel_size", "an odd number");
  convolution.groups = config.size_or("conv_groups", out.hidden_size, 1);
  if (config.ok() && out.hidden_size % convolution.groups != 0) {
    config.mismatch("conv_groups", "a divisor of hidden_size " + std::to_string(out.hidden_size));
  }
  if (config.has("conv_act")) convolution.activation = read_activation(config, "conv_act");
}

// The tensor's rows are the weights of an output and an input, at each place of the window. Inputs of other groups keep zeros.
void add_convolution_targets(const TransformerConfig& config, const TransformerNames& names, const Convolution& convolution,
                             TargetList& list) {
  const std::int64_t hidden = config.hidden_size, kernel = config.convolution.kernel, inputs = hidden / config.convolution.groups;
  const auto kept = std::make_shared<std::vector<float>>();
  list.targets.push_back({std::string(names.convolution) + ".weight",
                          {hidden, inputs, kernel},
                          true,
                          [layer = convolution.layer, kept, hidden, kernel, inputs](std::int64_t row, const float* values) {
                            const std::int64_t output = row / inputs, input = row % inputs;
                            if (input == 0) kept->assign(static_cast<std::size_t>(kernel * hidden), 0.0f);
                            float* to = kept->data() + output / inputs * inputs + input;
                            for (std::int64_t k = 0; k < kernel; ++k) to[k * hidden] = values[k];
                            if (input + 1 == inputs) set_weight_row(layer, output, kept->data());
                          }});
  list.vector(std::string(names.convolution) + ".bias", convolution.layer.bias, hidden);
  list.norm(names.convolution_norm, convolution.norm, true);
}

void add_short_convolution_targets(const TransformerConfig& config, const TransformerNames& names, const TransformerLayer& layer,
                                   std::size_t i, TargetList& list) {
  const std::int64_t hidden = config.hidden_size;
  const bool bias = config.short_convolution.bias;
  list.linear(layer_name(names.short_convolution_in, i), layer.convolution_in, 0, 3 * hidden, bias);
  const std::string filter = layer_name(names.short_convolution, i);
  list.targets.push_back({filter + ".weight",
                          {hidden, 1, config.short_convolution.kernel},
                          true,
                          [to = layer.convolution_filter](auto row, auto* values) { set_weight_row(to, row, values); }});
  if (bias) list.vector(filter + ".bias", layer.convolution_filter.bias, hidden);
  list.linear(layer_name(names.short_convolution_out, i), layer.convolution_out, 0, hidden, bias);
}

// The tensor's rows are single weights.
void add_pointwise_targets(const TransformerConfig& config, const TransformerNames& names, const char* pattern,
                           const std::string& name, const LinearWeights& layer, std::int64_t first, std::int64_t out,
                           TargetList& list) {
  const auto& groups_of = config.pointwise;
  const std::pair<const char*, std::int64_t> all[] = {
      {names.query, groups_of.query}, {names.key, groups_of.key},   {names.value, groups_of.value},
      {names.up, groups_of.up},       {names.down, groups_of.down}, {names.attention_output, groups_of.attention_output}};
  std::int64_t groups = 1;
  for (const auto& [of, count] : all) {
    if (of == pattern) groups = count;
  }
  const std::int64_t inputs = layer.in / groups, outputs = out / groups;
  const auto kept = std::make_shared<std::vector<float>>();
  list.targets.push_back({name + ".weight", {out, inputs, 1}, true, [=](std::int64_t i, const float* value) {
                            const std::int64_t output = i / inputs, input = i % inputs;
                            if (input == 0) kept->assign(static_cast<std::size_t>(layer.in), 0.0f);
                            (*kept)[static_cast<std::size_t>(output / outputs * inputs + input)] = *value;
                            if (input + 1 == inputs) set_weight_row(layer, first + output, kept->data());
                          }});
  list.vector(name + ".bias", layer.bias + first, out);
  list.place(&layer, layer.bias, first, layer.out);
}

}  // namespace

const Convolutions kConvolutions{read_convolution, add_convolution_targets, add_short_convolution_targets, add_pointwise_targets};

}  // namespace wattn
