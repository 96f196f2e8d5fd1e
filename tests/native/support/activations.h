// The activations' formulas in double precision.
#pragma once

#include <algorithm>
#include <cmath>

#include "kernels/kernels.h"

namespace wattn::test {

inline double exact_activation(Activation activation, double x) {
  const double sigmoid = 1 / (1 + std::exp(-x));
  switch (activation) {
    case Activation::kNone:
      return x;
    case Activation::kGelu:
      return x / 2 * (1 + std::erf(x / std::sqrt(2.0)));
    case Activation::kRelu:
      return std::max(x, 0.0);
    case Activation::kTanh:
      return std::tanh(x);
    case Activation::kGeluTanh:
      return x / 2 * (1 + std::tanh(std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * x * x)));
    case Activation::kSilu:
      return x * sigmoid;
    case Activation::kSigmoid:
      return sigmoid;
  }
  return 0;
}

}  // namespace wattn::test
