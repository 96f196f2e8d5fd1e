#include "ops/linear.h"

#include "kernels/pack.h"

namespace wattn {

Linear take_linear(Arena& arena, std::int64_t in, std::int64_t out, bool bias) {
  Linear layer;
  layer.in = in;
  layer.out = out;
  layer.weight = arena.take<float>(packed_size(out, in));
  layer.bias = bias ? arena.take<float>(out) : nullptr;
  return layer;
}

void set_weight_row(const Linear& layer, std::int64_t j, const float* values) { pack_row(layer.weight, j, values, layer.in); }

void linear(const Kernels& kernels, const Linear& layer, const float* x, std::int64_t tokens, Activation activation, float* y) {
  kernels.gemm_f32({.a = x,
                    .a_stride = layer.in,
                    .b = layer.weight,
                    .bias = layer.bias,
                    .c = y,
                    .c_stride = layer.out,
                    .m = tokens,
                    .n = layer.out,
                    .k = layer.in,
                    .activation = activation});
}

}  // namespace wattn
