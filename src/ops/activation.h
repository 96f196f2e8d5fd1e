// Backward of the activations that follow a product; their forward is part of the kernels' products and gates. Soft caps.
#pragma once

#include <cstdint>

#include "kernels/gradients.h"
#include "kernels/more_activations.h"
#include "ops/compute.h"

namespace wattn {

// x = cap * tanh(x / cap), in place; nothing if cap is 0.
inline void softcap(const Kernels& kernels, float cap, std::int64_t count, float* x) {
  if (cap == 0) return;
  for (std::int64_t i = 0; i < count; ++i) x[i] /= cap;
  kernels.activate(Activation::kTanh, x, x, count);
  for (std::int64_t i = 0; i < count; ++i) x[i] *= cap;
}

// d *= 1 - tanh(x / cap)^2, in place, of what softcap() has left in y; nothing if cap is 0.
inline void softcap_backward(float cap, const float* y, std::int64_t count, float* d) {
  if (cap == 0) return;
  for (std::int64_t i = 0; i < count; ++i) d[i] *= 1 - (y[i] / cap) * (y[i] / cap);
}

// dx = dy * activation'(x), x before the activation. All are [rows, cols], contiguous; dx may be dy.
inline void activate_backward(const Compute& compute, Activation activation, const float* x, const float* dy, std::int64_t rows,
                              std::int64_t cols, float* dx) {
  for_parts(compute, rows, 1, 16, [&](std::int64_t begin, std::int64_t end) {
    const std::int64_t at = begin * cols;
    gradient_kernels().activate_backward(activation, x + at, dy + at, dx + at, (end - begin) * cols);
  });
}

// The derivative of activation(x[:, :cols]) * x[:, cols:]. x, dx: [rows, 2 * cols]; dy: [rows, cols].
inline void gate_backward(const Compute& compute, Activation activation, const float* x, const float* dy, std::int64_t rows,
                          std::int64_t cols, float* dx) {
  for_parts(compute, rows, 1, 16, [&](std::int64_t begin, std::int64_t end) {
    const std::int64_t at = 2 * begin * cols;
    gradient_kernels().gate_backward_rows(activation, x + at, dy + begin * cols, dx + at, end - begin, cols);
  });
}

}  // namespace wattn
