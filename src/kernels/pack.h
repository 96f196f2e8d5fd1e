// The packed layout of gemm_f32's right operand b [n, k]: panels of eight rows of b, k major inside, [ceil(n / 8)][k][8].
// The last panel's missing rows are zeros. Packing moves data and computes nothing.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace wattn {

inline constexpr std::int64_t kPanelWidth = 8;

using FourFloats = float __attribute__((vector_size(16)));

inline FourFloats four_at(const float* values) {
  FourFloats out;
  std::memcpy(&out, values, sizeof out);
  return out;
}

inline std::int64_t packed_size(std::int64_t n, std::int64_t k) { return (n + kPanelWidth - 1) / kPanelWidth * kPanelWidth * k; }

// Packs row j of b, [k]. Rows may come in any order.
inline void pack_row(float* packed, std::int64_t j, const float* row, std::int64_t k) {
  if (k == 0) return;
  float* out = packed + j / kPanelWidth * kPanelWidth * k + j % kPanelWidth;
  for (std::int64_t i = 0; i < k; ++i) out[i * kPanelWidth] = row[i];
}

// Packs rows j to j + 3 of b, stride apart; j is a multiple of four. The same as four calls of pack_row().
inline void pack_four_rows(float* packed, std::int64_t j, const float* rows, std::int64_t k, std::int64_t stride) {
  if (k == 0) return;
  float* out = packed + j / kPanelWidth * kPanelWidth * k + j % kPanelWidth;
  const auto put = [&](std::int64_t i, FourFloats four) { std::memcpy(out + i * kPanelWidth, &four, sizeof four); };
  std::int64_t i = 0;
  for (; i + 4 <= k; i += 4) {
    const FourFloats a = four_at(rows + i), b = four_at(rows + stride + i), c = four_at(rows + 2 * stride + i),
                     d = four_at(rows + 3 * stride + i);
    const FourFloats low_ab = __builtin_shufflevector(a, b, 0, 4, 1, 5), high_ab = __builtin_shufflevector(a, b, 2, 6, 3, 7);
    const FourFloats low_cd = __builtin_shufflevector(c, d, 0, 4, 1, 5), high_cd = __builtin_shufflevector(c, d, 2, 6, 3, 7);
    put(i, __builtin_shufflevector(low_ab, low_cd, 0, 1, 4, 5));
    put(i + 1, __builtin_shufflevector(low_ab, low_cd, 2, 3, 6, 7));
    put(i + 2, __builtin_shufflevector(high_ab, high_cd, 0, 1, 4, 5));
    put(i + 3, __builtin_shufflevector(high_ab, high_cd, 2, 3, 6, 7));
  }
  for (; i < k; ++i) put(i, FourFloats{rows[i], rows[stride + i], rows[2 * stride + i], rows[3 * stride + i]});
}

// Packs b [n, k] from rows that are stride apart, such as the keys of one head.
inline void pack_rows(float* packed, const float* b, std::int64_t n, std::int64_t k, std::int64_t stride) {
  if (k == 0) return;  // `packed` may be null then
  std::int64_t j = 0;
  for (; j + 4 <= n; j += 4) pack_four_rows(packed, j, b + j * stride, k, stride);
  for (; j < n; ++j) pack_row(packed, j, b + j * stride, k);
  for (; j % kPanelWidth != 0; ++j) {
    float* out = packed + j / kPanelWidth * kPanelWidth * k + j % kPanelWidth;
    for (std::int64_t i = 0; i < k; ++i) out[i * kPanelWidth] = 0.0f;
  }
}

// Packs b [n, k] from its transpose [k, n] with rows stride apart, such as the values of one head.
inline void pack_transposed(float* packed, const float* b_transposed, std::int64_t n, std::int64_t k, std::int64_t stride) {
  for (std::int64_t panel = 0; panel < n; panel += kPanelWidth) {
    const std::int64_t count = std::min(n - panel, kPanelWidth);
    for (std::int64_t i = 0; i < k; ++i, packed += kPanelWidth) {
      const float* from = b_transposed + i * stride + panel;
      if (count == kPanelWidth) {
        std::memcpy(packed, from, kPanelWidth * sizeof(float));
      } else {
        std::fill(std::copy_n(from, count, packed), packed + kPanelWidth, 0.0f);
      }
    }
  }
}

}  // namespace wattn
