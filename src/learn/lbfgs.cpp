// build: -Os
#include "learn/lbfgs.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace wattn {
namespace {

constexpr std::size_t kMemory = 10;
constexpr double kSlope = 1e-4;        // minimum decrease of a step relative to the gradient's prediction
constexpr double kRounding = 0x1p-53;  // of a double

// Four independent sums in a fixed order, for speed.
double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sums[4] = {};
  std::size_t i = 0;
  for (; i + 4 <= a.size(); i += 4) {
    for (std::size_t lane = 0; lane < 4; ++lane) sums[lane] += a[i + lane] * b[i + lane];
  }
  for (; i < a.size(); ++i) sums[0] += a[i] * b[i];
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

void add_scaled(std::vector<double>& out, const std::vector<double>& x, double factor) {
  for (std::size_t i = 0; i < out.size(); ++i) out[i] += factor * x[i];
}

}  // namespace

// next_ becomes x_.
void Lbfgs::accept(double value, const std::vector<double>& gradient) {
  if (!x_.empty()) {
    Pair pair{next_, gradient, 0};
    add_scaled(pair.step, x_, -1);
    add_scaled(pair.change, gradient_, -1);
    if (const double curvature = dot(pair.step, pair.change); curvature > 1e-300) {
      pair.rho = 1 / curvature;
      if (pairs_.size() == kMemory) pairs_.erase(pairs_.begin());
      pairs_.push_back(std::move(pair));
    }
    ++iterations_;
  }
  x_ = next_;
  gradient_ = gradient;
  value_ = value;
}

// Minus the gradient times the inverse curvature estimated from the last steps.
void Lbfgs::choose_direction() {
  along_.assign(gradient_.size(), 0);
  add_scaled(along_, gradient_, -1);
  if (pairs_.empty()) return;
  std::vector<double> alphas;
  alphas.reserve(pairs_.size());
  for (auto pair = pairs_.rbegin(); pair != pairs_.rend(); ++pair) {
    alphas.push_back(pair->rho * dot(pair->step, along_));
    add_scaled(along_, pair->change, -alphas.back());
  }
  const Pair& last = pairs_.back();
  const double scale = 1 / (last.rho * dot(last.change, last.change));
  for (double& part : along_) part *= scale;
  for (const Pair& pair : pairs_) {
    add_scaled(along_, pair.step, alphas.back() - pair.rho * dot(pair.change, along_));
    alphas.pop_back();
  }
}

// False if rounding would hide the decrease that a step of this length must bring, or if the slope is not finite.
bool Lbfgs::try_length(double length) {
  if (!(-kSlope * length * slope_ > kRounding * std::abs(value_))) return false;
  length_ = length;
  next_ = x_;
  add_scaled(next_, along_, length_);
  return true;
}

bool Lbfgs::tell(double value, const std::vector<double>& gradient, double tolerance) {
  // Not so for NaN: a function that overflows has no value.
  const bool decreases = value <= value_ + kSlope * length_ * slope_;
  if (!x_.empty() && !decreases) return try_length(length_ / 2);
  accept(value, gradient);
  if (std::all_of(gradient_.begin(), gradient_.end(), [&](double part) { return std::abs(part) <= tolerance; })) return false;
  choose_direction();
  slope_ = dot(along_, gradient_);
  return try_length(pairs_.empty() ? std::min(1.0, 1 / std::sqrt(-slope_)) : 1);
}

}  // namespace wattn
