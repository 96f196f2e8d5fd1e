// A feed-forward by experts: each token by those that its router finds best.
#include "models/experts.h"

#include <algorithm>
#include <memory>

#include "models/slot_list.h"
#include "ops/activation.h"

namespace wattn {
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

// visit(token, row): the tokens of an expert, and their rows among these. Gives their number.
template <class Visit>
std::int64_t each_token(const TransformerConfig& config, const float* probabilities, std::int64_t tokens, std::int64_t expert,
                        const Visit& visit) {
  const std::int64_t experts = config.experts.count;
  std::int64_t rows = 0;
  for (std::int64_t i = 0; i < tokens; ++i) {
    if (is_chosen(probabilities + i * experts, experts, config.experts.top_k, expert)) visit(i, rows++);
  }
  return rows;
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
    const std::int64_t rows = each_token(config, scratch.logits, tokens, expert, [&](std::int64_t token, std::int64_t row) {
      std::copy_n(x + token * hidden, hidden, scratch.rows + row * hidden);
    });
    if (rows == 0) continue;
    const auto at = static_cast<std::size_t>(expert);
    linear(compute, layer.experts->up[at], scratch.rows, rows, config.hidden_act, linear_scratch, scratch.up);
    linear(compute, layer.experts->down[at], scratch.up, rows, Activation::kNone, linear_scratch, scratch.down);
    each_token(config, scratch.logits, tokens, expert, [&](std::int64_t token, std::int64_t row) {
      const float share = scratch.logits[token * experts + expert];
      compute.kernels.axpy(share, scratch.down + row * hidden, scratch.sum + token * hidden, hidden);
    });
  }
  std::copy_n(scratch.sum, tokens * hidden, out);
}

// With y_e the output of expert e, p its probability, and l the router's logits: the sum is the bias and p_e y_e of those chosen.
// So dp_e = dy y_e, or 0 of the others; dy_e = p_e dy; and dl is that of the softmax over all.
void experts_backward(const Compute& compute, const TransformerConfig& config, const TransformerLayer& layer,
                      const ExpertsGradient& g, const ExpertsScratch& scratch, float* d_logits, float* linear_scratch) {
  const std::int64_t hidden = config.hidden_size, ffn = config.intermediate_size, experts = config.experts.count;
  const Experts& model = *layer.experts;
  const Experts* gradients = g.gradients ? g.gradients->experts.get() : nullptr;
  const auto backward_of = [&](const Linear& linear, const Linear* d_linear, const float* x, const float* dy, std::int64_t rows,
                               float* dx) {
    linear_backward(
        compute,
        {.in = linear.in, .out = linear.out, .tokens = rows, .layer = &linear, .x = x, .dy = dy, .dx = dx, .d_layer = d_linear},
        linear_scratch);
  };
  linear(compute, model.router, g.x, g.tokens, Activation::kNone, {}, scratch.logits);
  compute.kernels.softmax_rows(scratch.logits, g.tokens, experts, experts);
  std::fill_n(d_logits, g.tokens * experts, 0.0f);
  std::fill_n(scratch.sum, g.tokens * hidden, 0.0f);
  for (std::int64_t expert = 0; expert < experts; ++expert) {
    const auto each = [&](const auto& visit) { return each_token(config, scratch.logits, g.tokens, expert, visit); };
    const std::int64_t rows =
        each([&](std::int64_t token, std::int64_t row) { std::copy_n(g.x + token * hidden, hidden, scratch.rows + row * hidden); });
    if (rows == 0) continue;
    const auto at = static_cast<std::size_t>(expert);
    float *up = scratch.up, *active = up + rows * ffn;
    linear(compute, model.up[at], scratch.rows, rows, Activation::kNone, {}, up);
    compute.kernels.activate(config.hidden_act, up, active, rows * ffn);
    linear(compute, model.down[at], active, rows, Activation::kNone, {}, scratch.down);
    each([&](std::int64_t token, std::int64_t row) {
      const float *dy = g.dy + token * hidden, share = scratch.logits[token * experts + expert];
      float* down = scratch.down + row * hidden;  // becomes its gradient
      d_logits[token * experts + expert] = compute.kernels.dot(dy, down, hidden);
      for (std::int64_t j = 0; j < hidden; ++j) down[j] = share * dy[j];
    });
    backward_of(model.down[at], gradients ? &gradients->down[at] : nullptr, active, scratch.down, rows, active);
    activate_backward(compute, config.hidden_act, up, active, rows, ffn, active);
    backward_of(model.up[at], gradients ? &gradients->up[at] : nullptr, scratch.rows, active, rows, scratch.rows);
    each([&](std::int64_t token, std::int64_t row) {
      compute.kernels.axpy(1.0f, scratch.rows + row * hidden, scratch.sum + token * hidden, hidden);
    });
  }
  for (std::int64_t i = 0; i < g.tokens; ++i) {
    const float* p = scratch.logits + i * experts;
    float* d = d_logits + i * experts;
    const float sum = compute.kernels.dot(p, d, experts);
    for (std::int64_t j = 0; j < experts; ++j) d[j] = p[j] * (d[j] - sum);
  }
  backward_of(model.router, gradients ? &gradients->router : nullptr, g.x, d_logits, g.tokens, g.dx);
  for (std::int64_t i = 0; i < g.tokens * hidden; ++i) g.dx[i] += scratch.sum[i];
  float* d_bias = gradients ? gradients->bias : g.d_bias;
  for (std::int64_t i = 0; d_bias && i < g.tokens; ++i) compute.kernels.axpy(1.0f, g.dy + i * hidden, d_bias, hidden);
}

}  // namespace wattn
