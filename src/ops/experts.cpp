// build: -Os
// A mixture-of-experts feed-forward: each token goes to the experts that its router scores highest.
#include "ops/experts.h"

#include <algorithm>

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
std::int64_t each_token(const Experts& experts, const float* probabilities, std::int64_t tokens, std::int64_t expert,
                        const Visit& visit) {
  std::int64_t rows = 0;
  for (std::int64_t i = 0; i < tokens; ++i) {
    if (is_chosen(probabilities + i * experts.count(), experts.count(), experts.top_k, expert)) visit(i, rows++);
  }
  return rows;
}

}  // namespace

ExpertsScratch take_experts_scratch(Arena& arena, const Experts& experts, std::int64_t tokens, bool backward) {
  const std::int64_t hidden = tokens * experts.hidden(), ffn = tokens * experts.ffn();
  return {arena.take<float>(tokens * experts.count()), arena.take<float>(hidden), arena.take<float>(backward ? 2 * ffn : ffn),
          arena.take<float>(hidden)};
}

void experts_feed_forward(const Compute& compute, const Experts& experts, Activation activation, const ExpertsScratch& scratch,
                          const LinearScratch& linear_scratch, const float* x, std::int64_t tokens, float* out) {
  const std::int64_t hidden = experts.hidden(), count = experts.count();
  linear(compute, experts.router, x, tokens, Activation::kNone, linear_scratch, scratch.logits);
  compute.kernels.softmax_rows(scratch.logits, tokens, count, count);
  for (std::int64_t i = 0; i < tokens; ++i) std::copy_n(experts.bias, hidden, out + i * hidden);
  for (std::int64_t expert = 0; expert < count; ++expert) {
    const std::int64_t rows = each_token(experts, scratch.logits, tokens, expert, [&](std::int64_t token, std::int64_t row) {
      std::copy_n(x + token * hidden, hidden, scratch.rows + row * hidden);
    });
    if (rows == 0) continue;
    const auto at = static_cast<std::size_t>(expert);
    linear(compute, experts.up[at], scratch.rows, rows, activation, linear_scratch, scratch.up);
    linear(compute, experts.down[at], scratch.up, rows, Activation::kNone, linear_scratch, scratch.down);
    each_token(experts, scratch.logits, tokens, expert, [&](std::int64_t token, std::int64_t row) {
      const float share = scratch.logits[token * count + expert];
      compute.kernels.axpy(share, scratch.down + row * hidden, out + token * hidden, hidden);
    });
  }
}

// With y_e the output of expert e, p its probability, and l the router's logits: the sum is the bias and p_e y_e of those chosen.
// So dp_e = dy y_e, or 0 of the others; dy_e = p_e dy; and dl is that of the softmax over all.
void experts_backward(const Compute& compute, const Experts& model, Activation activation, const ExpertsGradient& g,
                      const ExpertsScratch& scratch, float* sum_of_experts, float* d_logits, float* linear_scratch) {
  const std::int64_t hidden = model.hidden(), ffn = model.ffn(), experts = model.count();
  const Experts* gradients = g.gradients;
  const auto backward_of = [&](const LinearWeights& linear, const LinearWeights* d_linear, const float* x, const float* dy,
                               std::int64_t rows, float* dx) {
    linear_backward(
        compute,
        {.in = linear.in, .out = linear.out, .tokens = rows, .layer = &linear, .x = x, .dy = dy, .dx = dx, .d_layer = d_linear},
        linear_scratch);
  };
  linear(compute, model.router, g.x, g.tokens, Activation::kNone, {}, scratch.logits);
  compute.kernels.softmax_rows(scratch.logits, g.tokens, experts, experts);
  std::fill_n(d_logits, g.tokens * experts, 0.0f);
  std::fill_n(sum_of_experts, g.tokens * hidden, 0.0f);
  for (std::int64_t expert = 0; expert < experts; ++expert) {
    const auto each = [&](const auto& visit) { return each_token(model, scratch.logits, g.tokens, expert, visit); };
    const std::int64_t rows =
        each([&](std::int64_t token, std::int64_t row) { std::copy_n(g.x + token * hidden, hidden, scratch.rows + row * hidden); });
    if (rows == 0) continue;
    const auto at = static_cast<std::size_t>(expert);
    float *up = scratch.up, *active = up + rows * ffn;
    linear(compute, model.up[at], scratch.rows, rows, Activation::kNone, {}, up);
    compute.kernels.activate(activation, up, active, rows * ffn);
    linear(compute, model.down[at], active, rows, Activation::kNone, {}, scratch.down);
    each([&](std::int64_t token, std::int64_t row) {
      const float *dy = g.dy + token * hidden, share = scratch.logits[token * experts + expert];
      float* down = scratch.down + row * hidden;  // becomes its gradient
      d_logits[token * experts + expert] = compute.kernels.dot(dy, down, hidden);
      for (std::int64_t j = 0; j < hidden; ++j) down[j] = share * dy[j];
    });
    backward_of(model.down[at], gradients ? &gradients->down[at] : nullptr, active, scratch.down, rows, active);
    activate_backward(compute, activation, up, active, rows, ffn, active);
    backward_of(model.up[at], gradients ? &gradients->up[at] : nullptr, scratch.rows, active, rows, scratch.rows);
    each([&](std::int64_t token, std::int64_t row) {
      compute.kernels.axpy(1.0f, scratch.rows + row * hidden, sum_of_experts + token * hidden, hidden);
    });
  }
  for (std::int64_t i = 0; i < g.tokens; ++i) {
    const float* p = scratch.logits + i * experts;
    float* d = d_logits + i * experts;
    const float sum = compute.kernels.dot(p, d, experts);
    for (std::int64_t j = 0; j < experts; ++j) d[j] = p[j] * (d[j] - sum);
  }
  backward_of(model.router, gradients ? &gradients->router : nullptr, g.x, d_logits, g.tokens, g.dx);
  for (std::int64_t i = 0; i < g.tokens * hidden; ++i) g.dx[i] += sum_of_experts[i];
  float* d_bias = gradients ? gradients->bias : g.d_bias;
  for (std::int64_t i = 0; d_bias && i < g.tokens; ++i) compute.kernels.axpy(1.0f, g.dy + i * hidden, d_bias, hidden);
}

}  // namespace wattn
