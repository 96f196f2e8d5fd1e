// gemm_f32: c = activation(scale * a b^T + bias), b packed. See GemmF32 in kernels.h for shapes and the order of sums.
// Each element of c is one chain of k multiply-adds, whatever the tile, so tiles, tails and batches never change a bit.
#pragma once

#include <algorithm>
#include <cstddef>
#include <type_traits>
#include <utility>

#include "kernels/kernels.h"
#include "kernels/math.h"
#include "kernels/pack.h"

namespace wattn {

// Calls f(std::integral_constant<int, i>) for i from 0 to kCount - 1: a loop that is unrolled for certain, so that arrays
// indexed by i stay in registers.
template <int kCount, class F>
[[gnu::always_inline]] inline void unrolled(const F& f) {
  [&]<int... i>(std::integer_sequence<int, i...>) { (f(std::integral_constant<int, i>{}), ...); }
  (std::make_integer_sequence<int, kCount>{});
}

// c[0 .. kRows, 0 .. count] of one panel of b; a, bias and c point at the tile's corner.
// 6 x 8 is the largest tile that keeps its 12 sums in 16 registers beside two of b and one of a.
template <class V, int kRows>
void gemm_f32_tile(const GemmF32& gemm, const float* a, const float* panel, const float* bias, float* c, int count) {
  using F32 = typename V::F32;
  const float* a_row[kRows];
  F32 acc_c03[kRows];
  F32 acc_c47[kRows];
  unrolled<kRows>([&](auto r) {
    a_row[r] = a + r * gemm.a_stride;
    acc_c03[r] = acc_c47[r] = V::splat(0.0f);
  });
  const float* const panel_end = panel + gemm.k * kPanelWidth;
  for (std::ptrdiff_t k = 0; panel != panel_end; ++k, panel += kPanelWidth) {
    const F32 b_c03 = V::load(panel);
    const F32 b_c47 = V::load(panel + 4);
    unrolled<kRows>([&](auto r) {
      const F32 a_rk = V::splat(a_row[r][k]);
      acc_c03[r] = V::madd(a_rk, b_c03, acc_c03[r]);
      acc_c47[r] = V::madd(a_rk, b_c47, acc_c47[r]);
    });
  }
  const int count_c03 = std::min(count, 4);
  const int count_c47 = count - count_c03;
  const F32 scale = V::splat(gemm.scale);
  const F32 bias_c03 = bias ? V::load_partial(bias, count_c03) : V::splat(0.0f);
  const F32 bias_c47 = bias ? V::load_partial(bias + count_c03, count_c47) : V::splat(0.0f);
  unrolled<kRows>([&](auto r) {
    const F32 c_c03 = activate_vec<V>(gemm.activation, V::add(V::mul(acc_c03[r], scale), bias_c03));
    const F32 c_c47 = activate_vec<V>(gemm.activation, V::add(V::mul(acc_c47[r], scale), bias_c47));
    float* c_row = c + r * gemm.c_stride;
    if (count == kPanelWidth) {
      V::store(c_row, c_c03);
      V::store(c_row + 4, c_c47);
    } else {
      V::store_partial(c_row, c_c03, count_c03);
      V::store_partial(c_row + count_c03, c_c47, count_c47);
    }
  });
}

template <class V>
void gemm_f32_body(const GemmF32& gemm) {
  constexpr std::int64_t kBlockRows = 96;  // rows of a that stay in the second cache while the panels of b pass by
  for (std::int64_t block = 0; block < gemm.m; block += kBlockRows) {
    const std::int64_t block_end = std::min(block + kBlockRows, gemm.m);
    for (std::int64_t col = 0; col < gemm.n; col += kPanelWidth) {
      const float* panel = gemm.b + col * gemm.k;
      const float* bias = gemm.bias ? gemm.bias + col : nullptr;
      const int count = static_cast<int>(std::min<std::int64_t>(kPanelWidth, gemm.n - col));
      const auto tile = [&]<int kRows>(std::int64_t row) {
        gemm_f32_tile<V, kRows>(gemm, gemm.a + row * gemm.a_stride, panel, bias, gemm.c + row * gemm.c_stride + col, count);
      };
      std::int64_t row = block;
      for (; row + 6 <= block_end; row += 6) tile.template operator()<6>(row);
      switch (block_end - row) {
        case 5:
          tile.template operator()<5>(row);
          break;
        case 4:
          tile.template operator()<4>(row);
          break;
        case 3:
          tile.template operator()<3>(row);
          break;
        case 2:
          tile.template operator()<2>(row);
          break;
        case 1:
          tile.template operator()<1>(row);
          break;
        default:
          break;
      }
    }
  }
}

}  // namespace wattn
