// Products of many probabilities without logarithms: a double with a separate power of 2, so that nothing underflows.
#pragma once

#include <bit>
#include <cstdint>

namespace wattn {

// 2^exponent; 0 if it is too small for a double.
inline double power_of_2(std::int64_t exponent) {
  if (exponent < -1022) return 0;
  return std::bit_cast<double>(static_cast<std::uint64_t>((exponent > 1023 ? 1023 : exponent) + 1023) << 52);
}

struct Scaled {
  double mantissa = 0;  // times 2^exponent
  std::int64_t exponent = INT64_MIN / 4;

  void add(double other, std::int64_t other_exponent) {
    if (other_exponent > exponent) {
      mantissa = mantissa * power_of_2(exponent - other_exponent) + other;
      exponent = other_exponent;
    } else {
      mantissa += other * power_of_2(other_exponent - exponent);
    }
  }
  // Scales the mantissa to [1, 2). It must be a normal number, as probabilities of pieces are.
  void normalize() {
    if (mantissa == 0) return;
    const auto bits = std::bit_cast<std::uint64_t>(mantissa);
    exponent += static_cast<std::int64_t>(bits >> 52 & 0x7FF) - 1023;
    mantissa = std::bit_cast<double>((bits & 0xFFFFFFFFFFFFF) | std::uint64_t{1023} << 52);
  }
};

}  // namespace wattn
