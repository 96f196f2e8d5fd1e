// LayerTaps: shows the packed rows of one layer to the taps, which may change them; does nothing without taps.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/taps.h"

namespace wattn {

struct LayerTaps {
  Taps* taps;
  int layer;
  std::int64_t tokens;

  void rows(const char* name, float* data, std::int64_t width) const {
    if (!taps) return;
    taps->patch({name, layer}, data, tokens, width, width);
    show(name, data, width);
  }
  // Columns [first, first + width) of rows that are stride wide.
  void columns(const char* name, float* data, std::int64_t stride, std::int64_t first, std::int64_t width) const {
    if (!taps) return;
    taps->patch({name, layer}, data + first, tokens, width, stride);
    std::vector<float> copy(static_cast<std::size_t>(tokens * width));
    for (std::int64_t i = 0; i < tokens; ++i) std::copy_n(data + i * stride + first, width, copy.begin() + i * width);
    show(name, copy.data(), width);
  }

 private:
  void show(const char* name, const float* data, std::int64_t width) const {
    const std::int64_t dims[] = {tokens, width};
    taps->on_tensor({name, layer}, {data, dims});
  }
};

}  // namespace wattn
