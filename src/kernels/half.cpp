// build: -Oz
#include "kernels/half.h"

#include <algorithm>

namespace wattn {
namespace {

constexpr float kBeyondHalf = 65520;  // the least that rounds to f16's infinity

// f16's bits of four numbers below kBeyondHalf.
FourWords to_half(FourFloats x) {
  constexpr std::uint32_t kLeastNormal = 113 << 23;
  const FourWords bits = std::bit_cast<FourWords>(x), magnitude = bits & 0x7FFFFFFF;
  // In a sum with 0.5 the last bit is that of f16's subnormals.
  const FourWords subnormal =
      std::bit_cast<FourWords>(std::bit_cast<FourFloats>(magnitude) + 0.5f) - std::bit_cast<std::uint32_t>(0.5f);
  const FourWords normal = (magnitude + 0xFFF + ((magnitude >> 13) & 1) - (112 << 23)) >> 13;
  return (magnitude < kLeastNormal ? subnormal : normal) | ((bits >> 16) & 0x8000);
}

// bf16's bits; NaN is quiet then.
FourWords to_bfloat(FourFloats x) {
  const FourWords bits = std::bit_cast<FourWords>(x);
  return x == x ? (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16 : (bits >> 16) | 0x40;
}

}  // namespace

float narrow_row(const float* values, std::int64_t n, std::uint16_t* out, std::int64_t stride) {
  std::uint32_t all = 0, largest = 0;  // largest: NaN and infinity are above all others
  for (std::int64_t i = 0; i < n; ++i) {
    const auto bits = std::bit_cast<std::uint32_t>(values[i]);
    all |= bits;
    largest = std::max(largest, bits & 0x7FFFFFFF);
  }
  const bool half = (all & 0xFFFF) != 0 && largest < std::bit_cast<std::uint32_t>(kBeyondHalf);
  for (std::int64_t i = 0; i < n; i += 4) {
    const std::int64_t count = std::min<std::int64_t>(4, n - i);
    FourFloats four = {};
    std::memcpy(&four, values + i, static_cast<std::size_t>(count) * sizeof(float));
    const FourWords bits = half ? to_half(four) : to_bfloat(four);
    for (std::int64_t j = 0; j < count; ++j) out[(i + j) * stride] = static_cast<std::uint16_t>(bits[j]);
  }
  return half ? kHalfScale : 1.0f;
}

void widen_row(const std::uint16_t* row, float scale, std::int64_t n, std::int64_t stride, bool add, float* out) {
  const WidenBits how = widen_bits(scale);
  for (std::int64_t i = 0; i < n; ++i) {
    const std::uint32_t bits = static_cast<std::uint32_t>(static_cast<std::int16_t>(row[i * stride])) * how.factor;
    out[i] = std::bit_cast<float>(bits & how.mask) * scale + (add ? out[i] : -0.0f);
  }
}

}  // namespace wattn
