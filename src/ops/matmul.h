// Matmul: products of two activations. The right side is packed for the kernel at each call.
#pragma once

#include <cstdint>

#include "ops/compute.h"

namespace wattn {

struct Matmul {
  const float* a = nullptr;  // [m, k], rows a_stride apart
  std::int64_t a_stride = 0;
  const float* b = nullptr;  // [n, k], or [k, n] where b_is_transposed; rows b_stride apart
  std::int64_t b_stride = 0;
  bool b_is_transposed = false;
  float* c = nullptr;  // [m, n], rows c_stride apart; must not overlap a or b
  std::int64_t c_stride = 0;
  std::int64_t m = 0, n = 0, k = 0;
  float scale = 1.0f;
};

// Floats of scratch for a right side of n x k.
std::int64_t matmul_scratch_size(std::int64_t n, std::int64_t k);

// c[i, j] = scale * sum over ascending k of a[i, k] * b[j, k] (b[k, j] where b_is_transposed).
void matmul(const Compute& compute, const Matmul& matmul, float* scratch);

}  // namespace wattn
