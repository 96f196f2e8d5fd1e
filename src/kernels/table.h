// The whole kernel table for one vector type.
#pragma once

#include "kernels/gemm_f32.h"
#include "kernels/gemm_q4.h"
#include "kernels/gemm_quant.h"
#include "kernels/q4.h"
#include "kernels/rows.h"

namespace wattn {

// Sets a form of the int8 product, and the functions that prepare its operands. Integer is V::Exact, or that with products of
// bytes.
template <class V, class Integer, class Dot>
constexpr void use_q8(Kernels& kernels) {
  kernels.gemm_q8 = gemm_quant_body<V, Dot>;
  kernels.gemm_q4 = gemm_q4_body<V, Dot>;
  kernels.quantize_q8 = quantize_q8_body<Integer, Dot>;
  kernels.unpack_q4 = unpack_q4_body<typename V::Exact, Dot::kStep>;
  kernels.q8_step = Dot::kStep;
}

template <class V>
constexpr Kernels kernels_on(const char* name) {
  using Exact = typename V::Exact;
  Kernels kernels{.name = name,
                  .gemm_f32 = gemm_f32_body<V>,
                  .gemm_q16 = gemm_quant_body<V, PairDot<Exact, std::int16_t>>,
                  .gemm_q8 = nullptr,
                  .gemm_q4 = nullptr,
                  .quantize_q16 = quantize_q16_body<Exact>,
                  .quantize_q8 = nullptr,
                  .quantize_q4_row = quantize_q4_row_body<Exact>,
                  .unpack_q4 = nullptr,
                  .q8_step = 0,
                  .softmax_rows = softmax_rows_body<V>,
                  .layer_norm_rows = layer_norm_rows_body<V>,
                  .gate_rows = gate_rows_body<V>,
                  .rotate = rotate_body<Exact>,
                  .axpy = axpy_body<V>,
                  .max_into = max_into_body<Exact>,
                  .activate = activate_body<V>,
                  .dot = dot_body<V>,
                  .pair_step = pair_step_body<V>,
                  .l2_normalize = l2_normalize_body<V>};
  use_q8<V, Exact, PairDot<Exact, std::int8_t>>(kernels);
  return kernels;
}

}  // namespace wattn
