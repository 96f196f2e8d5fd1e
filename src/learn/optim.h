// Optimizers, gradient clipping and learning rates, with torch.optim's formulas and transformers' schedules. Elements are
// independent and every operation is rounded to f32, so the bits are the same everywhere.
#pragma once

#include <cstdint>
#include <span>

namespace wattn {

// torch.optim.SGD
struct Sgd {
  float lr = 1e-3f;
  float momentum = 0;
  float dampening = 0;
  float weight_decay = 0;
  bool nesterov = false;
};
// One step. step: from 1. velocity: [n], kept between steps; null without momentum.
void sgd_step(const Sgd& options, std::int64_t step, std::span<float> parameter, const float* gradient, float* velocity);

// torch.optim.Adam (arXiv 1412.6980) and AdamW (arXiv 1711.05101), which decays the weights themselves, not their gradients.
struct Adam {
  float lr = 1e-3f;
  double beta1 = 0.9;
  double beta2 = 0.999;
  float eps = 1e-8f;
  float weight_decay = 0;
  bool decoupled = false;  // AdamW
};
// One step. step: from 1.
class AdamStep {
 public:
  AdamStep(const Adam& options, std::int64_t step);

  // first, second: [n] moments, kept between steps, which begin as zeros.
  void run(std::span<float> parameter, const float* gradient, float* first, float* second) const;
  // What run() does where the gradient is 0 and always was, so that the moments are 0, too. AdamW's.
  void decay(std::span<float> parameter) const;

 private:
  bool decoupled_;
  float weight_decay_, kept_, step_size_, root2_, rest1_, rest2_, beta2_, eps_;
};
void adam_step(const Adam& options, std::int64_t step, std::span<float> parameter, const float* gradient, float* first,
               float* second);

// The Euclidean norm of all gradients together; scales them to max_norm if it is larger, as torch.nn.utils.clip_grad_norm_. The
// result is the norm before, NaN or infinite if they are.
double clip_grad_norm(std::span<const std::span<float>> gradients, double max_norm);

// Factors of the learning rate, with transformers' names (optimization.py).
enum class Schedule : std::uint8_t {
  kConstant,
  kConstantWithWarmup,
  kLinear,  // from 0 to 1 over the warm-up, then to 0
  kCosine,  // likewise, along half a cosine
};
// step: from 0, the steps taken.
double schedule_factor(Schedule schedule, std::int64_t step, std::int64_t warmup_steps, std::int64_t training_steps);

}  // namespace wattn
