// One direction of one layer of an LSTM, as torch.nn.LSTM (no projections). Inference only: no task trains one.
#pragma once

#include <cstdint>

#include "core/arena.h"
#include "ops/linear.h"

namespace wattn {

// Gates in torch's order: input, forget, cell, output; [4 * hidden, ..] each, with both biases.
struct Lstm {
  LinearWeights input;      // over x
  LinearWeights recurrent;  // over the hidden state before
  std::int64_t hidden() const { return recurrent.in; }
};

Lstm take_lstm(Arena& arena, const Kernels& kernels, std::int64_t in, std::int64_t hidden);

// Floats of scratch for lstm() over so many steps.
inline std::int64_t lstm_scratch(std::int64_t hidden, std::int64_t steps) { return 4 * hidden * steps + 7 * hidden; }

// i, f, o = sigmoid, g = tanh of (W x_t + b) + (U h_t-1 + c); cell = f * cell + i * g; h_t = o * tanh(cell); h and cell begin as 0.
// x: [steps, in]; y: [steps, hidden], rows y_stride apart, must not overlap x. backward: from the last step to the first.
void lstm(const Compute& compute, const Lstm& layer, const float* x, std::int64_t steps, bool backward, float* scratch, float* y,
          std::int64_t y_stride);

}  // namespace wattn
