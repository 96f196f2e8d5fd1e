// The whole kernel table on one vector type.
#pragma once

#include "kernels/gemm_f32.h"
#include "kernels/gemm_quant.h"
#include "kernels/rows.h"

namespace wattn {

template <class V>
constexpr Kernels kernels_on(const char* name) {
  return {.name = name,
          .q8_step = V::kQ8Step,
          .gemm_f32 = gemm_f32_body<V>,
          .gemm_q16 = gemm_quant_body<V, Q16>,
          .gemm_q8 = gemm_quant_body<V, Q8>,
          .quantize_rows_q16 = quantize_rows_body<V, Q16>,
          .quantize_rows_q8 = quantize_rows_body<V, Q8>,
          .softmax_rows = softmax_rows_body<V>,
          .layer_norm_rows = layer_norm_rows_body<V>,
          .axpy = axpy_body<V>,
          .max_into = max_into_body<V>,
          .l2_normalize = l2_normalize_body<V>};
}

}  // namespace wattn
