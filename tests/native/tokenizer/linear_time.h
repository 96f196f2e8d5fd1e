#pragma once

#include <algorithm>
#include <cstddef>
#include <ctime>

namespace wattn::test {

// Tests of time are native tests: WebAssembly knows no time but that of the clock on the wall, in which other load counts.

/// Seconds of processor time that `work` takes.
template <class Work>
double seconds(const Work& work) {
  const std::clock_t start = std::clock();
  work();
  return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

/// Whether four times the text takes about four times as long, and not sixteen. Other load can only make a run longer, so the best
/// of many attempts counts; one is enough where nothing else runs.
/// @param seconds_for the seconds that a text of so many units takes.
template <class SecondsFor>
bool takes_linear_time(const SecondsFor& seconds_for, std::size_t units) {
  constexpr int kAttempts = 12;
  double once = 1e9;
  double four_times = 1e9;
  for (int i = 0; i < kAttempts; ++i) {
    once = std::min(once, seconds_for(units));
    four_times = std::min(four_times, seconds_for(4 * units));
    if (four_times < 10 * once + 0.1) return true;
  }
  return false;
}

}  // namespace wattn::test
