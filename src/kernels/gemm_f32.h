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
#include "kernels/rows.h"

namespace wattn {

template <class F, int... i>
[[gnu::always_inline]] inline void unrolled_over(const F& f, std::integer_sequence<int, i...>) {
  (f(std::integral_constant<int, i>{}), ...);
}

// Calls f(std::integral_constant<int, i>) for i from 0 to kCount - 1: a loop that is unrolled for certain, so that arrays
// indexed by i stay in registers. In inner loops f is a lambda marked always_inline, or a compiler that finds it too
// large puts those arrays into memory, at half the speed.
template <int kCount, class F>
[[gnu::always_inline]] inline void unrolled(const F& f) {
  unrolled_over(f, std::make_integer_sequence<int, kCount>{});
}

// c[0 .. count] = sum + bias, one row of a tile; bias may be null.
template <class V>
[[gnu::always_inline]] inline void finish_tile_row(typename V::F32 sum_c03, typename V::F32 sum_c47, const float* bias, float* c,
                                                   int count) {
  if (count == kPanelWidth) {
    if (bias) {
      sum_c03 = V::add(sum_c03, V::load(bias));
      sum_c47 = V::add(sum_c47, V::load(bias + 4));
    }
    V::store(c, sum_c03);
    V::store(c + 4, sum_c47);
    return;
  }
  const int count_c03 = std::min(count, 4);
  const int count_c47 = count - count_c03;
  if (bias) {
    sum_c03 = V::add(sum_c03, V::load_partial(bias, count_c03));
    sum_c47 = V::add(sum_c47, V::load_partial(bias + count_c03, count_c47));
  }
  V::store_partial(c, sum_c03, count_c03);
  V::store_partial(c + count_c03, sum_c47, count_c47);
}

// c = activation(c) over a tile, which is in the first cache still. A function of its own: inside the tile's it takes
// registers from the inner loop (q16 was 20 % slower).
template <class V>
[[gnu::noinline]] void activate_tile(Activation activation, float* c, std::int64_t c_stride, int rows, int count) {
  for (int r = 0; r < rows; ++r, c += c_stride) {
    for_each_step<V>(count, [&](std::int64_t j, int lanes) {
      store_step<V>(c + j, activate_vec<V>(activation, load_step<V>(c + j, lanes)), lanes);
    });
  }
}

// Calls f<rows>(row, col) for the tiles of an m x n result: kMostRows x 8, and fewer rows at the end of m, where two tiles of
// middling size are better than one that is full and one of a row or two. All rows of a block pass a panel of b before the
// next panel comes, so that b is read once; a block's rows stay in the second cache.
template <int kMostRows, class F>
void for_each_tile(std::int64_t m, std::int64_t n, const F& f) {
  constexpr std::int64_t kBlockRows = 43 * kMostRows;
  for (std::int64_t block = 0; block < m; block += kBlockRows) {
    const std::int64_t block_end = std::min(block + kBlockRows, m);
    for (std::int64_t col = 0; col < n; col += kPanelWidth) {
      for (std::int64_t row = block; row < block_end;) {
        const std::int64_t left = block_end - row;
        const std::int64_t rows = left >= 2 * kMostRows || left == kMostRows ? kMostRows : left > kMostRows ? (left + 1) / 2 : left;
        unrolled<kMostRows>([&](auto i) {
          if (rows == i + 1) f.template operator()<i + 1>(row, col);
        });
        row += rows;
      }
    }
  }
}

// c[0 .. kRows, 0 .. count] of one panel of b; a, bias and c point at the tile's corner.
// 6 x 8 is the largest tile that keeps its 12 sums in 16 registers beside two of b and one of a. k is not unrolled: V8 (Node
// 24) then finds worse registers, and four steps at a time were 20 % slower.
template <class V, int kRows>
void gemm_f32_tile(const GemmF32& gemm, const float* a, const float* panel, const float* bias, float* c, int count) {
  using F32 = typename V::F32;
  const float* a_row[kRows];
  F32 acc_c03[kRows];
  F32 acc_c47[kRows];
  unrolled<kRows>([&](auto r) __attribute__((always_inline)) {
    a_row[r] = a + r * gemm.a_stride;
    acc_c03[r] = acc_c47[r] = V::splat(0.0f);
  });
  const float* const panel_end = panel + gemm.k * kPanelWidth;
  for (std::ptrdiff_t k = 0; panel != panel_end; ++k, panel += kPanelWidth) {
    const F32 b_c03 = V::load(panel);
    const F32 b_c47 = V::load(panel + 4);
    unrolled<kRows>([&](auto r) __attribute__((always_inline)) {
      const F32 a_rk = V::splat(a_row[r][k]);
      acc_c03[r] = V::madd(a_rk, b_c03, acc_c03[r]);
      acc_c47[r] = V::madd(a_rk, b_c47, acc_c47[r]);
    });
  }
  const F32 scale = V::splat(gemm.scale);
  unrolled<kRows>([&](auto r) __attribute__((always_inline)) {
    finish_tile_row<V>(V::mul(acc_c03[r], scale), V::mul(acc_c47[r], scale), bias, c + r * gemm.c_stride, count);
  });
  if (gemm.activation != Activation::kNone) activate_tile<V>(gemm.activation, c, gemm.c_stride, kRows, count);
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
