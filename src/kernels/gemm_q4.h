// gemm_q4: gemm_q8 for a single row, from weights in 4 bits (q4.h). For several rows the weights are unpacked for gemm_q8; for a
// decoder's single row, unpacking would take five times as long as the product. Here the 16 weights that one lookup in a column's
// book gives stay side by side and are multiplied with 16 activations. Integer sums are exact in any order, and the f32 sum over
// groups has gemm_q8's order, so the bits are the same.
#pragma once

#include <algorithm>
#include <cstddef>

#include "kernels/gemm_quant.h"
#include "kernels/q4.h"

namespace wattn {

template <class V, class Dot>
[[gnu::noinline]] void gemm_q4(const GemmQuant& gemm, ActivateRows* activate) {
  constexpr std::ptrdiff_t kGroup = kQuantGroup<std::int8_t>;
  const std::ptrdiff_t groups = static_cast<std::ptrdiff_t>(gemm.k) / kGroup;
  const auto* codes = static_cast<const std::uint8_t*>(gemm.b);
  const std::uint8_t* books = gemm.b_book;
  const typename V::I32 zero = V::splat_at(opaque(&kZero<std::int32_t>));
  std::ptrdiff_t at = 0;  // of the scales and sums of a group's columns
  for (std::ptrdiff_t col = 0; col < gemm.n; col += kPanelWidth) {
    const auto* a = static_cast<const typename Dot::Activation*>(gemm.a.q);
    typename V::F32 total_c03 = V::to_f32(zero), total_c47 = total_c03;
    for (std::ptrdiff_t group = 0; group < groups; ++group, at += kPanelWidth) {
      typename V::I32 sums[kPanelWidth];  // of each column, four to be added
      unrolled<kPanelWidth>([&](auto c) __attribute__((always_inline)) { sums[c] = zero; });
#pragma clang loop unroll(disable)  // for size
      for (const auto* const end = a + kGroup; a != end; a += kQ4Part * Dot::kSteps) {
        unrolled<4>([&](auto c) __attribute__((always_inline)) {
          typename Dot::Part low, high;  // columns c and c + 4
          unrolled<Dot::kSteps>([&](auto part) __attribute__((always_inline)) {
            const std::uint8_t* book = books + part * kPanelWidth + c;
            V::look_up(codes + (4 * part + c) * kQ4Part, kQ4Entries.data() + book[0] * kQ4Codes,
                       kQ4Entries.data() + book[4] * kQ4Codes, low.step[part], high.step[part]);
          });
          sums[c] = Dot::along(low, a, sums[c]);
          sums[c + 4] = Dot::along(high, a, sums[c + 4]);
        });
        codes += kPanelWidth * kQ4Part / 2 * Dot::kSteps;
        books += kPanelWidth * Dot::kSteps;
      }
      const typename V::F32 scale = V::splat(gemm.a.scale[group]);
      const auto add = [&](const typename V::I32* four, std::ptrdiff_t sum_at, typename V::F32& total) {
        const typename V::I32 sum = V::add_whole(V::sums_of_four(four), Dot::first(gemm, sum_at, group, zero));
        total = V::add(total, V::mul(V::to_f32(sum), V::mul(V::load(gemm.b_scale + sum_at), scale)));
      };
      add(sums, at, total_c03);
      add(sums + 4, at + 4, total_c47);
    }
    const int count = static_cast<int>(std::min<std::ptrdiff_t>(kPanelWidth, static_cast<std::ptrdiff_t>(gemm.n) - col));
    finish_tile_row<V>(total_c03, total_c47, gemm.bias ? gemm.bias + col : nullptr, gemm.c + col, count);
    if (gemm.activation != wattn::Activation::kNone) activate(gemm.activation, gemm.c + col, gemm.c_stride, 1, count);
  }
}

// As gemm_quant_body.
template <class V, class Dot>
void gemm_q4_body(const GemmQuant& gemm) {
  gemm_q4<typename V::Exact, Dot>(gemm, activate_rows<V>);
}

}  // namespace wattn
