// A feed-forward by experts: each token by those that its router finds best.
#include <algorithm>
#include <memory>

#include "models/slot_list.h"
#include "models/transformer.h"

namespace wattn {

struct Experts {
  Linear router;  // [experts, hidden]
  std::vector<Linear> up, down;
  float* bias = nullptr;  // [hidden]
};

namespace {

// Whether the expert is among the top_k of a token's probabilities. Of equal ones, the first counts as better.
bool is_chosen(const float* probabilities, std::int64_t experts, std::int64_t top_k, std::int64_t expert) {
  std::int64_t better = 0;
  for (std::int64_t other = 0; other < experts; ++other) {
    const float a = probabilities[other], b = probabilities[expert];
    if (a > b || (a == b && other < expert)) ++better;
  }
  return better < top_k;
}

}  // namespace

void take_experts(Arena& arena, const Kernels& kernels, WeightType type, const TransformerConfig& config, TransformerLayer& layer) {
  const std::int64_t hidden = config.hidden_size, ffn = config.intermediate_size;
  layer.experts = std::make_shared<Experts>();
  layer.experts->router = take_linear(arena, kernels, WeightType::kF32, hidden, config.experts.count, false);
  for (std::int64_t i = 0; i < config.experts.count; ++i) {
    layer.experts->up.push_back(take_linear(arena, kernels, type, hidden, ffn, false));
    layer.experts->down.push_back(take_linear(arena, kernels, type, ffn, hidden, false));
  }
  layer.experts->bias = arena.take<float>(hidden);
}

// Both tensors have a row for each expert's hidden unit; those of down are columns of its matrix.
void add_experts_slots(const TransformerConfig& config, const TransformerNames& names, const TransformerLayer& layer, std::size_t i,
                       SlotList& list) {
  const std::int64_t hidden = config.hidden_size, ffn = config.intermediate_size, rows = config.experts.count * ffn;
  list.linear(layer_name(names.router, i), layer.experts->router, 0, config.experts.count, false);
  list.slots.push_back(
      {layer_name(names.experts_up, i), {rows, hidden}, true, [up = layer.experts->up, ffn](auto row, auto* values) {
         set_weight_row(up[static_cast<std::size_t>(row / ffn)], row % ffn, values);
       }});
  const auto kept = std::make_shared<std::vector<float>>();
  list.slots.push_back({layer_name(names.experts_down, i),
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

void experts_feed_forward(const Compute& compute, const TransformerConfig& config, const TransformerLayer& layer,
                          const ExpertsScratch& scratch, const LinearScratch& linear_scratch, const float* x, std::int64_t tokens,
                          float* out) {
  const std::int64_t hidden = config.hidden_size, experts = config.experts.count;
  linear(compute, layer.experts->router, x, tokens, Activation::kNone, linear_scratch, scratch.logits);
  compute.kernels.softmax_rows(scratch.logits, tokens, experts, experts);
  for (std::int64_t i = 0; i < tokens; ++i) std::copy_n(layer.experts->bias, hidden, scratch.sum + i * hidden);
  for (std::int64_t expert = 0; expert < experts; ++expert) {
    // visit(token, row): its tokens, and their rows in scratch.rows.
    const auto each_token = [&](auto visit) {
      std::int64_t rows = 0;
      for (std::int64_t i = 0; i < tokens; ++i) {
        if (is_chosen(scratch.logits + i * experts, experts, config.experts.top_k, expert)) visit(i, rows++);
      }
      return rows;
    };
    const std::int64_t rows = each_token(
        [&](std::int64_t token, std::int64_t row) { std::copy_n(x + token * hidden, hidden, scratch.rows + row * hidden); });
    if (rows == 0) continue;
    const auto at = static_cast<std::size_t>(expert);
    linear(compute, layer.experts->up[at], scratch.rows, rows, config.hidden_act, linear_scratch, scratch.up);
    linear(compute, layer.experts->down[at], scratch.up, rows, Activation::kNone, linear_scratch, scratch.down);
    each_token([&](std::int64_t token, std::int64_t row) {
      const float share = scratch.logits[token * experts + expert];
      compute.kernels.axpy(share, scratch.down + row * hidden, scratch.sum + token * hidden, hidden);
    });
  }
  std::copy_n(scratch.sum, tokens * hidden, out);
}

}  // namespace wattn
