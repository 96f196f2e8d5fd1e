// The generator behind every `seed`: SplitMix64 (Steele, Lea, Flood 2014), the same numbers in C++ and JS, on every machine.
#pragma once

#include <cmath>
#include <cstdint>

#include "core/real_math.h"

namespace wattn {

class Generator {
 public:
  explicit Generator(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  // The upper 53 bits as a fraction: [0, 1).
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  double uniform(double low, double high) { return low + (high - low) * uniform(); }
  // Mean 0, variance 1 (Box-Muller); uses two uniform draws.
  double normal() {
    const double radius = std::sqrt(-2 * log64(1 - uniform()));
    return radius * cos64(6.28318530717958647693 * uniform());
  }

 private:
  std::uint64_t state_;
};

}  // namespace wattn
