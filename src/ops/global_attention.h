// Longformer's attention, arXiv 2004.05150, as in transformers/models/longformer/modeling_longformer.py (v5.24.0). The first tokens
// of a sequence may be global:
// - any other token attends to the tokens of its window and to all global tokens, each of them once, by the columns of x;
// - a global token attends to all tokens of its sequence, by the columns of `other`.
#pragma once

#include "ops/op.h"

namespace wattn {

// call.x, call.other: [rows, qkv_width] queries, keys and values; out: [rows, context_width]. In training, probabilities are
// dropped.
void global_attention(const OpCall& call);
void take_global_attention(const OpCall& call);

// d_x and d_other are added to.
struct GlobalAttentionGradient {
  const float* d_context = nullptr;
  float* d_x = nullptr;
  float* d_other = nullptr;  // null: not wanted
};
void global_attention_backward(const OpCall& call, const GlobalAttentionGradient& gradient);
void take_global_attention_backward(const OpCall& call);

}  // namespace wattn
