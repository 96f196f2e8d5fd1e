// gemm_f32: c = activation(scale * a b^T + bias), b packed. See GemmF32 in kernels.h for shapes and the order of sums.
// Each element of c is one chain of k multiply-adds, whatever the tile, so tiles, tails and batches never change a bit.
#pragma once

#include <algorithm>
#include <cstddef>

#include "kernels/tiles.h"

namespace wattn {

// k is not unrolled: four steps at a time were 20 % slower in V8 (Node 24), which then allocates registers less well.
template <class V, int kRows>
[[gnu::noinline]] void gemm_f32_tile(const GemmF32& gemm, const TilePart& part) {
  using F32 = typename V::F32;
  const int count = static_cast<int>(std::min<std::int64_t>(kPanelWidth, gemm.n - part.col));
  float* c = gemm.c + part.row * gemm.c_stride + part.col;
  F32 acc_c03[kRows];
  F32 acc_c47[kRows];
  begin_tile<V, kRows>(part, c, gemm.c_stride, count, acc_c03, acc_c47);
  const float* a = reinterpret_cast<const float*>(part.a);
  const float* panel = gemm.b + part.col * (gemm.b_depth > 0 ? gemm.b_depth : gemm.k) + part.begin * kPanelWidth;
  const float* const panel_end = panel + part.depth * kPanelWidth;
  for (; panel != panel_end; panel += kPanelWidth, a += kRows) {
    const F32 b_c03 = V::load(panel);
    const F32 b_c47 = V::load(panel + 4);
    unrolled<kRows>([&](auto r) __attribute__((always_inline)) {
      const F32 a_rk = V::splat_at(a + r);
      acc_c03[r] = V::madd(a_rk, b_c03, acc_c03[r]);
      acc_c47[r] = V::madd(a_rk, b_c47, acc_c47[r]);
    });
  }
  const F32 scale = V::splat(part.last ? gemm.scale : 1.0f);
  const float* bias = part.last && gemm.bias ? gemm.bias + part.col : nullptr;
  unrolled<kRows>([&](auto r) __attribute__((always_inline)) {
    finish_tile_row<V>(V::mul(acc_c03[r], scale), V::mul(acc_c47[r], scale), bias, c + r * gemm.c_stride, count);
  });
  if (part.last && gemm.activation != Activation::kNone) activate_rows<V>(gemm.activation, c, gemm.c_stride, kRows, count);
}

template <class V>
void gemm_f32_body(const GemmF32& gemm) {
  const std::int64_t row_bytes = gemm.a_stride * static_cast<std::int64_t>(sizeof(float));
  for_each_tile<V, V::kTileRows>(gemm.a, row_bytes, gemm.k, gemm.m, gemm.n,
                                 [&]<int kRows>(const TilePart& part) { gemm_f32_tile<V, kRows>(gemm, part); });
}

}  // namespace wattn
