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
    case Activation::kQuickGelu:
      return x / (1 + std::exp(-1.702 * x));
    case Activation::kGelu10:
      return std::clamp(x / 2 * (1 + std::erf(x / std::sqrt(2.0))), -10.0, 10.0);
    case Activation::kRelu2:
      return std::max(x, 0.0) * std::max(x, 0.0);
    case Activation::kRelu6:
      return std::clamp(x, 0.0, 6.0);
    case Activation::kLeakyRelu:
      return x > 0 ? x : 0.01 * x;
    case Activation::kMish:
      return x * std::tanh(std::log1p(std::exp(x)));
    case Activation::kElu:
      return x > 0 ? x : std::expm1(x);
    case Activation::kSelu:
      return 1.0507009873554805 * (x > 0 ? x : 1.6732632423543772 * std::expm1(x));
    case Activation::kHardSwish:
      return x * std::clamp(x + 3, 0.0, 6.0) / 6;
    case Activation::kHardSigmoid:
      return std::clamp(x + 3, 0.0, 6.0) / 6;
    case Activation::kHardTanh:
      return std::clamp(x, -1.0, 1.0);
    case Activation::kSoftsign:
      return x / (1 + std::abs(x));
    case Activation::kLaplace:
      return (1 + std::erf((x - 0.707107) / (0.282095 * std::sqrt(2.0)))) / 2;
  }
  return 0;
}

}  // namespace wattn::test
