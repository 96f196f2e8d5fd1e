// build: -Os
// The rows of rare ops.
#include <algorithm>
#include <memory>

#include "ops/experts.h"
#include "ops/gated_delta.h"
#include "ops/global_attention.h"
#include "ops/norm.h"
#include "ops/op.h"
#include "ops/short_convolution.h"
#include "ops/span_convolution.h"
#include "ops/token_dropout.h"
#include "ops/windows.h"

namespace wattn {
namespace {

void windows(const OpCall& call) {
  const Batch& batch = *call.pass.batch;
  const std::int64_t width = call.x_width;
  float* to = call.out;
  for_each_window_token(batch, call.width / width, call.variant == 1, [&](std::int64_t token) {
    if (token < 0) {
      std::fill_n(to, width, 0.0f);
    } else {
      std::copy_n(call.x + token * width, width, to);
    }
    to += width;
  });
}

const Experts& experts_of(const OpCall& call) { return **static_cast<const std::shared_ptr<Experts>*>(call.weight); }

struct Scratch {
  ExpertsScratch experts;
  LinearScratch linear;
};
Scratch take(const OpCall& call) {
  const Experts& experts = experts_of(call);
  return {take_experts_scratch(*call.scratch, experts, call.rows),
          take_linear_scratch(*call.scratch, experts.up.front().type, call.rows, std::max(experts.hidden(), experts.ffn()),
                              call.pass.sizes.threads)};
}

void run_experts(const OpCall& call) {
  const Scratch scratch = take(call);
  experts_feed_forward(*call.pass.compute, experts_of(call), static_cast<Activation>(call.variant), scratch.experts, scratch.linear,
                       call.x, call.rows, call.out);
}

// As facebook/esm: 0.12 is the share of masks that it was trained with.
void token_dropout(const OpCall& call) {
  for_each_token_dropout(call, [&](std::int64_t token, float scale) {
    for (std::int64_t j = 0; j < call.width; ++j) call.out[token * call.width + j] = scale * call.x[token * call.width + j];
  });
}

void affine(const OpCall& call) {
  const auto& norm = *static_cast<const LayerNorm*>(call.weight);
  for (std::int64_t i = 0; i < call.rows; ++i) {
    for (std::int64_t j = 0; j < call.width; ++j) {
      const std::int64_t at = i * call.width + j;
      call.out[at] = norm.gamma[j] * call.x[at] + norm.beta[j];
    }
  }
}

void join(const OpCall& call) {
  const std::int64_t first = call.x_width, second = call.width - first;
  for (std::int64_t i = 0; i < call.rows; ++i) {
    std::copy_n(call.x + i * first, first, call.out + i * call.width);
    std::copy_n(call.other + i * second, second, call.out + i * call.width + first);
  }
}

void sigmoid_gate(const OpCall& call) {
  for_parts(*call.pass.compute, call.rows, 1, 16, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const float* x = call.x + i * call.width;
      float* out = call.out + i * call.width;
      const float* gate = call.other + (i + 1) * call.other_width - call.width;
      call.pass.compute->kernels.activate(Activation::kSigmoid, gate, out, call.width);
      for (std::int64_t j = 0; j < call.width; ++j) out[j] *= x[j];
    }
  });
}

constexpr OpRow kRows[] = {
    {OpWidth::kFactorTimesX, false, false, windows, nullptr},
    {OpWidth::kOfX, false, false, run_experts, [](const OpCall& call) { take(call); }},
    {OpWidth::kRowsOfWeight, false, false, short_convolution, nullptr},
    {OpWidth::kOfX, false, false, token_dropout, nullptr},
    {OpWidth::kOfX, true, false, affine, nullptr},
    {OpWidth::kOfBoth, false, false, join, nullptr},
    {OpWidth::kContext, false, false, global_attention, take_global_attention},
    {OpWidth::kOfX, false, false, depthwise_convolution, nullptr},
    {OpWidth::kOfX, false, false, dynamic_convolution, nullptr},
    {OpWidth::kRowsOfWeight, false, false, gated_delta, gated_delta_scratch},
    {OpWidth::kOfX, false, false, sigmoid_gate, nullptr},
};

}  // namespace

const MoreOps kMoreOps{kRows};

}  // namespace wattn
