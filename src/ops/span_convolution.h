// What ConvBERT has beside attention, arXiv 2008.02496: transformers/models/convbert/modeling_convbert.py (v5.24.0). Each token
// reads the tokens around it within its sequence; what is outside of it counts as zeros.
#pragma once

#include "ops/linear.h"
#include "ops/op.h"

namespace wattn {

// out[t, c] = sum over k of filter[c, k] * x[t + k - kernel / 2, c]. call.x, out: [rows, width]; call.weight: the filter, a Linear
// in f32, [width, kernel].
void depthwise_convolution(const OpCall& call);
// d_x: [rows, width], written; null: not wanted. d_filter: added to, likewise.
void depthwise_convolution_backward(const OpCall& call, const float* d_out, float* d_x, const LinearWeights* d_filter);

// out[t, c] = sum over k of p[k] * x[t + k - kernel / 2, c], where p is the softmax of token t's logits for column c's head.
// call.x, out: [rows, width]; call.other: [rows, heads * kernel] logits; call.factor: kernel.
void dynamic_convolution(const OpCall& call);
// d_x: [rows, width], d_logits: as call.other; both are added to; null: not wanted.
void dynamic_convolution_backward(const OpCall& call, const float* d_out, float* d_x, float* d_logits);

// Largest kernel of both.
constexpr std::int64_t kMostSpan = 63;

}  // namespace wattn
