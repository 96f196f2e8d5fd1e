// Quantised weights and activations: their formats, and how a row of f32 weights is quantised. Groups along k share an f32 scale.
//   q16: groups of 32. Signed 15-bit activations, scale = max|x| / 16383; int16 weights with the smallest scale that keeps the
//        sum of a group's magnitudes within 2^17 - 1, so that no sum of products exceeds 32 bits.
//   q8:  groups of 64. Activations 0 .. 192 with a zero point that uses all of them for the group's own range; int8 weights with
//        the smallest scale that lets four of them, times activations, be added in 16 bits, the fastest way on x86 without
//        AVX-VNNI: the positive ones of i, i + 1, i + 4 and i + 5 sum to at most 170, and so do the negative ones. Fewer activation
//        steps leave weights more room; 192 is about the best for both together (bench/README.md). Real encoders have channels
//        hundreds of times larger than the rest and asymmetric inputs: one scale per row, or 7 bits, gave all-MiniLM-L6-v2 several
//        times this error (bench/README.md).
// Rounded to nearest, ties to even. Packed like f32 (pack.h), but with `step` neighbours along k together:
// [ceil(n / 8)][k / step][8][step], scales and sums [ceil(n / 8)][groups][8]. k is rounded up to whole groups, padded with zeros.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <limits>
#include <type_traits>

#include "kernels/pack.h"

