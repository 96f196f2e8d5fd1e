// What logistic regression and its calibration share.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/real_math.h"
#include "ops/compute.h"

namespace wattn {

inline Compute one_thread() {
  static ThreadTeam alone;
  return {exact_kernels(), alone};
}

inline bool are_below(std::span<const std::int32_t> labels, std::int64_t num_labels) {
  return std::all_of(labels.begin(), labels.end(), [&](std::int32_t label) { return label >= 0 && label < num_labels; });
}

// -ln softmax(z)[label], from the largest logit and its probability, which cannot underflow. z: [cols], becomes softmax(z).
inline double softmax_loss(float* z, std::size_t cols, std::size_t label) {
  const auto best = static_cast<std::size_t>(std::max_element(z, z + cols) - z);
  const double distance = static_cast<double>(z[best]) - z[label];
  one_thread().kernels.softmax_rows(z, 1, static_cast<std::int64_t>(cols), static_cast<std::int64_t>(cols));
  return distance - log64(z[best]);
}

}  // namespace wattn
