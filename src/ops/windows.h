// The tokens around each token (Op::kWindows).
#pragma once

#include <cstdint>

#include "ops/batch.h"

namespace wattn {

// For each token calls f(row) for each of `count` rows around it, in their order or backwards; -1: outside of its sequence.
template <class F>
void for_each_window_token(const Batch& batch, std::int64_t count, bool backwards, const F& f) {
  for (std::int64_t i = 0; i < batch.batch(); ++i) {
    const std::int64_t begin = batch.seq_start[i], end = batch.seq_start[i + 1];
    for (std::int64_t token = begin; token < end; ++token) {
      for (std::int64_t k = 0; k < count; ++k) {
        const std::int64_t row = token + (backwards ? count / 2 - k : k - count / 2);
        f(row < begin || row >= end ? -1 : row);
      }
    }
  }
}

}  // namespace wattn
