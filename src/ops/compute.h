// Compute: what runs an op, and how ops split their outputs among threads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "core/thread_team.h"
#include "kernels/kernels.h"

namespace wattn {

struct Lora;

struct Compute {
  const Kernels& kernels;
  ThreadTeam& team;
  const Lora* lora = nullptr;  // additions to linear layers (ops/lora.h), or null
};

// Calls part(begin, end) or part(begin, end, thread) over [0, count), split at multiples of step: two parts per thread, so that a
// late thread costs little, and none smaller than least. A single thread takes all at once.
template <class F>
void for_parts(const Compute& compute, std::int64_t count, std::int64_t step, std::int64_t least, const F& part) {
  const std::int64_t threads = compute.team.threads();
  const std::int64_t parts = threads == 1 ? 1 : std::clamp<std::int64_t>(count / least, 1, 2 * threads);
  const std::int64_t size = ((count + parts - 1) / parts + step - 1) / step * step;
  compute.team.run((count + size - 1) / std::max<std::int64_t>(size, 1), [&](std::int64_t i, int thread) {
    const std::int64_t begin = i * size, end = std::min(count, (i + 1) * size);
    if constexpr (std::is_invocable_v<F, std::int64_t, std::int64_t, int>) {
      part(begin, end, thread);
    } else {
      part(begin, end);
    }
  });
}

}  // namespace wattn
