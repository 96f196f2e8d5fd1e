// The weights and steps of layers with a Gated DeltaNet (ops/gated_delta.h).
#include "ops/gated_delta.h"

#include <cmath>
#include <functional>
#include <memory>
#include <vector>

#include "models/layer_builder.h"
#include "models/target_list.h"
#include "models/transformer.h"

namespace wattn {
namespace {

GatedDelta sizes_of(const TransformerConfig& config) {
  const auto& of = config.gated_delta;
  GatedDelta out;
  out.key_heads = of.key_heads;
  out.value_heads = of.value_heads;
  out.key_dim = of.key_dim;
  out.value_dim = of.value_dim;
  return out;
}

void take_gated_delta(Arena& arena, const Kernels& kernels, const TransformerConfig& config, std::shared_ptr<GatedDelta>& to) {
  GatedDelta out = sizes_of(config);
  out.filter = take_linear(arena, kernels, WeightType::kF32, config.gated_delta.kernel, out.mixed_width(), false);
  out.decay = arena.take<float>(out.value_heads);
  out.step_bias = arena.take<float>(out.value_heads);
  out.norm = take_layer_norm(arena, out.value_dim, config.norm_eps);
  to = std::make_shared<GatedDelta>(out);
}

PlanId gated_delta_layer(LayerBuilder& builder, PlanId x) {
  const TransformerConfig& config = builder.config();
  const GatedDelta of = sizes_of(config);
  TransformerLayer& layer = builder.layer();
  const PlanId columns = builder.linear(x, "delta_in", layer.delta_in, of.columns(), false, Hold::kSensitive);
  // In f32: a few rows, whose errors a state keeps.
  const PlanId gates = builder.linear(x, "delta_gates", layer.delta_gates, 2 * of.value_heads, false, Hold::kFilter);
  const PlanId y =
      builder.step({.op = Op::kGatedDelta, .variant = static_cast<std::uint8_t>(config.hidden_act), .x = columns, .other = gates},
                   {"gated_delta", &layer.gated_delta, Hold::kGatedDelta, false, of.value_width(), of.columns(), Learned::kNever});
  return builder.linear(y, "delta_out", layer.delta_out, config.hidden_size, false);
}

using RowOf = std::function<std::int64_t(std::int64_t)>;

// llama.cpp has the value heads of all first places of their key heads, then those of all second places, and so on. Where a value
// head's rows are here, by where they are there. size: rows of a head.
RowOf value_row(const GatedDelta& of, std::int64_t size) {
  return [key_heads = of.key_heads, group = of.value_heads / of.key_heads, size](std::int64_t row) {
    const std::int64_t head = row / size;
    return (head % key_heads * group + head / key_heads) * size + row % size;
  };
}

// What the converter of llama.cpp changes (conversion/qwen.py at 03173d5e): the order of value heads, A_log to -exp(A_log), and the
// filter to two dimensions.
void add_gguf_targets(const TransformerConfig& config, const std::string& module, const TransformerLayer& layer, TargetList& list) {
  const GatedDelta& of = *layer.gated_delta;
  const std::int64_t keys = 2 * of.key_width(), mixed = of.mixed_width();
  const RowOf row_of = value_row(of, of.value_dim), head_of = value_row(of, 1);
  const RowOf mixed_row = [=](std::int64_t row) { return row < keys ? row : keys + row_of(row - keys); };
  list.permuted_linear(module + "in_proj_qkv", layer.delta_in, mixed, false, true, mixed_row);
  list.permuted_linear(module + "in_proj_z", layer.delta_in, of.value_width(), false, true,
                       RowOf([=](std::int64_t row) { return mixed + row_of(row); }));
  list.permuted_linear(module + "in_proj_b", layer.delta_gates, of.value_heads, false, true, head_of);
  list.permuted_linear(module + "in_proj_a", layer.delta_gates, of.value_heads, false, true,
                       RowOf([=, heads = of.value_heads](std::int64_t row) { return heads + head_of(row); }));
  list.matrix(module + "conv1d", mixed, of.filter.in, true,
              [=, to = of.filter](std::int64_t row, const float* values) { set_weight_row(to, mixed_row(row), values); });
  const auto each_head = [&](const char* name, float* to, float (*read)(float)) {
    list.targets.push_back({module + name, {of.value_heads}, true, [=, heads = of.value_heads](std::int64_t, const float* values) {
                              for (std::int64_t head = 0; head < heads; ++head) to[head_of(head)] = read(values[head]);
                            }});
  };
  each_head("ssm_a", of.decay, [](float value) { return static_cast<float>(std::log(-static_cast<double>(value))); });
  each_head("dt.bias", of.step_bias, [](float value) { return value; });
  list.norm(module + "norm", of.norm, false);
  list.matrix(module + "out_proj", config.hidden_size, of.value_width(), true,
              [=, to = layer.delta_out, line = std::vector<float>(static_cast<std::size_t>(of.value_width()))](
                  std::int64_t row, const float* values) mutable {
                for (std::size_t i = 0; i < line.size(); ++i)
                  line[static_cast<std::size_t>(row_of(static_cast<std::int64_t>(i)))] = values[i];
                set_weight_row(to, row, line.data());
              });
  list.place(&layer.delta_out, nullptr, 0, config.hidden_size);
}

void add_gated_delta_targets(const TransformerConfig& config, const TransformerNames& names, const TransformerLayer& layer,
                             std::size_t i, bool is_gguf, TargetList& list) {
  if (is_gguf) return add_gguf_targets(config, layer_name(names.gated_delta, i) + ".", layer, list);
  const GatedDelta& of = *layer.gated_delta;
  const std::string module = layer_name(names.gated_delta, i) + ".";
  list.linear(module + "in_proj_qkv", layer.delta_in, 0, of.mixed_width(), false);
  list.linear(module + "in_proj_z", layer.delta_in, of.mixed_width(), of.value_width(), false);
  list.linear(module + "in_proj_b", layer.delta_gates, 0, of.value_heads, false);
  list.linear(module + "in_proj_a", layer.delta_gates, of.value_heads, of.value_heads, false);
  list.targets.push_back(
      {module + "conv1d.weight", {of.mixed_width(), 1, of.filter.in}, true, [to = of.filter](auto row, auto* values) {
         set_weight_row(to, row, values);
       }});
  list.vector(module + "A_log", of.decay, of.value_heads);
  list.vector(module + "dt_bias", of.step_bias, of.value_heads);
  list.norm(module + "norm", of.norm, false);
  list.linear(module + "out_proj", layer.delta_out, 0, config.hidden_size, false);
}

std::int64_t state_size(const TransformerConfig& config) {
  return gated_delta_state_size(sizes_of(config), config.gated_delta.kernel);
}

}  // namespace

const GatedDeltas kGatedDeltas{take_gated_delta, gated_delta_layer, add_gated_delta_targets, state_size};

}  // namespace wattn
