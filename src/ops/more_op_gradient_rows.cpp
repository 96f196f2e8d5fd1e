// build: -Oz
// The derivatives of rare ops.
#include <algorithm>
#include <memory>

#include "ops/experts.h"
#include "ops/global_attention.h"
#include "ops/norm.h"
#include "ops/op_gradient.h"
#include "ops/short_convolution.h"
#include "ops/span_convolution.h"
#include "ops/token_dropout.h"
#include "ops/windows.h"

namespace wattn {
namespace {

void windows_backward(const GradientCall& call) {
  const Batch& batch = *call.forward.pass.batch;
  const std::int64_t width = call.forward.x_width;
  const float* from = call.d_out;
  for_each_window_token(batch, call.forward.width / width, call.forward.variant == 1, [&](std::int64_t token) {
    if (token >= 0) call.forward.pass.compute->kernels.axpy(1, from, call.d_x + token * width, width);
    from += width;
  });
}

const Experts& experts_of(const OpCall& call) { return **static_cast<const std::shared_ptr<Experts>*>(call.weight); }

struct Memory {
  ExpertsScratch experts;
  float *sum, *d_router;  // [rows, hidden], [rows, experts]
  float* linear;
};
Memory take(const OpCall& call) {
  const Experts& experts = experts_of(call);
  Arena& arena = *call.scratch;
  std::int64_t floats = 0;
  for (const auto& [in, out] :
       {std::pair{experts.hidden(), experts.count()}, {experts.hidden(), experts.ffn()}, {experts.ffn(), experts.hidden()}}) {
    floats = std::max(floats, linear_backward_scratch(in, out, call.rows, call.pass.sizes.threads));
  }
  return {take_experts_scratch(arena, experts, call.rows, true), arena.take<float>(call.rows * experts.hidden()),
          arena.take<float>(call.rows * experts.count()), arena.take<float>(floats)};
}

void run_experts_backward(const GradientCall& call) {
  const OpCall& forward = call.forward;
  const Experts& experts = experts_of(forward);
  const Memory memory = take(forward);
  experts_backward(*forward.pass.compute, experts, static_cast<Activation>(forward.variant),
                   {.x = forward.x,
                    .dy = call.d_out,
                    .dx = call.d_x,
                    .gradients = call.gradient ? static_cast<const std::shared_ptr<Experts>*>(call.gradient)->get() : nullptr,
                    .d_bias = call.gradient ? nullptr : forward.pass.training->bias_gradient(experts.bias),
                    .tokens = forward.rows},
                   memory.experts, memory.sum, memory.d_router, memory.linear);
}

Learns experts_learn(const OpCall& call) {
  return call.pass.training->bias_gradient(experts_of(call).bias) ? Learns::kBias : Learns::kNothing;
}

void run_short_convolution_backward(const GradientCall& call) {
  const OpCall& forward = call.forward;
  const auto* gradient = static_cast<const LinearWeights*>(call.gradient);
  const float* bias = static_cast<const LinearWeights*>(forward.weight)->bias;
  short_convolution_backward(forward,
                             {.d_out = call.d_out,
                              .d_x = call.d_x,
                              .d_filter = gradient,
                              .d_bias = gradient && gradient->bias ? gradient->bias : forward.pass.training->bias_gradient(bias)});
}

Learns short_convolution_learns(const OpCall& call) {
  const float* bias = static_cast<const LinearWeights*>(call.weight)->bias;
  return call.pass.training->bias_gradient(bias) ? Learns::kBias : Learns::kNothing;
}

void token_dropout_backward(const GradientCall& call) {
  const std::int64_t width = call.forward.width;
  for_each_token_dropout(call.forward, [&](std::int64_t token, float scale) {
    for (std::int64_t j = 0; j < width; ++j) call.d_x[token * width + j] += scale * call.d_out[token * width + j];
  });
}

const LayerNorm& norm_of(const OpCall& call) { return *static_cast<const LayerNorm*>(call.weight); }

void affine_backward(const GradientCall& call) {
  const LayerNorm& norm = norm_of(call.forward);
  const auto* gradient = static_cast<const LayerNorm*>(call.gradient);
  float* d_beta = gradient ? gradient->beta : call.forward.pass.training->bias_gradient(norm.beta);
  for (std::int64_t i = 0; i < call.forward.rows; ++i) {
    for (std::int64_t j = 0; j < norm.hidden; ++j) {
      const std::int64_t at = i * norm.hidden + j;
      const float d = call.d_out[at];
      if (gradient) gradient->gamma[j] += d * call.forward.x[at];
      if (d_beta) d_beta[j] += d;
      call.d_x[at] = norm.gamma[j] * d;
    }
  }
}

Learns affine_learns(const OpCall& call) {
  return call.pass.training->bias_gradient(norm_of(call).beta) ? Learns::kBias : Learns::kNothing;
}

void join_backward(const GradientCall& call) {
  const std::int64_t width = call.forward.width, first = call.forward.x_width, second = width - first;
  for (std::int64_t i = 0; i < call.forward.rows; ++i) {
    std::copy_n(call.d_out + i * width, first, call.d_x + i * first);
    if (call.d_other) std::copy_n(call.d_out + i * width + first, second, call.d_other + i * second);
  }
}

void run_global_attention_backward(const GradientCall& call) {
  global_attention_backward(call.forward, {.d_context = call.d_out, .d_x = call.d_x, .d_other = call.d_other});
}

void depthwise_backward(const GradientCall& call) {
  depthwise_convolution_backward(call.forward, call.d_out, call.d_x, static_cast<const LinearWeights*>(call.gradient));
}

void dynamic_backward(const GradientCall& call) { dynamic_convolution_backward(call.forward, call.d_out, call.d_x, call.d_other); }

constexpr GradientRow kRows[] = {
    {Reads::kNo, Reads::kNo, Reads::kNo, true, false, windows_backward},
    {Reads::kYes, Reads::kNo, Reads::kNo, false, false, run_experts_backward, [](const GradientCall& call) { take(call.forward); },
     experts_learn},
    {Reads::kYes, Reads::kNo, Reads::kNo, false, false, run_short_convolution_backward, nullptr, short_convolution_learns},
    {Reads::kNo, Reads::kNo, Reads::kNo, true, false, token_dropout_backward},
    {Reads::kToLearn, Reads::kNo, Reads::kNo, false, true, affine_backward, nullptr, affine_learns},
    {Reads::kNo, Reads::kNo, Reads::kNo, false, false, join_backward},
    {Reads::kYes, Reads::kYes, Reads::kNo, true, false, run_global_attention_backward,
     [](const GradientCall& call) { take_global_attention_backward(call.forward); }},
    {Reads::kToLearn, Reads::kNo, Reads::kNo, false, false, depthwise_backward},
    {Reads::kYes, Reads::kYes, Reads::kNo, true, false, dynamic_backward},
    {Reads::kNo, Reads::kNo, Reads::kNo, false, false, nullptr},  // gated_delta: tasks refuse to train it
    {Reads::kNo, Reads::kNo, Reads::kNo, false, false, nullptr},  // sigmoid_gate, of the same models
};

}  // namespace

const GradientRow* more_gradient_rows() { return kRows; }

}  // namespace wattn
