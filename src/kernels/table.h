// The whole kernel table on one vector type.
#pragma once

#include "kernels/gemm_f32.h"
#include "kernels/gemm_quant.h"
#include "kernels/rows.h"

namespace wattn {

template <class V>
constexpr Kernels kernels_on(const char* name) {
  return {.name = name,
          .gemm_f32 = gemm_f32_body<V>,
          .gemm_q16 = gemm_quant_body<V, std::int16_t>,
          .gemm_q8 = gemm_quant_body<V, std::int8_t>,
          .quantize_rows = quantize_rows_body<V>,
          .softmax_rows = softmax_rows_body<V>,
          .layer_norm_rows = layer_norm_rows_body<V>,
          .axpy = axpy_body<V>,
          .max_into = max_into_body<V>,
          .l2_normalize = l2_normalize_body<V>};
}

}  // namespace wattn
