#include "ops/losses.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/real_math.h"

namespace wattn {
namespace {

double share(Reduction reduction, std::int64_t elements, std::int64_t rows) {
  if (reduction == Reduction::kSum) return 1;
  return 1 / static_cast<double>(reduction == Reduction::kMean ? elements : rows);
}

// ln(1 + e^-|x|). The sum is exact to the last place but where e^-|x| is below 2^-27 and is its own logarithm.
double softplus_of_minus(double x) {
  const double e = exp64(-std::abs(x));
  return e < 0x1p-27 ? e : log64(1 + e);
}

// The sum over elements of loss(i), whose derivative is slope(i).
template <class Loss, class Slope>
double elementwise(const LossInput& x, Reduction reduction, float* dx, float* parts, const Loss& loss, const Slope& slope) {
  const double factor = share(reduction, x.size(), x.rows);
  double sum = 0;
  for (std::int64_t i = 0; i < x.size(); ++i) {
    const double one = loss(i);
    sum += one;
    if (parts) parts[i] = static_cast<float>(one * factor);
    if (dx) dx[i] = static_cast<float>(factor * slope(i));
  }
  return sum * factor;
}

// softmax(z) and ln of the sum of e^z.
double softmax64(const float* z, std::int64_t n, std::vector<double>& probs) {
  const double most = *std::max_element(z, z + n);
  double sum = 0;
  for (std::int64_t j = 0; j < n; ++j) sum += probs[static_cast<std::size_t>(j)] = exp64(z[j] - most);
  for (double& p : probs) p /= sum;
  return most + log64(sum);
}

}  // namespace

double cross_entropy(const LossInput& logits, std::span<const std::int32_t> targets, const CrossEntropy& options, float* d_logits,
                     float* parts) {
  const std::int64_t classes = logits.cols;
  const auto weight_of = [&](std::int64_t c) { return options.weight ? static_cast<double>(options.weight[c]) : 1.0; };
  double all_weights = 0, counted = 0, sum = 0;
  for (std::int64_t c = 0; c < classes; ++c) all_weights += weight_of(c);
  for (const std::int32_t target : targets) counted += target == options.ignore_index ? 0 : weight_of(target);
  const double factor = options.reduction == Reduction::kSum ? 1 : 1 / counted;
  const double smoothed = static_cast<double>(options.label_smoothing) / static_cast<double>(classes);
  const double own = 1 - static_cast<double>(options.label_smoothing);
  std::vector<double> probs(static_cast<std::size_t>(classes));
  for (std::int64_t i = 0; i < logits.rows; ++i) {
    float* d = d_logits ? d_logits + i * classes : nullptr;
    const std::int32_t target = targets[static_cast<std::size_t>(i)];
    if (target == options.ignore_index) {
      if (d) std::fill_n(d, classes, 0.0f);
      if (parts) parts[i] = 0;
      continue;
    }
    const float* z = logits.data + i * classes;
    const double log_sum = softmax64(z, classes, probs), weight = own * weight_of(target);
    const double before = sum;
    sum += weight * (log_sum - z[target]);
    for (std::int64_t c = 0; smoothed > 0 && c < classes; ++c) sum += smoothed * weight_of(c) * (log_sum - z[c]);
    if (parts) parts[i] = static_cast<float>((sum - before) * factor);
    for (std::int64_t c = 0; d && c < classes; ++c) {
      const double p = probs[static_cast<std::size_t>(c)];
      d[c] = static_cast<float>(factor * (weight * (p - (c == target)) + smoothed * (all_weights * p - weight_of(c))));
    }
  }
  return sum * factor;
}

double soft_cross_entropy(const LossInput& logits, const float* targets, const CrossEntropy& options, float* d_logits,
                          float* d_targets, float* parts) {
  const std::int64_t classes = logits.cols;
  const double factor = share(options.reduction, logits.rows, logits.rows);
  const double own = 1 - static_cast<double>(options.label_smoothing);
  const double smoothed = static_cast<double>(options.label_smoothing) / static_cast<double>(classes);
  const auto weight_of = [&](std::int64_t c) { return options.weight ? static_cast<double>(options.weight[c]) : 1.0; };
  std::vector<double> probs(static_cast<std::size_t>(classes));
  double sum = 0;
  for (std::int64_t i = 0; i < logits.rows; ++i) {
    const std::int64_t at = i * classes;
    const float* z = logits.data + at;
    const double log_sum = softmax64(z, classes, probs);
    const auto counts = [&](std::int64_t c) { return weight_of(c) * (own * targets[at + c] + smoothed); };
    double loss = 0, all = 0;
    for (std::int64_t c = 0; c < classes; ++c) {
      all += counts(c);
      loss += counts(c) * (log_sum - z[c]);
      if (d_targets) d_targets[at + c] = static_cast<float>(factor * weight_of(c) * own * (log_sum - z[c]));
    }
    sum += loss;
    if (parts) parts[i] = static_cast<float>(loss * factor);
    for (std::int64_t c = 0; d_logits && c < classes; ++c) {
      d_logits[at + c] = static_cast<float>(factor * (all * probs[static_cast<std::size_t>(c)] - counts(c)));
    }
  }
  return sum * factor;
}

double binary_cross_entropy_with_logits(const LossInput& logits, const float* targets, const BinaryCrossEntropy& options,
                                        float* d_logits, float* parts) {
  const auto weight_at = [&](const float* weights, std::int64_t i) {
    return weights ? static_cast<double>(weights[i % logits.cols]) : 1.0;
  };
  // -ln s(x) = ln(1 + e^-x), of which 1 + (pos_weight - 1) y parts count, and x (1 - y).
  const auto counts = [&](std::int64_t i) { return 1 + (weight_at(options.pos_weight, i) - 1) * targets[i]; };
  return elementwise(
      logits, options.reduction, d_logits, parts,
      [&](std::int64_t i) {
        const double x = logits.data[i];
        return weight_at(options.weight, i) * ((1 - targets[i]) * x + counts(i) * (softplus_of_minus(x) + std::max(-x, 0.0)));
      },
      [&](std::int64_t i) {
        const double x = logits.data[i];
        return weight_at(options.weight, i) * (1 - targets[i] - counts(i) / (1 + exp64(x)));
      });
}

double mse_loss(const LossInput& x, const float* target, Reduction reduction, float* dx, float* parts) {
  const auto difference = [&](std::int64_t i) { return static_cast<double>(x.data[i]) - target[i]; };
  return elementwise(
      x, reduction, dx, parts, [&](std::int64_t i) { return difference(i) * difference(i); },
      [&](std::int64_t i) { return 2 * difference(i); });
}

double l1_loss(const LossInput& x, const float* target, Reduction reduction, float* dx, float* parts) {
  const auto difference = [&](std::int64_t i) { return static_cast<double>(x.data[i]) - target[i]; };
  return elementwise(
      x, reduction, dx, parts, [&](std::int64_t i) { return std::abs(difference(i)); },
      [&](std::int64_t i) { return difference(i) > 0   ? 1.0
                                   : difference(i) < 0 ? -1.0
                                                       : difference(i); });
}

double kl_div(const LossInput& x, const float* target, Reduction reduction, float* dx, float* parts) {
  return elementwise(
      x, reduction, dx, parts,
      [&](std::int64_t i) {
        const double t = target[i];
        return t > 0 ? t * (log64(t) - x.data[i]) : -t * x.data[i];
      },
      [&](std::int64_t i) { return -static_cast<double>(target[i]); });
}

double cosine_embedding_loss(const LossInput& x1, const float* x2, std::span<const std::int32_t> y, float margin,
                             Reduction reduction, float* dx1, float* dx2, float* parts) {
  constexpr double kLeastSquare = 1e-12;  // torch's, added to each sum of squares
  const double factor = share(reduction, x1.rows, x1.rows);
  double sum = 0;
  for (std::int64_t i = 0; i < x1.rows; ++i) {
    const float *a = x1.data + i * x1.cols, *b = x2 + i * x1.cols;
    double dot = 0, aa = kLeastSquare, bb = kLeastSquare;
    for (std::int64_t j = 0; j < x1.cols; ++j) {
      dot += static_cast<double>(a[j]) * b[j];
      aa += static_cast<double>(a[j]) * a[j];
      bb += static_cast<double>(b[j]) * b[j];
    }
    const double length = std::sqrt(aa * bb), cos = dot / length;
    const bool alike = y[static_cast<std::size_t>(i)] == 1;
    const double loss = alike ? 1 - cos : cos - margin;
    const double slope = alike ? -factor : loss > 0 ? factor : 0;  // of the cosine
    const double counted = alike ? loss : std::max(loss, 0.0);
    sum += counted;
    if (parts) parts[i] = static_cast<float>(counted * factor);
    for (std::int64_t j = 0; j < x1.cols; ++j) {
      if (dx1) dx1[i * x1.cols + j] = static_cast<float>(slope * (b[j] / length - cos * a[j] / aa));
      if (dx2) dx2[i * x1.cols + j] = static_cast<float>(slope * (a[j] / length - cos * b[j] / bb));
    }
  }
  return sum * factor;
}

namespace {

// |a - b + eps|, and its gradient with respect to a: (a - b + eps) / distance.
double distance(const float* a, const float* b, std::int64_t n, float eps, std::vector<double>& gradient) {
  double squares = 0;
  for (std::int64_t j = 0; j < n; ++j) {
    const double d = static_cast<double>(a[j]) - b[j] + eps;
    gradient[static_cast<std::size_t>(j)] = d;
    squares += d * d;
  }
  const double length = std::sqrt(squares);
  for (double& g : gradient) g = length > 0 ? g / length : 0;
  return length;
}

}  // namespace

double triplet_margin_loss(const LossInput& anchor, const float* positive, const float* negative, const TripletMargin& options,
                           const TripletGradients& gradients, float* parts) {
  const std::int64_t n = anchor.cols;
  const double factor = share(options.reduction, anchor.rows, anchor.rows);
  const auto width = static_cast<std::size_t>(n);
  std::vector<double> to_positive(width), to_negative(width), between(width);
  double sum = 0;
  for (std::int64_t i = 0; i < anchor.rows; ++i) {
    const std::int64_t at = i * n;
    const double near = distance(anchor.data + at, positive + at, n, options.eps, to_positive);
    const double direct = distance(anchor.data + at, negative + at, n, options.eps, to_negative);
    const double other = options.swap ? distance(positive + at, negative + at, n, options.eps, between) : direct;
    const bool swapped = other < direct;
    const double loss = near - std::min(other, direct) + options.margin, slope = loss > 0 ? factor : 0;
    sum += std::max(loss, 0.0);
    if (parts) parts[i] = static_cast<float>(std::max(loss, 0.0) * factor);
    const auto put = [&](float* d, std::size_t j, double gradient) {
      if (d) d[at + static_cast<std::int64_t>(j)] = static_cast<float>(slope * gradient);
    };
    for (std::size_t j = 0; j < width; ++j) {
      put(gradients.anchor, j, to_positive[j] - (swapped ? 0 : to_negative[j]));
      put(gradients.positive, j, -to_positive[j] - (swapped ? between[j] : 0));
      put(gradients.negative, j, swapped ? between[j] : to_negative[j]);
    }
  }
  return sum * factor;
}

}  // namespace wattn
