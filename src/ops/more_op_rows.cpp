// build: -Os
// The rows of rare ops.
#include <algorithm>
#include <memory>

#include "ops/experts.h"
#include "ops/op.h"
#include "ops/short_convolution.h"
#include "ops/token_dropout.h"

namespace wattn {
namespace {

void windows(const OpCall& call) {
  const Batch& batch = *call.pass.batch;
  const std::int64_t width = call.x_width, tokens = call.width / width;
  float* to = call.out;
  for (std::int64_t i = 0; i < batch.batch(); ++i) {
    const std::int64_t begin = batch.seq_start[i], end = batch.seq_start[i + 1];
    for (std::int64_t first = begin - tokens / 2; first < end - tokens / 2; ++first) {
      for (std::int64_t token = first; token < first + tokens; ++token, to += width) {
        if (token < begin || token >= end) std::fill_n(to, width, 0.0f);
        if (token >= begin && token < end) std::copy_n(call.x + token * width, width, to);
      }
    }
  }
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

constexpr OpRow kRows[] = {
    {OpWidth::kFactorTimesX, false, false, windows, nullptr},
    {OpWidth::kOfX, false, false, run_experts, [](const OpCall& call) { take(call); }},
    {OpWidth::kRowsOfWeight, false, false, short_convolution, nullptr},
    {OpWidth::kOfX, false, false, token_dropout, nullptr},
};

}  // namespace

const MoreOps kMoreOps{kRows};

}  // namespace wattn
