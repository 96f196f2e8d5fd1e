// Quantised weights: their formats, and how a row of f32 becomes one. Symmetric, in groups along k with one f32 scale each:
// w[j, i] is about scale[j, g] * q[j, i], scale = max|w| / largest q of the group, rounded to nearest, ties to even.
//   q16: 14 bits with sign, groups of 64: with activations of 13 bits a group's sum stays below 2^31.
//   q8:  8 bits with sign, groups of 32 (as GGUF's q8_0).
// Packed like f32 (pack.h): panels of eight rows, [ceil(n / 8)][k / step][8][step], step neighbours along k together,
// scales [ceil(n / 8)][k / group][8]. k is rounded up to whole groups, zeros in the gap.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "kernels/pack.h"

namespace wattn {

struct Q16 {
  using Value = std::int16_t;
  static constexpr std::int64_t kGroup = 64;
  static constexpr float kLargestWeight = 8191;
  static constexpr float kLargestActivation = 4095;
};

struct Q8 {
  using Value = std::int8_t;
  static constexpr std::int64_t kGroup = 32;
  static constexpr float kLargestWeight = 127;
  static constexpr float kLargestActivation = 127;
};

inline constexpr float kRoundingBias = 12582912.0f;  // 1.5 * 2^23: adding it rounds to a whole number, ties to even

template <class Format>
std::int64_t padded_depth(std::int64_t k) {
  return (k + Format::kGroup - 1) / Format::kGroup * Format::kGroup;
}

// Puts row j of b, [k], into its place. Returns the sum of the row as it is after quantisation.
template <class Format>
float quantize_weight_row(typename Format::Value* packed, float* scales, std::int64_t j, const float* row, std::int64_t k, int step) {
  const std::int64_t groups = padded_depth<Format>(k) / Format::kGroup;
  const std::int64_t panel = j / kPanelWidth;
  typename Format::Value* out = packed + panel * kPanelWidth * groups * Format::kGroup;
  double sum = 0;
  for (std::int64_t g = 0; g < groups; ++g) {
    const std::int64_t begin = g * Format::kGroup;
    const std::int64_t end = std::min(begin + Format::kGroup, k);
    float largest = 0;
    for (std::int64_t i = begin; i < end; ++i) largest = std::max(largest, std::abs(row[i]));
    const float scale = largest / Format::kLargestWeight;
    const float inverse = largest > 0 ? Format::kLargestWeight / largest : 0.0f;
    std::int32_t group_sum = 0;
    for (std::int64_t i = begin; i < end; ++i) {
      const float biased = row[i] * inverse + kRoundingBias;
      const std::int32_t q = std::bit_cast<std::int32_t>(biased) - std::bit_cast<std::int32_t>(kRoundingBias);
      out[(i / step * kPanelWidth + j % kPanelWidth) * step + i % step] = static_cast<typename Format::Value>(q);
      group_sum += q;
    }
    scales[(panel * groups + g) * kPanelWidth + j % kPanelWidth] = scale;
    sum += static_cast<double>(scale) * group_sum;
  }
  return static_cast<float>(sum);
}

}  // namespace wattn
