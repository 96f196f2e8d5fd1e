// Layers with experts (arXiv 2502.07972). A program that defines the functions of transformer.h as empty has no such models.
#pragma once

#include <vector>

#include "models/transformer.h"

namespace wattn {

struct Experts {
  Linear router;  // [experts, hidden]
  std::vector<Linear> up, down;
  float* bias = nullptr;  // [hidden]
};

struct ExpertsGradient {
  const float* x = nullptr;                     // [tokens, hidden], what experts_feed_forward() has read
  const float* dy = nullptr;                    // [tokens, hidden]
  float* dx = nullptr;                          // [tokens, hidden] written; may be neither
  const TransformerLayer* gradients = nullptr;  // added to; null: not wanted
  float* d_bias = nullptr;                      // [hidden] added to, without gradients; null: not wanted
  std::int64_t tokens = 0;
};
// scratch: as in experts_feed_forward(); its up has [tokens, 2 * ffn]. d_logits: [tokens, experts]. linear_scratch: for
// linear_backward() of the matrices.
void experts_backward(const Compute& compute, const TransformerConfig& config, const TransformerLayer& layer,
                      const ExpertsGradient& gradient, const ExpertsScratch& scratch, float* d_logits, float* linear_scratch);

}  // namespace wattn
