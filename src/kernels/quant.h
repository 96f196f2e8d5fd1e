// Quantised weights: their formats, and how a row of f32 becomes one. Symmetric, in groups of 32 along k with one f32 scale
// each: w[j, i] is about scale[j, g] * q[j, i], scale = max|w| of the group / largest q, rounded to nearest, ties to even.
//   q16: 14 bits with sign in an int16. Activations have 14 bits too: 32 products stay below 2^31.
//   q8:  8 bits with sign (GGUF's q8_0 has the same groups).
// Why activations are scaled by group and keep 14 bits for q8 too: real encoders have a few channels hundreds of times
// larger than the rest, and 7 bits a row cost all-MiniLM-L6-v2 30 times the error that int8 weights do (bench/README.md).
// Packed like f32 (pack.h), two neighbours along k together: [ceil(n / 8)][k / 2][8][2], scales [ceil(n / 8)][k / 32][8].
// k is rounded up to whole groups, zeros in the gap.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "kernels/pack.h"

namespace wattn {

inline constexpr std::int64_t kQuantGroup = 32;
inline constexpr std::int64_t kQuantStep = 2;  // what one i32x4.dot_i16x8 joins
inline constexpr float kLargestActivation = 8191;
template <class T>
inline constexpr float kLargestWeight = std::is_same_v<T, std::int16_t> ? 8191 : 127;

inline constexpr float kRoundingBias = 12582912.0f;  // 1.5 * 2^23: adding it rounds to a whole number, ties to even

inline std::int32_t round_to_int(float x) {
  return std::bit_cast<std::int32_t>(x + kRoundingBias) - std::bit_cast<std::int32_t>(kRoundingBias);
}

inline std::int64_t padded_depth(std::int64_t k) { return (k + kQuantGroup - 1) / kQuantGroup * kQuantGroup; }

// Puts row j of b, [k], into its place. T: int16 (q16) or int8 (q8).
template <class T>
void quantize_weight_row(T* packed, float* scales, std::int64_t j, const float* row, std::int64_t k) {
  const std::int64_t groups = padded_depth(k) / kQuantGroup;
  const std::int64_t panel = j / kPanelWidth;
  const std::int64_t column = j % kPanelWidth;
  T* out = packed + panel * kPanelWidth * groups * kQuantGroup;
  for (std::int64_t g = 0; g < groups; ++g) {
    const std::int64_t begin = g * kQuantGroup;
    const std::int64_t end = std::min(begin + kQuantGroup, k);
    float largest = 0;
    for (std::int64_t i = begin; i < end; ++i) largest = std::max(largest, std::abs(row[i]));
    const float inverse = largest > 0 ? kLargestWeight<T> / largest : 0.0f;
    for (std::int64_t i = begin; i < end; ++i) {
      out[(i / kQuantStep * kPanelWidth + column) * kQuantStep + i % kQuantStep] = static_cast<T>(round_to_int(row[i] * inverse));
    }
    scales[(panel * groups + g) * kPanelWidth + column] = largest / kLargestWeight<T>;
  }
}

}  // namespace wattn
