#include "ops/linear.h"

#include "kernels/quant.h"

namespace wattn {
namespace {

template <class Format>
void take_quantized(Arena& arena, Linear& layer) {
  const std::int64_t size = packed_size(layer.out, padded_depth<Format>(layer.in));
  layer.weight = arena.take<typename Format::Value>(size);
  layer.scale = arena.take<float>(size / Format::kGroup);
}

}  // namespace

Linear take_linear(Arena& arena, const Kernels& kernels, WeightType type, std::int64_t in, std::int64_t out, bool bias) {
  Linear layer;
  layer.in = in;
  layer.out = out;
  layer.type = type;
  switch (type) {
    case WeightType::kF32:
      layer.weight = arena.take<float>(packed_size(out, in));
      break;
    case WeightType::kQ16:
      layer.step = 2;
      take_quantized<Q16>(arena, layer);
      break;
    case WeightType::kQ8:
      layer.step = kernels.q8_step;
      take_quantized<Q8>(arena, layer);
      layer.row_sum = arena.take<float>(out);
      break;
  }
  layer.bias = bias ? arena.take<float>(out) : nullptr;
  return layer;
}

LinearScratch take_linear_scratch(Arena& arena, WeightType type, std::int64_t max_tokens, std::int64_t max_in) {
  LinearScratch scratch;
  if (type == WeightType::kF32) return scratch;
  const std::int64_t depth = type == WeightType::kQ16 ? padded_depth<Q16>(max_in) : padded_depth<Q8>(max_in);
  scratch.rows.q = arena.take<std::int16_t>(max_tokens * depth);  // 16 bits is the widest form an activation has
  scratch.rows.scale = arena.take<float>(max_tokens);
  scratch.rows.offset = arena.take<float>(max_tokens);
  return scratch;
}

void set_weight_row(const Linear& layer, std::int64_t j, const float* values) {
  switch (layer.type) {
    case WeightType::kF32:
      pack_row(static_cast<float*>(layer.weight), j, values, layer.in);
      break;
    case WeightType::kQ16:
      quantize_weight_row<Q16>(static_cast<Q16::Value*>(layer.weight), layer.scale, j, values, layer.in, layer.step);
      break;
    case WeightType::kQ8:
      layer.row_sum[j] = quantize_weight_row<Q8>(static_cast<Q8::Value*>(layer.weight), layer.scale, j, values, layer.in, layer.step);
      break;
  }
}

void linear(const Kernels& kernels, const Linear& layer, const float* x, std::int64_t tokens, Activation activation,
            const LinearScratch& scratch, float* y) {
  if (layer.type == WeightType::kF32) {
    kernels.gemm_f32({.a = x,
                      .a_stride = layer.in,
                      .b = static_cast<const float*>(layer.weight),
                      .bias = layer.bias,
                      .c = y,
                      .c_stride = layer.out,
                      .m = tokens,
                      .n = layer.out,
                      .k = layer.in,
                      .activation = activation});
    return;
  }
  const bool q16 = layer.type == WeightType::kQ16;
  (q16 ? kernels.quantize_rows_q16 : kernels.quantize_rows_q8)(x, tokens, layer.in, nullptr, scratch.rows);
  (q16 ? kernels.gemm_q16 : kernels.gemm_q8)({.a = scratch.rows,
                                              .b = layer.weight,
                                              .b_scale = layer.scale,
                                              .b_sum = layer.row_sum,
                                              .bias = layer.bias,
                                              .c = y,
                                              .c_stride = layer.out,
                                              .m = tokens,
                                              .n = layer.out,
                                              .k = q16 ? padded_depth<Q16>(layer.in) : padded_depth<Q8>(layer.in),
                                              .activation = activation});
}

}  // namespace wattn
