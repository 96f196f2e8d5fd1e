// Pooling: of images, as torch.nn.functional has it, and of sequences.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "nn/options.h"
#include "nn/tensor.h"

namespace wattn::nn {

struct Window {
  std::array<std::int64_t, 2> kernel{1, 1};  // height, width
  std::array<std::int64_t, 2> stride{1, 1};
  std::array<std::int64_t, 2> padding{0, 0};  // at most half the kernel
};

// kernel_size, stride (the kernel's where none is given), padding: one number, or height and width.
Window read_window(Options& options);

// x [..., height, width] -> [..., (height + 2 padding - kernel) / stride + 1, likewise]. Padding counts as zeros (average) or as
// nothing (max).
Result<Tensor> avg_pool2d(const Tensor& x, const Window& window);
Result<Tensor> max_pool2d(const Tensor& x, const Window& window);

// x [batch, seq, hidden] -> [batch, hidden]. mode: a name of ops/pooling.h ("mean", "max", "cls", "last_token", ...).
// mask [batch, seq] or null: tokens with 0 are left out.
Result<Tensor> pool_sequence(const Tensor& x, std::string_view mode, const Tensor* mask);

}  // namespace wattn::nn
