// build: -Os
#include "learn/calibration.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "learn/softmax_loss.h"

namespace wattn {
namespace {

constexpr double kMostScale = 50;
constexpr int kMostEvaluations = 60;
constexpr double kNear = 1e-7;                   // relative size of the last step
constexpr std::size_t kBlockLogits = 1u << 18u;  // of a step

}  // namespace

Result<Calibration> Calibration::make(std::vector<float> logits, std::vector<std::int32_t> labels) {
  const std::size_t count = labels.size(), cols = logits.size() / std::max<std::size_t>(count, 1);
  if (cols < 2 || cols * count != logits.size() || !are_below(labels, static_cast<std::int64_t>(cols))) {
    return input_error("Calibration: expected logits of at least two labels for each label");
  }
  Calibration out;
  out.logits_ = std::move(logits);
  out.labels_ = std::move(labels);
  out.cols_ = cols;
  out.scores_.resize(cols);
  out.low_ = 1 / kMostScale;
  out.high_ = kMostScale;
  return out;
}

// With z relative to the largest logit, the loss is ln(sum exp(scale z)) - scale target. Its slope is the mean of z by
// softmax(scale z), minus the target; its curvature is the variance of z.
Calibration::Means Calibration::evaluate(const float* logits, std::size_t label) {
  const auto best = static_cast<double>(*std::max_element(logits, logits + cols_));
  double rest = 0;
  for (std::size_t j = 0; j < cols_; ++j) {
    const double z = logits[j] - best;
    scores_[j] = static_cast<float>(scale_ * z);
    rest += j == label ? 0 : z;
  }
  const double own = logits[label] - best;
  const double doubt = 1 / (static_cast<double>(labels_.size()) + 2);
  const double target = (1 - doubt) * own + doubt * rest / static_cast<double>(cols_ - 1);
  const double loss = softmax_loss(scores_.data(), cols_, label) + scale_ * (own - target);
  double mean = 0, square = 0;
  for (std::size_t j = 0; j < cols_; ++j) {
    const double z = logits[j] - best;
    mean += scores_[j] * z;
    square += scores_[j] * z * z;
  }
  return {loss, mean - target, square - mean * mean};
}

// The loss is convex in the scale: Newton's steps, and a mean of the ends where a step leaves the interval.
bool Calibration::choose_scale() {
  ++evaluations_;
  if (evaluations_ == 1) {
    plain_ = here_;
    loss_ = plain_.loss;
    scale_ = low_;
    return true;
  }
  if (evaluations_ == 2) {
    if (!(here_.slope < 0)) return false;
    here_ = plain_;
    scale_ = 1;
  }
  if (is_last_ || evaluations_ == kMostEvaluations) {
    if (!(here_.loss < plain_.loss)) return false;
    temperature_ = 1 / scale_;
    loss_ = here_.loss;
    return false;
  }
  (here_.slope < 0 ? low_ : high_) = scale_;
  const double newton = scale_ - here_.slope / here_.curvature;
  const double next = newton > low_ && newton < high_ ? newton : std::sqrt(low_ * high_);
  is_last_ = std::abs(next - scale_) <= kNear * scale_;
  scale_ = next;
  return true;
}

bool Calibration::step() {
  if (row_ == 0) here_ = {};
  const std::size_t end = std::min(labels_.size(), row_ + std::max<std::size_t>(kBlockLogits / cols_, 1));
  const auto count = static_cast<double>(labels_.size());
  for (; row_ < end; ++row_) {
    const Means one = evaluate(logits_.data() + row_ * cols_, static_cast<std::size_t>(labels_[row_]));
    here_.loss += one.loss / count;
    here_.slope += one.slope / count;
    here_.curvature += one.curvature / count;
  }
  if (row_ < labels_.size()) return true;
  row_ = 0;
  return choose_scale();
}

}  // namespace wattn
