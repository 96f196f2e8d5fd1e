// Pooling of images, as in torch.nn.functional, and of sequences.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "nn/options.h"
#include "nn/tensor.h"

namespace wattn::nn {

struct Window {
  std::array<std::int64_t, 2> kernel{1, 1};  // height, width
  std::array<std::int64_t, 2> stride{1, 1};
  std::array<std::int64_t, 2> padding{0, 0};  // at most half the kernel
};

// kernel_size, stride (default: kernel_size) and padding: one number, or height and width.
Window read_window(Options& options);

// x [..., height, width] -> [..., (height + 2 padding - kernel) / stride + 1, likewise]. Padding counts as zeros in an average and
// is ignored in a maximum.
Result<Tensor> avg_pool2d(const Tensor& x, const Window& window);
Result<Tensor> max_pool2d(const Tensor& x, const Window& window);

// The name of a mode: "mean" (default), "max", "cls", "last", "mean_sqrt_len_tokens" or "weightedmean".
std::string read_pooling(Options& options, std::string_view name);
// x [batch, seq, hidden] -> [batch, hidden]. mask [batch, seq] or null: tokens with 0 are left out.
Result<Tensor> pool_sequence(const Tensor& x, std::string_view mode, const Tensor* mask);
// The same with a key_padding_mask [batch, seq] or null, whose 0 keeps a token.
Result<Tensor> pool_unpadded(const Tensor& x, std::string_view mode, const Tensor* key_padding_mask);

}  // namespace wattn::nn
