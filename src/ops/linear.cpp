#include "ops/linear.h"

#include "kernels/quant.h"

namespace wattn {
namespace {

template <class T>
void take_quantized(Arena& arena, Linear& layer) {
  const std::int64_t size = packed_size(layer.out, padded_depth(layer.in));
  layer.weight = arena.take<T>(size);
  layer.scale = arena.take<float>(size / kQuantGroup);
}

}  // namespace

Linear take_linear(Arena& arena, WeightType type, std::int64_t in, std::int64_t out, bool bias) {
  Linear layer{.in = in, .out = out, .type = type};
  switch (type) {
    case WeightType::kF32:
      layer.weight = arena.take<float>(packed_size(out, in));
      break;
    case WeightType::kQ16:
      take_quantized<std::int16_t>(arena, layer);
      break;
    case WeightType::kQ8:
      take_quantized<std::int8_t>(arena, layer);
      break;
  }
  layer.bias = bias ? arena.take<float>(out) : nullptr;
  return layer;
}

LinearScratch take_linear_scratch(Arena& arena, WeightType type, std::int64_t max_tokens, std::int64_t max_in) {
  if (type == WeightType::kF32) return {};
  const std::int64_t size = max_tokens * padded_depth(max_in);
  return {{.q = arena.take<std::int16_t>(size), .scale = arena.take<float>(size / kQuantGroup)}};
}

void set_weight_row(const Linear& layer, std::int64_t j, const float* values) {
  switch (layer.type) {
    case WeightType::kF32:
      pack_row(static_cast<float*>(layer.weight), j, values, layer.in);
      break;
    case WeightType::kQ16:
      quantize_weight_row(static_cast<std::int16_t*>(layer.weight), layer.scale, j, values, layer.in);
      break;
    case WeightType::kQ8:
      quantize_weight_row(static_cast<std::int8_t*>(layer.weight), layer.scale, j, values, layer.in);
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
  kernels.quantize_rows(x, tokens, layer.in, scratch.rows);
  const auto gemm = layer.type == WeightType::kQ16 ? kernels.gemm_q16 : kernels.gemm_q8;
  gemm({.a = scratch.rows,
        .b = layer.weight,
        .b_scale = layer.scale,
        .bias = layer.bias,
        .c = y,
        .c_stride = layer.out,
        .m = tokens,
        .n = layer.out,
        .k = padded_depth(layer.in),
        .activation = activation});
}

}  // namespace wattn
