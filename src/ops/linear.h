// Linear: y = activation(x W^T + b), as torch.nn.Linear. W is kept packed for the kernel.
#pragma once

#include <cstdint>

#include "core/arena.h"
#include "kernels/kernels.h"

namespace wattn {

struct Linear {
  std::int64_t in = 0;
  std::int64_t out = 0;
  float* weight = nullptr;  // [out, in], packed as [ceil(out / 8)][in][8]
  float* bias = nullptr;    // [out], or null
};

// Takes the memory of a Linear from the arena.
Linear take_linear(Arena& arena, std::int64_t in, std::int64_t out, bool bias);

// Sets row j of W from values [in].
void set_weight_row(const Linear& linear, std::int64_t j, const float* values);

// x: [tokens, in], y: [tokens, out], both without gaps; y must not overlap x.
void linear(const Kernels& kernels, const Linear& layer, const float* x, std::int64_t tokens, Activation activation, float* y);

}  // namespace wattn
