// Kernels of the backward pass. They have a separate table, so that modules that do not train omit them. Every variant gives the
// same bits; formulas are derivatives of those in kernels.h.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/kernels.h"

namespace wattn {

// Derivatives of a norm of rows, [rows, cols], contiguous.
struct NormGradient {
  const float* x = nullptr;   // what was normalised, the residual included
  const float* dy = nullptr;  // the gradient of the result
  const float* gamma = nullptr;
  float epsilon = 0;
  float* dx = nullptr;          // added to; may not be dy
  float* mean_scale = nullptr;  // [rows, 2] written: the mean (0 for RMSNorm) and the factor of each row
  std::int64_t rows = 0, cols = 0;
};

struct GradientKernels {
  const char* name;

  // dx[j] = dy[j] * activation'(x[j]), x before the activation; dx may be dy. The derivative of relu at 0 is 0, as in torch.
  void (*activate_backward)(Activation activation, const float* x, const float* dy, float* dx, std::int64_t n);

  // x [rows, 2 * cols], dy [rows, cols] of gate_rows(); dx as x.
  void (*gate_backward_rows)(Activation activation, const float* x, const float* dy, float* dx, std::int64_t rows,
                             std::int64_t cols);

  // d[i, j] = p[i, j] * (d[i, j] - scale * sum over k of p[i, k] * d[i, k]), in place; both are [rows, cols], contiguous.
  void (*softmax_backward_rows)(const float* p, float scale, float* d, std::int64_t rows, std::int64_t cols);

  // With n = (x - mean) * r the normalised row and g = dy * gamma: dx += r * (g - mean(g) - n * mean(g * n)), arXiv 1607.06450.
  void (*layer_norm_backward_rows)(const NormGradient& norm);
  // With n = x * r: dx += r * (g - n * mean(g * n)), arXiv 1910.07467.
  void (*rms_norm_backward_rows)(const NormGradient& norm);
};

// The same bits in every build, on every machine.
const GradientKernels& gradient_kernels();
// The scalar one first, for tests.
std::span<const GradientKernels* const> gradient_kernel_variants();

}  // namespace wattn
