// LFM2's gated short convolution: Lfm2ShortConv in transformers/models/lfm2/modeling_lfm2.py (v5.24.0). Each channel of a token is
// C * (bias + sum over k of filter[k] * (B * x) of the token kernel - 1 - k places before), within its sequence.
#pragma once

#include "ops/linear.h"
#include "ops/op.h"

namespace wattn {

// call.x: [rows, 3 * width], the columns B, C and x; call.weight: the filter, a Linear in f32, [width, kernel]; out: [rows, width].
// A sequence in a slot continues after the products B * x that the slot holds, and adds its own to them.
void short_convolution(const OpCall& call);

// Where the gradients go; null: not wanted.
struct ShortConvolutionGradient {
  const float* d_out = nullptr;             // [rows, width]
  float* d_x = nullptr;                     // [rows, 3 * width], written
  const LinearWeights* d_filter = nullptr;  // added to
  float* d_bias = nullptr;                  // [width], likewise
};
void short_convolution_backward(const OpCall& call, const ShortConvolutionGradient& gradient);

}  // namespace wattn
