// The packed layout of gemm_f32's right side b [n, k]: panels of eight rows of b, k major inside, [ceil(n / 8)][k][8].
// The last panel's missing rows are zeros. Packing moves data and computes nothing.
#pragma once

#include <cstdint>

namespace wattn {

inline constexpr std::int64_t kPanelWidth = 8;

inline std::int64_t packed_size(std::int64_t n, std::int64_t k) { return (n + kPanelWidth - 1) / kPanelWidth * kPanelWidth * k; }

// Puts row j of b, [k], into its place. Rows may come in any order.
inline void pack_row(float* packed, std::int64_t j, const float* row, std::int64_t k) {
  float* out = packed + j / kPanelWidth * kPanelWidth * k + j % kPanelWidth;
  for (std::int64_t i = 0; i < k; ++i) out[i * kPanelWidth] = row[i];
}

// Packs b [n, k] given by rows, stride apart: the keys of one head.
inline void pack_rows(float* packed, const float* b, std::int64_t n, std::int64_t k, std::int64_t stride) {
  for (std::int64_t j = 0; j < n; ++j) pack_row(packed, j, b + j * stride, k);
  for (std::int64_t j = n; j % kPanelWidth != 0; ++j) {
    float* out = packed + j / kPanelWidth * kPanelWidth * k + j % kPanelWidth;
    for (std::int64_t i = 0; i < k; ++i) out[i * kPanelWidth] = 0.0f;
  }
}

// Packs b [n, k] given transposed, as [k, n] with rows stride apart: the values of one head.
inline void pack_transposed(float* packed, const float* b_transposed, std::int64_t n, std::int64_t k, std::int64_t stride) {
  for (std::int64_t panel = 0; panel < n; panel += kPanelWidth) {
    for (std::int64_t i = 0; i < k; ++i) {
      const float* from = b_transposed + i * stride + panel;
      for (std::int64_t j = 0; j < kPanelWidth; ++j) *packed++ = panel + j < n ? from[j] : 0.0f;
    }
  }
}

}  // namespace wattn
