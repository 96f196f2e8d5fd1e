#include "ops/lstm.h"

#include <algorithm>

namespace wattn {

Lstm take_lstm(Arena& arena, const Kernels& kernels, std::int64_t in, std::int64_t hidden) {
  return {take_linear(arena, kernels, WeightType::kF32, in, 4 * hidden, true),
          take_linear(arena, kernels, WeightType::kF32, hidden, 4 * hidden, true)};
}

void lstm(const Compute& compute, const Lstm& layer, const float* x, std::int64_t steps, bool backward, float* scratch, float* y,
          std::int64_t y_stride) {
  const std::int64_t hidden = layer.hidden();
  const Kernels& kernels = compute.kernels;
  float* from_x = scratch;                     // [steps, 4 * hidden]
  float* gates = from_x + 4 * hidden * steps;  // [4 * hidden]
  float* cell = gates + 4 * hidden;            // [hidden], like the next ones
  float* state = cell + hidden;                // h_t-1
  float* squashed = state + hidden;            // tanh(cell)
  std::fill_n(cell, 2 * hidden, 0.0f);
  linear(compute, layer.input, x, steps, Activation::kNone, {}, from_x);
  for (std::int64_t step = 0; step < steps; ++step) {
    const std::int64_t t = backward ? steps - 1 - step : step;
    linear(compute, layer.recurrent, state, 1, Activation::kNone, {}, gates);
    kernels.axpy(1.0f, from_x + t * 4 * hidden, gates, 4 * hidden);
    kernels.activate(Activation::kSigmoid, gates, gates, 2 * hidden);
    kernels.activate(Activation::kTanh, gates + 2 * hidden, gates + 2 * hidden, hidden);
    kernels.activate(Activation::kSigmoid, gates + 3 * hidden, gates + 3 * hidden, hidden);
    for (std::int64_t j = 0; j < hidden; ++j) {
      cell[j] = gates[hidden + j] * cell[j] + gates[j] * gates[2 * hidden + j];
    }
    kernels.activate(Activation::kTanh, cell, squashed, hidden);
    for (std::int64_t j = 0; j < hidden; ++j) state[j] = gates[3 * hidden + j] * squashed[j];
    std::copy_n(state, hidden, y + t * y_stride);
  }
}

}  // namespace wattn
