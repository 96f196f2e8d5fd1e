#include "ops/matmul.h"

#include "kernels/pack.h"

namespace wattn {

std::int64_t matmul_scratch_size(std::int64_t n, std::int64_t k) { return packed_size(n, k); }

void matmul(const Compute& compute, const Matmul& matmul, float* scratch) {
  if (matmul.b_is_transposed) {
    pack_transposed(scratch, matmul.b, matmul.n, matmul.k, matmul.b_stride);
  } else {
    pack_rows(scratch, matmul.b, matmul.n, matmul.k, matmul.b_stride);
  }
  for_parts(compute, matmul.m, 1, 16, [&](std::int64_t begin, std::int64_t end) {
    compute.kernels.gemm_f32({.a = matmul.a + begin * matmul.a_stride,
                              .a_stride = matmul.a_stride,
                              .b = scratch,
                              .c = matmul.c + begin * matmul.c_stride,
                              .c_stride = matmul.c_stride,
                              .m = end - begin,
                              .n = matmul.n,
                              .k = matmul.k,
                              .scale = matmul.scale});
  });
}

}  // namespace wattn
