// gemm_q16 and gemm_q8: integer products in groups along k, and the quantisation of activations they need. Formulas and
// shapes in kernels.h, formats in quant.h. Integers are exact in any order; the f32 sum over groups has one order.
#pragma once

#include <algorithm>
#include <cstddef>

#include "kernels/gemm_f32.h"
#include "kernels/quant.h"
#include "kernels/rows.h"

namespace wattn {

// kRows x 8 of c from row row and column col on; T: the type of a weight. 4 rows are as many as keep 8 integer sums, the
// operands and the f32 sums mostly in 16 registers.
template <class V, class T, int kRows>
[[gnu::noinline]] void gemm_quant_tile(const GemmQuant& gemm, std::ptrdiff_t row, std::ptrdiff_t col) {
  using F32 = typename V::F32;
  const auto weights = [](const T* p) {
    if constexpr (sizeof(T) == 2) {
      return V::load_q16(p);
    } else {
      return V::load_q8(p);
    }
  };
  const std::ptrdiff_t depth = static_cast<std::ptrdiff_t>(gemm.k);
  const std::ptrdiff_t groups = depth / kQuantGroup;
  const std::int16_t* a = gemm.a.q + row * depth;
  const float* a_scale = gemm.a.scale + row * groups;
  const T* w = static_cast<const T*>(gemm.b) + col * depth;
  const float* w_scale = gemm.b_scale + col * groups;
  F32 total_c03[kRows];
  F32 total_c47[kRows];
  unrolled<kRows>([&](auto r) { total_c03[r] = total_c47[r] = V::splat(0.0f); });
  for (std::ptrdiff_t group = 0; group < groups; ++group) {
    typename V::I32 sum_c03[kRows];
    typename V::I32 sum_c47[kRows];
    unrolled<kRows>([&](auto r) { sum_c03[r] = sum_c47[r] = V::zero_i32(); });
    for (std::ptrdiff_t k = 0; k < kQuantGroup; k += kQuantStep) {
      const auto w_c03 = weights(w);
      const auto w_c47 = weights(w + kPanelWidth);
      w += kPanelWidth * kQuantStep;
      unrolled<kRows>([&](auto r) {
        const auto a_rk = V::splat_pair(a + r * depth + k);
        sum_c03[r] = V::dot(w_c03, a_rk, sum_c03[r]);
        sum_c47[r] = V::dot(w_c47, a_rk, sum_c47[r]);
      });
    }
    a += kQuantGroup;
    const F32 scale_c03 = V::load(w_scale);
    const F32 scale_c47 = V::load(w_scale + 4);
    w_scale += kPanelWidth;
    unrolled<kRows>([&](auto r) {
      const F32 scale_r = V::splat(a_scale[r * groups + group]);
      total_c03[r] = V::add(total_c03[r], V::mul(V::to_f32(sum_c03[r]), V::mul(scale_c03, scale_r)));
      total_c47[r] = V::add(total_c47[r], V::mul(V::to_f32(sum_c47[r]), V::mul(scale_c47, scale_r)));
    });
  }
  const int count = static_cast<int>(std::min<std::int64_t>(kPanelWidth, gemm.n - col));
  const float* bias = gemm.bias ? gemm.bias + col : nullptr;
  unrolled<kRows>([&](auto r) {
    finish_tile_row<V>(total_c03[r], total_c47[r], bias, gemm.activation, gemm.c + (row + r) * gemm.c_stride + col, count);
  });
}

template <class V, class T>
void gemm_quant_body(const GemmQuant& gemm) {
  for_each_tile<4>(gemm.m, gemm.n, [&]<int kRows>(std::int64_t row, std::int64_t col) {
    gemm_quant_tile<V, T, kRows>(gemm, static_cast<std::ptrdiff_t>(row), static_cast<std::ptrdiff_t>(col));
  });
}

// q = round(x / scale), scale = max|x| of the group / 8191.
template <class V>
void quantize_rows_body(const float* x, std::int64_t rows, std::int64_t cols, const QuantizedRows& out) {
  using F32 = typename V::F32;
  const std::int64_t depth = padded_depth(cols);
  float* scale = out.scale;
  for (std::int64_t i = 0; i < rows; ++i, x += cols) {
    std::int16_t* q = out.q + i * depth;
    for (std::int64_t begin = 0; begin < depth; begin += kQuantGroup) {
      const std::int64_t size = std::min(kQuantGroup, cols - begin);
      F32 largest_vec = V::splat(0.0f);
      for_each_step<V>(
          size, [&](std::int64_t j, int count) { largest_vec = V::max(largest_vec, V::abs(load_step<V>(x + begin + j, count))); });
      const float largest = V::max_lane(largest_vec);
      *scale++ = largest / kLargestActivation;
      const F32 inverse = V::splat(largest > 0 ? kLargestActivation / largest : 0.0f);
      for_each_step<V>(size, [&](std::int64_t j, int count) {
        V::store_biased(q + begin + j, V::add(V::mul(load_step<V>(x + begin + j, count), inverse), V::splat(kRoundingBias)), count);
      });
    }
    std::fill(q + cols, q + depth, std::int16_t{0});
  }
}

}  // namespace wattn
