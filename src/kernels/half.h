// Weights in 16 bits that are multiplied as f32: f16, or bf16. A row of a matrix or table has one of the two, known by its scale.
// A row is bf16 if that loses nothing, as in files of bf16, or if f16's range is too small for it. Else it is f16, rounded to
// nearest, ties to even; that loses nothing in files of f16. So every f16 here is finite, and widening is exact:
//   bf16: scale 1, the upper half of an f32.
//   f16: its bits moved to those of an f32 have an exponent that is 112 too small; scale 2^112 corrects it, in subnormals too.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#include "kernels/math.h"
#include "kernels/pack.h"
#include "kernels/quant.h"

namespace wattn {

inline constexpr float kHalfScale = 0x1p112f;

// What makes the bits of a float, apart from its scale, of the 16 of a weight, sign-extended: they are multiplied, then masked.
struct WidenBits {
  std::uint32_t factor, mask;
};
inline WidenBits widen_bits(float scale) { return scale == 1 ? WidenBits{1 << 16, ~0u} : WidenBits{1 << 13, 0x8FFFFFFF}; }

using FourWords = std::uint32_t __attribute__((vector_size(16)));

// Narrows a row of n numbers to out, whose elements are stride apart. Returns its scale.
float narrow_row(const float* values, std::int64_t n, std::uint16_t* out, std::int64_t stride);

// Widens a row of n numbers, stride apart, and adds them to out or writes them there.
void widen_row(const std::uint16_t* row, float scale, std::int64_t n, std::int64_t stride, bool add, float* out);

// Widens n rows of a packed matrix, [ceil(n / 8)][k][8], to gemm_f32's b. scale: [ceil(n / 8)][8].
inline void widen_panels(const std::uint16_t* packed, const float* scale, std::int64_t n, std::int64_t k, float* out) {
  using EightShorts = std::int16_t __attribute__((vector_size(16)));
  for (std::int64_t col = 0; col < n; col += kPanelWidth, scale += kPanelWidth) {
    std::uint32_t factors[kPanelWidth], masks[kPanelWidth];
    for (int j = 0; j < kPanelWidth; ++j) {
      const WidenBits how = widen_bits(scale[j]);
      factors[j] = how.factor;
      masks[j] = how.mask;
    }
    FourWords factor[2], mask[2];
    // Opaque: a factor that is known to be a power of two becomes a shift, and WebAssembly has none of each lane by its own number.
    std::memcpy(factor, opaque(factors), sizeof factor);
    std::memcpy(mask, masks, sizeof mask);
    const FourFloats scale_c03 = four_at(scale), scale_c47 = four_at(scale + 4);
    for (const float* const end = out + k * kPanelWidth; out != end; out += kPanelWidth, packed += kPanelWidth) {
      EightShorts eight;
      std::memcpy(&eight, packed, sizeof eight);
      const auto put = [&](FourWords bits, int half, FourFloats by) {
        const FourFloats four = std::bit_cast<FourFloats>((bits * factor[half]) & mask[half]) * by;
        std::memcpy(out + 4 * half, &four, sizeof four);
      };
      put(std::bit_cast<FourWords>(__builtin_convertvector(__builtin_shufflevector(eight, eight, 0, 1, 2, 3), FourInts)), 0,
          scale_c03);
      put(std::bit_cast<FourWords>(__builtin_convertvector(__builtin_shufflevector(eight, eight, 4, 5, 6, 7), FourInts)), 1,
          scale_c47);
    }
  }
}

}  // namespace wattn
