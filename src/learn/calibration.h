// Temperature scaling (Guo et al., arXiv 1706.04599): the number by which logits are divided so that scores are as certain as they
// are right. Work is done in steps of about 10 ms.
#pragma once

#include <cstdint>
#include <vector>

#include "core/result.h"

namespace wattn {

// Finds the temperature in [1/50, 50] that maximises the likelihood of the labels. Each of n examples counts as wrong with weight
// 1 / (n + 2) (Laplace's rule of succession, as in Platt 1999); otherwise a few correct examples would make every score certain.
// The temperature is 1 if no other is better, or if the best one is at the upper limit.
class Calibration {
 public:
  // logits: [labels, cols], with the correct label of each row.
  static Result<Calibration> make(std::vector<float> logits, std::vector<std::int32_t> labels);

  // Evaluates a block of examples; after the last of them, chooses the next temperature. False if it is found.
  bool step();

  double temperature() const { return temperature_; }
  double loss() const { return loss_; }  // the mean loss at this temperature

 private:
  // Means over the examples, at scale_: of the loss, and of its first and second derivatives by the scale.
  struct Means {
    double loss = 0, slope = 0, curvature = 0;
  };

  Calibration() = default;
  Means evaluate(const float* logits, std::size_t label);
  bool choose_scale();

  std::vector<float> logits_;
  std::vector<std::int32_t> labels_;
  std::size_t cols_ = 0;
  std::vector<float> scores_;  // [cols]
  std::size_t row_ = 0;        // the first of the next block
  Means here_;                 // at scale_, of the rows before it
  Means plain_;                // at scale 1
  double scale_ = 1;           // 1 / temperature
  double low_ = 0, high_ = 0;  // the best scale is between these
  int evaluations_ = 0;
  bool is_last_ = false;
  double temperature_ = 1, loss_ = 0;
};

}  // namespace wattn
