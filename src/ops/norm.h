// LayerNorm over the last dimension, as torch.nn.LayerNorm, with an optional residual added first; and RMSNorm.
#pragma once

#include <cmath>
#include <cstdint>

#include "core/arena.h"
#include "kernels/gradients.h"
#include "ops/compute.h"

namespace wattn {

struct LayerNorm {
  std::int64_t hidden = 0;
  float epsilon = 0.0f;
  float* gamma = nullptr;  // [hidden] "weight" in checkpoints
  float* beta = nullptr;   // [hidden] "bias"
};

inline LayerNorm take_layer_norm(Arena& arena, std::int64_t hidden, float epsilon) {
  return {hidden, epsilon, arena.take<float>(hidden), arena.take<float>(hidden)};
}

// y = LayerNorm(x + residual); x, residual, y: [tokens, hidden]; residual may be null, y may be x or residual.
inline void layer_norm(const Compute& compute, const LayerNorm& norm, const float* x, const float* residual, std::int64_t tokens,
                       float* y) {
  for_parts(compute, tokens, 1, 32, [&](std::int64_t begin, std::int64_t end) {
    const std::int64_t at = begin * norm.hidden;
    compute.kernels.layer_norm_rows(x + at, residual ? residual + at : nullptr, norm.gamma, norm.beta, norm.epsilon, y + at,
                                    end - begin, norm.hidden);
  });
}

// x / sqrt(mean(x^2) + epsilon) * gamma, arXiv 1910.07467; beta is unused. y may be x.
inline void rms_norm(const Compute& compute, const LayerNorm& norm, const float* x, std::int64_t rows, float* y) {
  for_parts(compute, rows, 1, 32, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const float* from = x + i * norm.hidden;
      float* to = y + i * norm.hidden;
      const float squares = compute.kernels.dot(from, from, norm.hidden);
      const float scale = 1.0f / std::sqrt(squares / static_cast<float>(norm.hidden) + norm.epsilon);
      for (std::int64_t j = 0; j < norm.hidden; ++j) to[j] = from[j] * scale * norm.gamma[j];
    }
  });
}

// kAffine: the weight and bias alone, an op of its own (Op::kAffine).
enum class NormKind : std::uint8_t { kLayer, kRms, kAffine };

// The norm of that kind without a residual; y may be x.
inline void normalise(const Compute& compute, NormKind kind, const LayerNorm& norm, const float* x, std::int64_t rows, float* y) {
  if (kind == NormKind::kRms) {
    rms_norm(compute, norm, x, rows, y);
  } else {
    layer_norm(compute, norm, x, nullptr, rows, y);
  }
}

// x, dy: [rows, hidden], of a norm without a residual, or of x + residual, to whose parts dx belongs alike. dx is added to.
// d_gamma, d_beta: [hidden], added to in rising order of rows; null: not wanted. scratch: [rows, 2].
inline void normalise_backward(const Compute& compute, NormKind kind, const LayerNorm& norm, const float* x, const float* dy,
                               std::int64_t rows, float* dx, float* d_gamma, float* d_beta, float* scratch) {
  const GradientKernels& kernels = gradient_kernels();
  for_parts(compute, rows, 1, 32, [&](std::int64_t begin, std::int64_t end) {
    const std::int64_t at = begin * norm.hidden;
    const auto backward = kind == NormKind::kRms ? kernels.rms_norm_backward_rows : kernels.layer_norm_backward_rows;
    backward({x + at, dy + at, norm.gamma, norm.epsilon, dx + at, scratch + 2 * begin, end - begin, norm.hidden});
  });
  for_parts(compute, norm.hidden, 16, 64, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = 0; i < rows; ++i) {
      const float mean = scratch[2 * i], scale = scratch[2 * i + 1];
      const float *x_row = x + i * norm.hidden, *dy_row = dy + i * norm.hidden;
      for (std::int64_t j = begin; d_gamma && j < end; ++j) d_gamma[j] += dy_row[j] * ((x_row[j] - mean) * scale);
      for (std::int64_t j = begin; d_beta && j < end; ++j) d_beta[j] += dy_row[j];
    }
  });
}

}  // namespace wattn
