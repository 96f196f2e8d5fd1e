// Memory that runs out: arena allocations (aligned_alloc) fail after a given number. One file of a program includes
// this.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>  // NOLINT(modernize-deprecated-headers): posix_memalign

#include <cstddef>
#include <string>

#include "core/result.h"

namespace wattn::test {
inline int arenas_left = -1;  // that will be had; below 0: all
}  // namespace wattn::test

// In place of libc's weak one, or the sanitizers'.
extern "C" void* aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept {
  if (wattn::test::arenas_left == 0) return nullptr;
  if (wattn::test::arenas_left > 0) --wattn::test::arenas_left;
  void* block = nullptr;
  return posix_memalign(&block, alignment, bytes) == 0 ? block : nullptr;
}

namespace wattn::test {

// run() is a Result and begins anew each time: with 0, 1, 2, ... arenas it is an OutOfMemoryError, until there are enough. Returns
// how many that is.
template <class Run>
int arenas_needed(const Run& run, const std::string& what) {
  for (int count = 0; count < 2000; ++count) {
    arenas_left = count;
    const auto result = run();
    arenas_left = -1;
    if (result.ok()) return count;
    EXPECT_EQ(result.error().code, ErrorCode::kOutOfMemory) << what << ", " << count << " arenas: " << result.error().message;
  }
  ADD_FAILURE() << what;
  return -1;
}

}  // namespace wattn::test
