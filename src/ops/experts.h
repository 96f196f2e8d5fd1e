// A mixture-of-experts feed-forward (arXiv 2502.07972): the router sends each token to its top_k experts, whose outputs are
// summed, weighted by the router's softmax over all experts.
#pragma once

#include <cstdint>
#include <vector>

#include "core/arena.h"
#include "ops/compute.h"
#include "ops/linear.h"

namespace wattn {

struct Experts {
  LinearWeights router;  // [experts, hidden]
  std::vector<LinearWeights> up, down;
  float* bias = nullptr;  // [hidden], of the sum
  std::int64_t top_k = 0;

  std::int64_t count() const { return router.out; }
  std::int64_t hidden() const { return router.in; }
  std::int64_t ffn() const { return up.front().out; }
};

// What experts_feed_forward() and experts_backward() write to.
struct ExpertsScratch {
  float* logits = nullptr;  // [tokens, experts]
  float* rows = nullptr;    // [tokens, hidden], of the tokens of one expert
  float* up = nullptr;      // [tokens, ffn], backward: [tokens, 2 * ffn]
  float* down = nullptr;    // [tokens, hidden]
};
ExpertsScratch take_experts_scratch(Arena& arena, const Experts& experts, std::int64_t tokens, bool backward = false);

// x: [tokens, hidden]; out: the same, may not be x.
void experts_feed_forward(const Compute& compute, const Experts& experts, Activation activation, const ExpertsScratch& scratch,
                          const LinearScratch& linear_scratch, const float* x, std::int64_t tokens, float* out);

struct ExpertsGradient {
  const float* x = nullptr;            // [tokens, hidden], what experts_feed_forward() has read
  const float* dy = nullptr;           // [tokens, hidden]
  float* dx = nullptr;                 // [tokens, hidden] written; may be neither
  const Experts* gradients = nullptr;  // added to; null: not wanted
  float* d_bias = nullptr;             // [hidden] added to, without gradients; null: not wanted
  std::int64_t tokens = 0;
};
// sum: [tokens, hidden]; d_logits: [tokens, experts]. linear_scratch: for linear_backward() of the matrices.
void experts_backward(const Compute& compute, const Experts& experts, Activation activation, const ExpertsGradient& gradient,
                      const ExpertsScratch& scratch, float* sum, float* d_logits, float* linear_scratch);

}  // namespace wattn
