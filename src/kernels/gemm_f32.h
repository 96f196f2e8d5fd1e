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
  [&]<int... i>(std::integer_sequence<int, i...>) {
    (f(std::integral_constant<int, i>{}), ...);
  }(std::make_integer_sequence<int, kCount>{});
}

// c[0 .. count] = activation(sum + bias), one row of a tile; bias may be null.
template <class V>
[[gnu::always_inline]] inline void finish_tile_row(typename V::F32 sum_c03, typename V::F32 sum_c47, const float* bias,
                                                   Activation activation, float* c, int count) {
  if (count == kPanelWidth) {
    if (bias) {
      sum_c03 = V::add(sum_c03, V::load(bias));
      sum_c47 = V::add(sum_c47, V::load(bias + 4));
    }
    V::store(c, activate_vec<V>(activation, sum_c03));
    V::store(c + 4, activate_vec<V>(activation, sum_c47));
    return;
  }
  const int count_c03 = std::min(count, 4);
  const int count_c47 = count - count_c03;
  if (bias) {
    sum_c03 = V::add(sum_c03, V::load_partial(bias, count_c03));
    sum_c47 = V::add(sum_c47, V::load_partial(bias + count_c03, count_c47));
  }
  V::store_partial(c, activate_vec<V>(activation, sum_c03), count_c03);
  V::store_partial(c + count_c03, activate_vec<V>(activation, sum_c47), count_c47);
}

// Calls f<rows>(row, col) for the tiles of an m x n result: kMostRows x 8 and, at the end of m, one of fewer rows. Blocks of
// rows stay in the second cache while the panels of b pass by.
template <int kMostRows, class F>
void for_each_tile(std::int64_t m, std::int64_t n, const F& f) {
  constexpr std::int64_t kBlockRows = 96;
  for (std::int64_t block = 0; block < m; block += kBlockRows) {
    const std::int64_t block_end = std::min(block + kBlockRows, m);
    for (std::int64_t col = 0; col < n; col += kPanelWidth) {
      std::int64_t row = block;
      for (; row + kMostRows <= block_end; row += kMostRows) f.template operator()<kMostRows>(row, col);
      unrolled<kMostRows>([&](auto rest) {
        if constexpr (rest > 0) {
          if (block_end - row == rest) f.template operator()<rest>(row, col);
        }
      });
    }
  }
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
  const F32 scale = V::splat(gemm.scale);
  unrolled<kRows>([&](auto r) {
    finish_tile_row<V>(V::mul(acc_c03[r], scale), V::mul(acc_c47[r], scale), bias, gemm.activation, c + r * gemm.c_stride, count);
  });
}

template <class V>
void gemm_f32_body(const GemmF32& gemm) {
  for_each_tile<6>(gemm.m, gemm.n, [&]<int kRows>(std::int64_t row, std::int64_t col) {
    gemm_f32_tile<V, kRows>(gemm, gemm.a + row * gemm.a_stride, gemm.b + col * gemm.k, gemm.bias ? gemm.bias + col : nullptr,
                            gemm.c + row * gemm.c_stride + col,
                            static_cast<int>(std::min<std::int64_t>(kPanelWidth, gemm.n - col)));
  });
}

}  // namespace wattn
