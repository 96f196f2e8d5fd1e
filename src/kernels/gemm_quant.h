// gemm_q16 and gemm_q8: integer products in groups along k, and the quantisation of activations they need. Formulas and
// shapes in kernels.h, formats in quant.h. Integer sums are exact in any order, so every form of a product gives the same result;
// the f32 sum over groups has one order.
#pragma once

#include <algorithm>
#include <cstddef>

#include "kernels/quant.h"
#include "kernels/rows.h"
#include "kernels/tiles.h"

namespace wattn {

// Products of int16 activations. int8 weights are widened, and i32x4.dot_i16x8 adds products in pairs.
template <class V, class T>
struct PairDot {
  using Weight = T;
  using Activation = std::int16_t;
  static constexpr int kStep = 2;
  static constexpr int kSteps = 1;     // per dot
  static constexpr int kTileRows = 4;  // 8 sums, the operands and the product in 16 registers
  static typename V::I16 weights(const T* p) {
    if constexpr (sizeof(T) == 2) {
      return V::load_q16(p);
    } else {
      return V::load_q8(p);
    }
  }
  static typename V::I16 activations(const std::int16_t* p, std::ptrdiff_t /*stride*/) { return V::splat_pair(p); }
  static typename V::I32 dot(typename V::I16 w, typename V::I16 a, typename V::I32 sum) { return V::dot(w, a, sum); }
  // 16 weights of one column, side by side, with as many activations: four sums, to be added (gemm_q4.h).
  struct Part {
    typename V::I8 step[1];
  };
  static typename V::I32 along(const Part& w, const std::int16_t* a, typename V::I32 sum) {
    return V::dot(V::high_i16(w.step[0]), V::load_q16(a + 8), V::dot(V::low_i16(w.step[0]), V::load_q16(a), sum));
  }
  // The initial sums of four columns of a group, with offsets into b_sum and a.zero, and zeros. Here z was already subtracted from
  // the activations.
  static typename V::I32 first(const GemmQuant& /*gemm*/, std::ptrdiff_t /*sum_at*/, std::ptrdiff_t /*zero_at*/,
                               typename V::I32 zero) {
    return zero;
  }
};

// Products of bytes. Relaxed dot products add them in fours, in a form that is exact on this machine (vec_relaxed.h). Activations
// are stored as bytes q - V::kByteOffset, so a group begins with (V::kByteOffset - z) * (sum of its weights).
template <class V>
struct ByteDot {
  using Weight = std::int8_t;
  using Activation = std::int8_t;
  static constexpr int kStep = 4;
  static constexpr int kSteps = V::kByteSteps;
  // A dot into its own sum takes five cycles with AVX-VNNI, and two start in each: 12 sums keep it busy, 8 do not (7 % slower).
  static constexpr int kTileRows = kSteps == 1 ? 6 : 4;
  struct Steps {
    typename V::I8 step[kSteps];
  };
  static Steps weights(const std::int8_t* p) {
    Steps w;
    unrolled<kSteps>([&](auto i) __attribute__((always_inline)) { w.step[i] = V::load_bytes(p + i * kPanelWidth * kStep); });
    return w;
  }
  static Steps activations(const std::int8_t* p, std::ptrdiff_t stride) {
    Steps a;
    unrolled<kSteps>([&](auto i) __attribute__((always_inline)) { a.step[i] = V::splat_quad(p + i * stride); });
    return a;
  }
  static typename V::I32 dot(const Steps& w, const Steps& a, typename V::I32 sum) { return V::dot_bytes(w.step, a.step, sum); }
  using Part = Steps;
  static typename V::I32 along(const Part& w, const std::int8_t* a, typename V::I32 sum) {
    Steps a_steps;
    unrolled<kSteps>([&](auto i) __attribute__((always_inline)) { a_steps.step[i] = V::load_bytes(a + 16 * i); });
    return dot(w, a_steps, sum);
  }
  static typename V::I32 first(const GemmQuant& gemm, std::ptrdiff_t sum_at, std::ptrdiff_t zero_at, typename V::I32 /*zero*/) {
    return V::mul_low_halves(gemm.b_sum + sum_at, gemm.a.zero + zero_at);
  }
};

// kRows x 8 of c.
template <class V, class Dot, int kRows>
[[gnu::noinline]] void gemm_quant_tile(const GemmQuant& gemm, const TilePart& part, ActivateRows* activate) {
  using F32 = typename V::F32;
  using Weight = typename Dot::Weight;
  using Activation = typename Dot::Activation;
  constexpr std::ptrdiff_t kGroup = kQuantGroup<Weight>, kWordsOfGroup = kGroup / Dot::kStep;
  // Sums of a row and column that do not wait for each other: a dot takes up to five cycles, and one row alone starts too few. With
  // two rows V8 would keep some of the sums in memory.
  constexpr int kChains = kRows == 1 ? 4 : 1;
  const std::ptrdiff_t groups = static_cast<std::ptrdiff_t>(gemm.k) / kGroup;
  const std::ptrdiff_t first = part.begin / kWordsOfGroup, end = first + part.depth / kWordsOfGroup;
  const auto* a = reinterpret_cast<const Activation*>(part.a);
  const float* a_scale = gemm.a.scale + part.row * groups;
  const auto* w = static_cast<const Weight*>(gemm.b) + part.col * gemm.k + first * kGroup * kPanelWidth;
  const float* w_scale = gemm.b_scale + part.col * groups + first * kPanelWidth;
  const int count = static_cast<int>(std::min<std::int64_t>(kPanelWidth, gemm.n - part.col));
  float* c = gemm.c + part.row * gemm.c_stride + part.col;
  F32 total_c03[kRows];
  F32 total_c47[kRows];
  begin_tile<V, kRows>(part, c, gemm.c_stride, count, total_c03, total_c47);
  const typename V::I32 zero = V::splat_at(opaque(&kZero<std::int32_t>));
  for (std::ptrdiff_t group = first; group < end; ++group) {
    typename V::I32 sum_c03[kRows * kChains];
    typename V::I32 sum_c47[kRows * kChains];
    unrolled<kRows>([&](auto r) __attribute__((always_inline)) {
      const std::ptrdiff_t sum_at = part.col * groups + group * kPanelWidth;
      sum_c03[r] = Dot::first(gemm, sum_at, (part.row + r) * groups + group, zero);
      sum_c47[r] = Dot::first(gemm, sum_at + 4, (part.row + r) * groups + group, zero);
    });
    unrolled<kRows*(kChains - 1)>([&](auto i) __attribute__((always_inline)) { sum_c03[kRows + i] = sum_c47[kRows + i] = zero; });
    constexpr std::ptrdiff_t kNext = Dot::kStep * Dot::kSteps;
    const Weight* const w_end = w + kGroup * kPanelWidth;
    while (w != w_end) {
      unrolled<kChains>([&](auto chain) __attribute__((always_inline)) {
        const auto w_c03 = Dot::weights(w);
        const auto w_c47 = Dot::weights(w + kPanelWidth / 2 * Dot::kStep);
        unrolled<kRows>([&](auto r) __attribute__((always_inline)) {
          const auto a_rk = Dot::activations(a + r * Dot::kStep, kRows * Dot::kStep);
          sum_c03[chain * kRows + r] = Dot::dot(w_c03, a_rk, sum_c03[chain * kRows + r]);
          sum_c47[chain * kRows + r] = Dot::dot(w_c47, a_rk, sum_c47[chain * kRows + r]);
        });
        w += kPanelWidth * kNext;
        a += kRows * kNext;
      });
    }
    unrolled<kRows*(kChains - 1)>([&](auto i) __attribute__((always_inline)) {
      sum_c03[i % kRows] = V::add_whole(sum_c03[i % kRows], sum_c03[kRows + i]);
      sum_c47[i % kRows] = V::add_whole(sum_c47[i % kRows], sum_c47[kRows + i]);
    });
    const F32 scale_c03 = V::load(w_scale);
    const F32 scale_c47 = V::load(w_scale + 4);
    w_scale += kPanelWidth;
    unrolled<kRows>([&](auto r) __attribute__((always_inline)) {
      const F32 scale_r = V::splat(a_scale[r * groups + group]);
      total_c03[r] = V::add(total_c03[r], V::mul(V::to_f32(sum_c03[r]), V::mul(scale_c03, scale_r)));
      total_c47[r] = V::add(total_c47[r], V::mul(V::to_f32(sum_c47[r]), V::mul(scale_c47, scale_r)));
    });
  }
  const float* bias = part.last && gemm.bias ? gemm.bias + part.col : nullptr;
  unrolled<kRows>([&](auto r) __attribute__((always_inline)) {
    finish_tile_row<V>(total_c03[r], total_c47[r], bias, c + r * gemm.c_stride, count);
  });
  if (part.last && gemm.activation != wattn::Activation::kNone) activate(gemm.activation, c, gemm.c_stride, kRows, count);
}

template <class V, class Dot>
[[gnu::noinline]] void gemm_quant(const GemmQuant& gemm, ActivateRows* activate) {
  const std::int64_t row_bytes = gemm.k * static_cast<std::int64_t>(sizeof(typename Dot::Activation));
  for_each_tile<V, Dot::kTileRows>(gemm.a.q, row_bytes, gemm.k / Dot::kStep, gemm.m, gemm.n,
                                   [&]<int kRows>(const TilePart& part) { gemm_quant_tile<V, Dot, kRows>(gemm, part, activate); });
}

// Activations are V's; all else is the same for every V with the same V::Exact, and compiled once.
template <class V, class Dot>
void gemm_quant_body(const GemmQuant& gemm) {
  gemm_quant<typename V::Exact, Dot>(gemm, activate_rows<V>);
}

// q16: q = round(x / scale), scale = max|x| of the group / 16383.
template <class V>
void quantize_q16_body(const float* x, std::int64_t rows, std::int64_t cols, const QuantizedRows& out) {
  using F32 = typename V::F32;
  constexpr std::int64_t kGroup = kQuantGroup<std::int16_t>;
  const std::int64_t depth = padded_depth<std::int16_t>(cols);
  float* scale = out.scale;
  for (std::int64_t i = 0; i < rows; ++i, x += cols) {
    std::int16_t* q = static_cast<std::int16_t*>(out.q) + i * depth;
    for (std::int64_t begin = 0; begin < depth; begin += kGroup) {
      const std::int64_t size = std::min(kGroup, cols - begin);
      F32 largest_vec = V::splat(0.0f);
      for_each_step<V>(
          size, [&](std::int64_t j, int count) { largest_vec = V::max(largest_vec, V::abs(load_step<V>(x + begin + j, count))); });
      const float largest = V::max_lane(largest_vec);
      *scale++ = largest / kLargestActivation;
      const F32 inverse = V::splat(finite_or_zero(kLargestActivation / largest));
      for_each_step<V>(size, [&](std::int64_t j, int count) {
        V::store_biased(q + begin + j, V::add(V::mul(load_step<V>(x + begin + j, count), inverse), V::splat(kRoundingBias)), count);
      });
    }
    std::fill(q + cols, q + depth, std::int16_t{0});
  }
}

// q8: scale = (high - low) / kActivationSteps with low <= 0 <= high the group's range, z = round(-low / scale), q = round(x / scale
// + z) clamped to 0 .. kActivationSteps. Stored in the form that Dot reads: int16 q - z, or bytes.
template <class V, class Dot>
void quantize_q8_body(const float* x, std::int64_t rows, std::int64_t cols, const QuantizedRows& out) {
  using F32 = typename V::F32;
  using Stored = typename Dot::Activation;
  constexpr std::int64_t kGroup = kQuantGroup<std::int8_t>;
  const std::int64_t depth = padded_depth<std::int8_t>(cols);
  const F32 least = V::splat(kRoundingBias);
  const F32 most = V::splat(kRoundingBias + kActivationSteps);
  float* scale = out.scale;
  std::int32_t* zero = out.zero;
  for (std::int64_t i = 0; i < rows; ++i, x += cols) {
    Stored* q = static_cast<Stored*>(out.q) + i * depth;
    for (std::int64_t begin = 0; begin < depth; begin += kGroup) {
      const std::int64_t size = std::min(kGroup, cols - begin);
      F32 high_vec = V::splat(0.0f);
      F32 low_vec = V::splat(0.0f);  // of -x
      for_each_step<V>(size, [&](std::int64_t j, int count) {
        const F32 values = load_step<V>(x + begin + j, count);
        high_vec = V::max(high_vec, values);
        low_vec = V::max(low_vec, V::sub(V::splat(0.0f), values));
      });
      const float low = V::max_lane(low_vec);
      const float range = V::max_lane(high_vec) + low;
      const float inverse = finite_or_zero(kActivationSteps / range);
      const float biased_z = low * inverse + kRoundingBias;
      const float z = biased_z - kRoundingBias;
      *scale++ = range / kActivationSteps;
      float offset = z;
      if constexpr (sizeof(Stored) == 1) {
        offset = V::kByteOffset;
        *zero++ = (V::kByteOffset - round_to_int(z)) & 0xFFFF;
      }
      const F32 inverse_vec = V::splat(inverse);
      const F32 z_vec = V::splat(biased_z);
      const F32 offset_vec = V::splat(offset);
      for_each_step<V>(size, [&](std::int64_t j, int count) {
        const F32 biased = V::add(V::mul(load_step<V>(x + begin + j, count), inverse_vec), z_vec);
        V::store_biased(q + begin + j, V::sub(V::min(V::max(biased, least), most), offset_vec), count);
      });
    }
    std::fill(q + cols, q + depth, Stored{0});
  }
}

}  // namespace wattn
