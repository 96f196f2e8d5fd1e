// gemm_f32 with Eigen, for native builds; everything else is the scalar variant. Eigen chooses its own order of sums and
// may fuse, so this variant is compared with a tolerance.
#include <Eigen/Core>
#include <algorithm>

#include "kernels/table.h"
#include "kernels/variants.h"
#include "kernels/vec_scalar.h"

namespace wattn {
namespace {

void gemm_f32_eigen(const GemmF32& gemm) {
  using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  using Strided = Eigen::Map<Matrix, 0, Eigen::OuterStride<>>;
  using StridedConst = Eigen::Map<const Matrix, 0, Eigen::OuterStride<>>;
  constexpr std::int64_t kColumns = 16 * kPanelWidth;  // unpacked at a time, enough to amortise Eigen's own packing
  const StridedConst a(gemm.a, gemm.m, gemm.k, Eigen::OuterStride<>(gemm.a_stride));
  const std::int64_t depth = gemm.b_depth > 0 ? gemm.b_depth : gemm.k;
  Matrix b(gemm.k, kColumns);
  for (std::int64_t col = 0; col < gemm.n; col += kColumns) {
    const std::int64_t count = std::min(kColumns, gemm.n - col);
    for (std::int64_t j = 0; j < count; j += kPanelWidth) {
      const Eigen::Map<const Matrix> panel(gemm.b + (col + j) * depth, gemm.k, kPanelWidth);
      const std::int64_t width = std::min<std::int64_t>(kPanelWidth, count - j);
      b.middleCols(j, width) = panel.leftCols(width);
    }
    Strided c(gemm.c + col, gemm.m, count, Eigen::OuterStride<>(gemm.c_stride));
    c.noalias() = gemm.scale * (a * b.leftCols(count));
  }
  with_activation<VecScalar>(gemm.activation, [&](auto activate) {
    for (std::int64_t i = 0; i < gemm.m; ++i) {
      float* row = gemm.c + i * gemm.c_stride;
      for_each_step<VecScalar>(gemm.n, [&](std::int64_t j, int count) {
        VecScalar::F32 x = load_step<VecScalar>(row + j, count);
        if (gemm.bias) x = VecScalar::add(x, load_step<VecScalar>(gemm.bias + j, count));
        store_step<VecScalar>(row + j, activate(x), count);
      });
    }
  });
}

}  // namespace

const Kernels kKernelsEigen = [] {
  Kernels kernels = kernels_on<VecScalar>("eigen");
  kernels.gemm_f32 = gemm_f32_eigen;
  return kernels;
}();

}  // namespace wattn
