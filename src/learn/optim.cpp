#include "learn/optim.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstddef>

#include "core/real_math.h"

namespace wattn {

void sgd_step(const Sgd& options, std::int64_t step, std::span<float> parameter, const float* gradient, float* velocity) {
  for (std::size_t i = 0; i < parameter.size(); ++i) {
    float g = gradient[i] + options.weight_decay * parameter[i];
    if (velocity) {
      velocity[i] = step == 1 ? g : options.momentum * velocity[i] + (1 - options.dampening) * g;
      g = options.nesterov ? g + options.momentum * velocity[i] : velocity[i];
    }
    parameter[i] -= options.lr * g;
  }
}

AdamStep::AdamStep(const Adam& options, std::int64_t step)
    : decoupled_(options.decoupled),
      weight_decay_(options.weight_decay),
      kept_(static_cast<float>(1 - static_cast<double>(options.lr) * options.weight_decay)),
      rest1_(static_cast<float>(1 - options.beta1)),
      rest2_(static_cast<float>(1 - options.beta2)),
      beta2_(static_cast<float>(options.beta2)),
      eps_(options.eps) {
  const auto t = static_cast<double>(step);
  const double correction1 = 1 - pow64(options.beta1, t), correction2 = 1 - pow64(options.beta2, t);
  step_size_ = static_cast<float>(options.lr / correction1);
  root2_ = static_cast<float>(std::sqrt(correction2));
}

void AdamStep::run(std::span<float> parameter, const float* gradient, float* first, float* second) const {
  const AdamStep by = *this;  // which no store of a float can change
  for (std::size_t i = 0; i < parameter.size(); ++i) {
    float p = parameter[i], g = gradient[i];
    if (by.decoupled_) {
      p *= by.kept_;
    } else {
      g += by.weight_decay_ * p;
    }
    first[i] += by.rest1_ * (g - first[i]);
    second[i] = by.beta2_ * second[i] + by.rest2_ * (g * g);
    parameter[i] = p - by.step_size_ * (first[i] / (std::sqrt(second[i]) / by.root2_ + by.eps_));
  }
}

void AdamStep::decay(std::span<float> parameter) const {
  assert(decoupled_);
  const float kept = kept_;
  for (float& p : parameter) p *= kept;
}

void adam_step(const Adam& options, std::int64_t step, std::span<float> parameter, const float* gradient, float* first,
               float* second) {
  AdamStep(options, step).run(parameter, gradient, first, second);
}

double clip_grad_norm(std::span<const std::span<float>> gradients, double max_norm) {
  constexpr double kLeast = 1e-6;  // torch's, added to the norm
  double squares = 0;
  for (const std::span<float> of_parameter : gradients) {
    for (const float g : of_parameter) squares += static_cast<double>(g) * g;
  }
  const double norm = std::sqrt(squares), scale = max_norm / (norm + kLeast);
  if (!(scale < 1)) return norm;
  for (const std::span<float> of_parameter : gradients) {
    for (float& g : of_parameter) g *= static_cast<float>(scale);
  }
  return norm;
}

double schedule_factor(Schedule schedule, std::int64_t step, std::int64_t warmup_steps, std::int64_t training_steps) {
  constexpr double kPi = 3.14159265358979323846;
  if (schedule == Schedule::kConstant) return 1;
  const auto at = static_cast<double>(step), warmup = static_cast<double>(warmup_steps);
  if (step < warmup_steps) return at / warmup;
  if (schedule == Schedule::kConstantWithWarmup) return 1;
  const double rest = std::max(1.0, static_cast<double>(training_steps) - warmup);
  if (schedule == Schedule::kLinear) return std::max(0.0, (static_cast<double>(training_steps) - at) / rest);
  return std::max(0.0, 0.5 * (1 + cos64(kPi * std::min((at - warmup) / rest, 1.0))));
}

}  // namespace wattn