namespace wattn {

// T: the type of a weight, int16 (q16) or int8 (q8).
template <class T>
inline constexpr std::int64_t kQuantGroup = std::is_same_v<T, std::int16_t> ? 32 : 64;
inline constexpr float kLargestActivation = 16383;             // q16; times kLargestSum below 2^31
inline constexpr float kLargestSum = 131071;                   // q16
inline constexpr int kActivationSteps = 192;                   // q8
inline constexpr int kLargestFour = 32767 / kActivationSteps;  // q8: sum of those of four weights that are positive, or negative

inline constexpr float kRoundingBias = 12582912.0f;  // 1.5 * 2^23: adding it rounds to a whole number, ties to even

inline std::int32_t round_to_int(float x) {
  return std::bit_cast<std::int32_t>(x + kRoundingBias) - std::bit_cast<std::int32_t>(kRoundingBias);
}

template <class T>
std::int64_t padded_depth(std::int64_t k) {
  return (k + kQuantGroup<T> - 1) / kQuantGroup<T> * kQuantGroup<T>;
}

// Explicit vectors: with loops that the compiler vectorises, all-MiniLM-L6-v2 loads 60 ms slower in WebAssembly.
using FourInts = std::int32_t __attribute__((vector_size(16)));
using FourShorts = std::int16_t __attribute__((vector_size(8)));
using FourBytes = std::int8_t __attribute__((vector_size(4)));

inline FourFloats larger(FourFloats a, FourFloats b) { return a < b ? b : a; }
inline float largest_of(FourFloats x) { return std::max(std::max(x[0], x[1]), std::max(x[2], x[3])); }

// The largest absolute value of n numbers.
inline float largest_magnitude(const float* values, std::int64_t n) {
  FourFloats largest = {};
  std::int64_t i = 0;
  for (; i + 4 <= n; i += 4) largest = larger(largest, larger(four_at(values + i), -four_at(values + i)));
  float out = largest_of(largest);
  for (; i < n; ++i) out = std::max(out, std::abs(values[i]));
  return out;
}

// A factor for round_all(), or 0 if it is not finite: values near the smallest float become 0.
inline float finite_or_zero(float factor) { return factor <= std::numeric_limits<float>::max() ? factor : 0.0f; }

// Rounds n numbers times factor. Returns the sum of the rounded numbers.
template <class T>
std::int32_t round_all(const float* values, float factor, std::int64_t n, T* out) {
  using FourOut = std::conditional_t<sizeof(T) == 2, FourShorts, FourBytes>;
  FourInts sums = {};
  std::int64_t i = 0;
  for (; i + 4 <= n; i += 4) {
    const FourInts whole =
        std::bit_cast<FourInts>(four_at(values + i) * factor + kRoundingBias) - std::bit_cast<std::int32_t>(kRoundingBias);
    sums += whole;
    const FourOut narrow = __builtin_convertvector(whole, FourOut);
    std::memcpy(out + i, &narrow, sizeof narrow);
  }
  std::int32_t sum = sums[0] + sums[1] + sums[2] + sums[3];
  for (; i < n; ++i) {
    const std::int32_t whole = round_to_int(values[i] * factor);
    out[i] = static_cast<T>(whole);
    sum += whole;
  }
  return sum;
}

// The scale of a group of weights, [kQuantGroup].
template <class T>
float weight_scale(const float* group) {
  constexpr int kSize = kQuantGroup<T>;
  if constexpr (sizeof(T) == 2) {
    constexpr float kRounding = 0.5f * kSize;  // half a step for each of the group's weights
    float largest = 0, sum = 0;
    for (int i = 0; i < kSize; ++i) {
      largest = std::max(largest, std::abs(group[i]));
      sum += std::abs(group[i]);
    }
    return std::max(largest / 32767, sum / (kLargestSum - kRounding));
  }
  const auto with_neighbours = [](FourFloats x) { return x + __builtin_shufflevector(x, x, 1, 0, 3, 2); };
  constexpr float kRounding = 0.5f * 4;
  FourFloats largest = {}, largest_sum = {};
  for (int i = 0; i < kSize; i += 8) {
    const FourFloats x = four_at(group + i), y = four_at(group + i + 4), zero = {};
    largest = larger(largest, larger(larger(x, -x), larger(y, -y)));
    largest_sum = larger(largest_sum, with_neighbours(larger(x, zero) + larger(y, zero)));
    largest_sum = larger(largest_sum, with_neighbours(larger(-x, zero) + larger(-y, zero)));
  }
  return std::max(largest_of(largest) / 127, largest_of(largest_sum) / (kLargestFour - kRounding));
}

// A quantised matrix [n, k] in its packed form.
template <class T>
struct PackedQuant {
  T* weights;
  float* scales;
  std::int32_t* sums;  // of each group's weights; may be null
  int step;            // 2 or 4
};

// Puts the numbers of a group into column `column` of its panel: place is where the group's first ones go.
template <class T>
[[gnu::noinline]] void place_group(T* place, const T* q, std::int64_t step) {
#pragma clang loop unroll(disable)  // for size
  for (int i = 0; i < kQuantGroup<T>; i += step, place += kPanelWidth * step) {
    std::memcpy(place, q + i, 2 * sizeof(T));
    if (step == 4) std::memcpy(place + 2, q + i + 2, 2 * sizeof(T));
  }
}

// Quantises and packs row j of the matrix, [k]. Rows may come in any order.
template <class T>
void quantize_weight_row(const PackedQuant<T>& packed, std::int64_t j, const float* row, std::int64_t k) {
  const std::int64_t groups = padded_depth<T>(k) / kQuantGroup<T>;
  const std::int64_t panel = j / kPanelWidth;
  const std::int64_t column = j % kPanelWidth;
  const std::int64_t step = packed.step;
  T* out = packed.weights + panel * kPanelWidth * groups * kQuantGroup<T>;
  float padded[kQuantGroup<T>] = {};
  for (std::int64_t g = 0; g < groups; ++g) {
    const std::int64_t begin = g * kQuantGroup<T>;
    const float* group = row + begin;
    if (k - begin < kQuantGroup<T>) {
      std::copy(group, row + k, padded);
      group = padded;
    }
    const float scale = weight_scale<T>(group);
    const float inverse = finite_or_zero(1 / scale);
    T q[kQuantGroup<T>];
    const std::int32_t sum = round_all(group, inverse, kQuantGroup<T>, q);
    place_group(out + begin * kPanelWidth + column * step, q, step);
    const std::int64_t at = (panel * groups + g) * kPanelWidth + column;
    packed.scales[at] = scale;
    if (packed.sums) packed.sums[at] = sum;
  }
}

// A group of q8 as files have it (W8 blocks): its scale and weights.
struct QuantBlock {
  float scale;
  std::int8_t weights[kQuantGroup<std::int8_t>];
};

// Whether the sums of four weights are within kLargestFour, and the scale is finite. Sets the sum of all weights.
inline bool is_exact(const QuantBlock& block, std::int32_t& sum) {
  using EightBytes = std::int8_t __attribute__((vector_size(8)));
  using EightShorts = std::int16_t __attribute__((vector_size(16)));
  const auto sum_of_four = [](EightShorts x) {
    x += __builtin_shufflevector(x, x, 1, 0, 3, 2, 5, 4, 7, 6);
    return x + __builtin_shufflevector(x, x, 4, 5, 6, 7, 0, 1, 2, 3);
  };
  const auto larger = [](EightShorts a, EightShorts b) { return a < b ? b : a; };
  EightShorts most = {}, sums = {};
#pragma clang loop unroll(disable)  // for size
  for (std::size_t i = 0; i < std::size(block.weights); i += 8) {
    EightBytes bytes;
    std::memcpy(&bytes, block.weights + i, sizeof bytes);
    const EightShorts x = __builtin_convertvector(bytes, EightShorts), positive = larger(x, EightShorts{});
    most = larger(most, larger(sum_of_four(positive), sum_of_four(positive - x)));
    sums += x;
  }
  sum = 0;
#pragma clang loop unroll(disable)
  for (int i = 0; i < 8; ++i) sum += sums[i];
  const int largest = std::max(std::max<int>(most[0], most[1]), std::max<int>(most[2], most[3]));
  return largest <= kLargestFour && block.scale >= 0 && block.scale <= std::numeric_limits<float>::max();
}

// Packs row j of a matrix whose groups are quantised already, if all of them keep the limits of q8. k is whole groups.
inline bool pack_blocks(const PackedQuant<std::int8_t>& packed, std::int64_t j, const char* blocks, std::int64_t k) {
  const std::int64_t groups = k / kQuantGroup<std::int8_t>;
  const std::int64_t panel = j / kPanelWidth, column = j % kPanelWidth;
  for (std::int64_t g = 0; g < groups; ++g) {
    QuantBlock block;
    std::memcpy(&block, blocks + g * static_cast<std::int64_t>(sizeof block), sizeof block);
    const std::int64_t at = (panel * groups + g) * kPanelWidth;
    std::int32_t sum;
    if (!is_exact(block, sum)) return false;
    place_group(packed.weights + at * kQuantGroup<std::int8_t> + column * packed.step, block.weights, packed.step);
    packed.scales[at + column] = block.scale;
    if (packed.sums) packed.sums[at + column] = sum;
  }
  return true;
}

}  // namespace wattn
