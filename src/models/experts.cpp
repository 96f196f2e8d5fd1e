// The weights of a mixture-of-experts feed-forward (ops/experts.h).
#include "ops/experts.h"

#include <algorithm>
#include <memory>

#include "models/target_list.h"
#include "models/transformer.h"

namespace wattn {
namespace {

void take_experts(Arena& arena, const Kernels& kernels, WeightType type, const TransformerConfig& config,
                  std::shared_ptr<Experts>& experts) {
  const std::int64_t hidden = config.hidden_size, ffn = config.intermediate_size;
  experts = std::make_shared<Experts>();
  experts->router = take_linear(arena, kernels, WeightType::kF32, hidden, config.experts.count, false);
  for (std::int64_t i = 0; i < config.experts.count; ++i) {
    experts->up.push_back(take_linear(arena, kernels, type, hidden, ffn, false));
    experts->down.push_back(take_linear(arena, kernels, type, ffn, hidden, false));
  }
  experts->bias = arena.take<float>(hidden);
  experts->top_k = config.experts.top_k;
}

// Both tensors have a row for each expert's hidden unit; those of down are columns of its matrix.
// llama.cpp has the second matrices transposed, and no bias.
void add_gguf_targets(const TransformerConfig& config, const TransformerLayer& layer, std::size_t i, TargetList& list) {
  const std::int64_t hidden = config.hidden_size, ffn = config.intermediate_size, count = config.experts.count;
  list.linear(layer_name("blk.{}.ffn_gate_inp", i), layer.experts->router, 0, count, false);
  const auto add = [&](const char* name, std::int64_t rows, std::int64_t width, const std::vector<LinearWeights>& experts) {
    list.targets.push_back({layer_name(name, i), {count, rows, width}, true, [=](std::int64_t row, const float* values) {
                              set_weight_row(experts[static_cast<std::size_t>(row / rows)], row % rows, values);
                            }});
  };
  add("blk.{}.ffn_up_exps.weight", ffn, hidden, layer.experts->up);
  add("blk.{}.ffn_down_exps.weight", hidden, ffn, layer.experts->down);
}

void add_experts_targets(const TransformerConfig& config, const TransformerNames& names, const TransformerLayer& layer,
                         std::size_t i, bool is_gguf, TargetList& list) {
  if (is_gguf) return add_gguf_targets(config, layer, i, list);
  const std::int64_t hidden = config.hidden_size, ffn = config.intermediate_size, rows = config.experts.count * ffn;
  list.linear(layer_name(names.router, i), layer.experts->router, 0, config.experts.count, false);
  list.targets.push_back(
      {layer_name(names.experts_up, i), {rows, hidden}, true, [up = layer.experts->up, ffn](auto row, auto* values) {
         set_weight_row(up[static_cast<std::size_t>(row / ffn)], row % ffn, values);
       }});
  const auto kept = std::make_shared<std::vector<float>>();
  list.targets.push_back({layer_name(names.experts_down, i),
                          {rows, hidden},
                          true,
                          [down = layer.experts->down, kept, ffn, hidden](std::int64_t row, const float* values) {
                            kept->insert(kept->end(), values, values + hidden);
                            if ((row + 1) % ffn != 0) return;
                            std::vector<float> column(static_cast<std::size_t>(ffn));
                            for (std::int64_t j = 0; j < hidden; ++j) {
                              for (std::int64_t k = 0; k < ffn; ++k) column[k] = (*kept)[k * hidden + j];
                              set_weight_row(down[static_cast<std::size_t>(row / ffn)], j, column.data());
                            }
                            kept->clear();
                          }});
  list.vector(layer_name(names.experts_bias, i), layer.experts->bias, hidden);
}

}  // namespace

const ExpertLayers kExpertLayers{take_experts, add_experts_targets};

}  // namespace wattn
