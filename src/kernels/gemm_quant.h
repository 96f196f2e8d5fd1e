// gemm_q16 and gemm_q8: integer products in groups along k, and the quantisation of activations they need. Formulas and
// shapes in kernels.h, formats in quant.h. Integers are exact in any order; the f32 sum over groups has one order.
#pragma once

#include <algorithm>
#include <cstddef>

#include "kernels/gemm_f32.h"
#include "kernels/quant.h"
#include "kernels/rows.h"

namespace wattn {

// How a format's operands are read and multiplied on a vector type.
template <class V, class Format>
struct Dot;

template <class V>
struct Dot<V, Q16> {
  static constexpr int kStep = 2;
  static constexpr bool kOffset = false;
  using Activation = std::int16_t;
  static auto weights(const std::int16_t* p) { return V::load_q16(p); }
  static auto activations(const Activation* p) { return V::splat_q16(p); }
  static auto dot(typename V::I16 w, typename V::I16 a, typename V::I32 sum) { return V::dot_q16(w, a, sum); }
};

template <class V>
struct Dot<V, Q8> {
  static constexpr int kStep = V::kQ8Step;
  static constexpr bool kOffset = true;
  using Activation = typename V::Q8;
  static auto weights(const std::int8_t* p) { return V::load_q8(p); }
  static auto activations(const Activation* p) { return V::splat_q8(p); }
  static auto dot(typename V::I16 w, typename V::I16 a, typename V::I32 sum) { return V::dot_q8(w, a, sum); }
};

// kRows x 8 of c from row row and column col on. 4 rows: 8 integer sums, 8 f32 sums and the operands spill least.
template <class V, class Format, int kRows>
[[gnu::noinline]] void gemm_quant_tile(const GemmQuant& gemm, std::ptrdiff_t row, std::ptrdiff_t col) {
  using F32 = typename V::F32;
  using D = Dot<V, Format>;
  const std::ptrdiff_t depth = static_cast<std::ptrdiff_t>(gemm.k);
  const auto* a = static_cast<const typename D::Activation*>(gemm.a.q) + row * depth;
  const auto* w = static_cast<const typename Format::Value*>(gemm.b) + col * depth;
  const float* scale = gemm.b_scale + col * (depth / Format::kGroup);
  F32 total_c03[kRows];
  F32 total_c47[kRows];
  unrolled<kRows>([&](auto r) { total_c03[r] = total_c47[r] = V::splat(0.0f); });
  for (std::ptrdiff_t group = 0; group < depth; group += Format::kGroup) {
    typename V::I32 sum_c03[kRows];
    typename V::I32 sum_c47[kRows];
    unrolled<kRows>([&](auto r) { sum_c03[r] = sum_c47[r] = V::zero_i32(); });
    for (std::ptrdiff_t k = group; k < group + Format::kGroup; k += D::kStep) {
      const auto w_c03 = D::weights(w);
      const auto w_c47 = D::weights(w + 4 * D::kStep);
      w += kPanelWidth * D::kStep;
      unrolled<kRows>([&](auto r) {
        const auto a_rk = D::activations(a + r * depth + k);
        sum_c03[r] = D::dot(w_c03, a_rk, sum_c03[r]);
        sum_c47[r] = D::dot(w_c47, a_rk, sum_c47[r]);
      });
    }
    const F32 scale_c03 = V::load(scale);
    const F32 scale_c47 = V::load(scale + 4);
    scale += kPanelWidth;
    unrolled<kRows>([&](auto r) {
      total_c03[r] = V::add(total_c03[r], V::mul(V::to_f32(sum_c03[r]), scale_c03));
      total_c47[r] = V::add(total_c47[r], V::mul(V::to_f32(sum_c47[r]), scale_c47));
    });
  }
  const int count = static_cast<int>(std::min<std::int64_t>(kPanelWidth, gemm.n - col));
  const int count_c03 = std::min(count, 4);
  const int count_c47 = count - count_c03;
  const auto columns = [&](const float* values, int offset, int some) {
    return values ? V::load_partial(values + col + offset, some) : V::splat(0.0f);
  };
  const F32 bias_c03 = columns(gemm.bias, 0, count_c03);
  const F32 bias_c47 = columns(gemm.bias, count_c03, count_c47);
  const F32 sum_c03 = columns(D::kOffset ? gemm.b_sum : nullptr, 0, count_c03);
  const F32 sum_c47 = columns(D::kOffset ? gemm.b_sum : nullptr, count_c03, count_c47);
  unrolled<kRows>([&](auto r) {
    const F32 a_scale = V::splat(gemm.a.scale[row + r]);
    F32 c_c03 = V::add(V::mul(total_c03[r], a_scale), bias_c03);
    F32 c_c47 = V::add(V::mul(total_c47[r], a_scale), bias_c47);
    if constexpr (D::kOffset) {
      const F32 a_offset = V::splat(gemm.a.offset[row + r]);
      c_c03 = V::add(c_c03, V::mul(a_offset, sum_c03));
      c_c47 = V::add(c_c47, V::mul(a_offset, sum_c47));
    }
    c_c03 = activate_vec<V>(gemm.activation, c_c03);
    c_c47 = activate_vec<V>(gemm.activation, c_c47);
    float* c = gemm.c + (row + r) * gemm.c_stride + col;
    if (count == kPanelWidth) {
      V::store(c, c_c03);
      V::store(c + 4, c_c47);
    } else {
      V::store_partial(c, c_c03, count_c03);
      V::store_partial(c + count_c03, c_c47, count_c47);
    }
  });
}

template <class V, class Format>
void gemm_quant_body(const GemmQuant& gemm) {
  constexpr std::int64_t kBlockRows = 96;  // as in gemm_f32
  for (std::int64_t block = 0; block < gemm.m; block += kBlockRows) {
    const std::int64_t block_end = std::min(block + kBlockRows, gemm.m);
    for (std::int64_t col = 0; col < gemm.n; col += kPanelWidth) {
      std::int64_t row = block;
      for (; row + 4 <= block_end; row += 4) gemm_quant_tile<V, Format, 4>(gemm, row, col);
      switch (block_end - row) {
        case 3:
          gemm_quant_tile<V, Format, 3>(gemm, row, col);
          break;
        case 2:
          gemm_quant_tile<V, Format, 2>(gemm, row, col);
          break;
        case 1:
          gemm_quant_tile<V, Format, 1>(gemm, row, col);
          break;
        default:
          break;
      }
    }
  }
}

// out.q = round((x - offset) / scale) with the scale that makes the row's range the format's.
template <class V, class Format>
void quantize_rows_body(const float* x, std::int64_t rows, std::int64_t cols, const float* balance, const QuantizedRows& out) {
  using F32 = typename V::F32;
  using D = Dot<V, Format>;
  const std::int64_t depth = padded_depth<Format>(cols);
  for (std::int64_t i = 0; i < rows; ++i, x += cols) {
    const auto value = [&](std::int64_t j, int count) {
      const F32 v = load_step<V>(x + j, count);
      return balance ? V::mul(v, load_step<V>(balance + j, count)) : v;
    };
    F32 high = V::splat(0.0f);  // the range holds 0, so that a tail padded with zeros does not change it
    F32 low = V::splat(0.0f);
    for_each_step<V>(cols, [&](std::int64_t j, int count) {
      const F32 v = value(j, count);
      high = V::max(high, D::kOffset ? v : V::abs(v));
      if constexpr (D::kOffset) low = V::min(low, v);
    });
    const float offset = D::kOffset ? V::min_lane(low) : 0.0f;
    const float range = V::max_lane(high) - offset;
    out.scale[i] = range / Format::kLargestActivation;
    out.offset[i] = offset;
    const F32 inverse = V::splat(range > 0 ? Format::kLargestActivation / range : 0.0f);
    const F32 offset_vec = V::splat(offset);
    auto* q = static_cast<typename D::Activation*>(out.q) + i * depth;
    for_each_step<V>(cols, [&](std::int64_t j, int count) {
      const F32 scaled = V::mul(V::sub(value(j, count), offset_vec), inverse);
      V::store_biased(q + j, V::add(scaled, V::splat(kRoundingBias)), count);
    });
    std::fill(q + cols, q + depth, typename D::Activation{0});
  }
}

}  // namespace wattn
