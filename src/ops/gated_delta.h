// Gated DeltaNet, arXiv 2412.06464, as Qwen3_5GatedDeltaNet in transformers/models/qwen3_5/modeling_qwen3_5.py (v5.24.0). Each
// value head h has a state S [key_dim, value_dim] that its tokens change in turn:
//   S = exp(-exp(decay[h]) * softplus(a[h] + step_bias[h])) * S;  S = S + k (sigmoid(b[h]) * (v - S^T k))^T;  out = S^T q.
// q, k and v are columns after a causal convolution of each column by itself and an activation. q and k have length 1, and q is
// divided by sqrt(key_dim). Each key head serves as many consecutive value heads. The result is norm(out) * silu(z).
#pragma once

#include <cstdint>

#include "ops/linear.h"
#include "ops/norm.h"
#include "ops/op.h"

namespace wattn {

struct GatedDelta {
  std::int64_t key_heads = 0, value_heads = 0;
  std::int64_t key_dim = 0, value_dim = 0;  // of a head
  LinearWeights filter;                     // [mixed_width, kernel], in f32
  float* decay = nullptr;                   // [value_heads] A_log
  float* step_bias = nullptr;               // [value_heads] dt_bias
  LayerNorm norm;                           // of each head's value_dim columns

  std::int64_t key_width() const { return key_heads * key_dim; }
  std::int64_t value_width() const { return value_heads * value_dim; }
  std::int64_t mixed_width() const { return 2 * key_width() + value_width(); }  // q, k and v
  std::int64_t columns() const { return mixed_width() + value_width(); }
};

// What a slot holds of a layer (KvCache::states_at): the last rows that the convolution reads, [kernel - 1, mixed_width], then S of
// each head, [value_heads][ceil(value_dim / 8)][key_dim][8].
inline std::int64_t gated_delta_state_size(const GatedDelta& of, std::int64_t kernel) {
  return (kernel - 1) * of.mixed_width() + of.value_heads * of.key_dim * ((of.value_dim + 7) / 8 * 8);
}

// call.x: [rows, columns()], the columns q, k and v, then z; call.other: [rows, 2 * value_heads], b, then a; call.weight: a
// GatedDelta; call.variant: the Activation; out: [rows, value_width()]. A sequence in a slot continues with the state of its slot,
// and begins with zeros at position 0.
void gated_delta(const OpCall& call);
void gated_delta_scratch(const OpCall& call);

}  // namespace wattn
