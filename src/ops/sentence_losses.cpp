#include "ops/sentence_losses.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "core/real_math.h"

namespace wattn {
namespace {

using Doubles = std::vector<double>;

// The rows scaled to unit length, and the gradient with respect to them.
class UnitRows {
 public:
  explicit UnitRows(const LossInput& x) : x_(x), unit_(static_cast<std::size_t>(x.size())), gradient_(unit_.size()) {
    for (std::int64_t i = 0; i < x.rows; ++i) {
      const float* row = x.data + i * x.cols;
      double squares = 0;
      for (std::int64_t k = 0; k < x.cols; ++k) squares += static_cast<double>(row[k]) * row[k];
      lengths_.push_back(std::max(std::sqrt(squares), kLeastLength));
      for (std::int64_t k = 0; k < x.cols; ++k) unit_[at(i) + static_cast<std::size_t>(k)] = row[k] / lengths_.back();
    }
  }

  double cosine(std::int64_t i, std::int64_t j) const {
    double sum = 0;
    for (std::size_t k = 0; k < cols(); ++k) sum += unit_[at(i) + k] * unit_[at(j) + k];
    return sum;
  }
  // slope: of the loss by this cosine.
  void add(std::int64_t i, std::int64_t j, double slope) {
    for (std::size_t k = 0; k < cols(); ++k) {
      gradient_[at(i) + k] += slope * unit_[at(j) + k];
      gradient_[at(j) + k] += slope * unit_[at(i) + k];
    }
  }
  // The gradient with respect to the rows as they were.
  void write(float* dx) const {
    for (std::int64_t i = 0; dx && i < x_.rows; ++i) {
      double along = 0;
      for (std::size_t k = 0; k < cols(); ++k) along += gradient_[at(i) + k] * unit_[at(i) + k];
      const double length = lengths_[static_cast<std::size_t>(i)];
      for (std::size_t k = 0; k < cols(); ++k) {
        dx[at(i) + k] = static_cast<float>((gradient_[at(i) + k] - along * unit_[at(i) + k]) / length);
      }
    }
  }

 private:
  static constexpr double kLeastLength = 1e-12;  // torch.nn.functional.normalize's
  std::size_t cols() const { return static_cast<std::size_t>(x_.cols); }
  std::size_t at(std::int64_t i) const { return static_cast<std::size_t>(i) * cols(); }

  LossInput x_;
  Doubles unit_, gradient_, lengths_;
};

// ln of the sum of e^values, which become their softmax.
double softmax_in_place(Doubles& values) {
  const double most = *std::max_element(values.begin(), values.end());
  double sum = 0;
  for (double& value : values) sum += value = exp64(value - most);
  for (double& value : values) value /= sum;
  return most + log64(sum);
}

// The sum over pairs of loss(cosine, i), which also gives the slope.
template <class Loss>
double over_pairs(const LossInput& x, float* dx, const Loss& loss) {
  UnitRows rows(x);
  const std::int64_t pairs = x.rows / 2;
  double sum = 0;
  for (std::int64_t i = 0; i < pairs; ++i) {
    double slope = 0;
    sum += loss(rows.cosine(i, pairs + i), static_cast<std::size_t>(i), slope);
    rows.add(i, pairs + i, slope);
  }
  rows.write(dx);
  return sum;
}

}  // namespace

double multiple_negatives_ranking_loss(const LossInput& x, std::int64_t anchors, double scale, float* dx) {
  UnitRows rows(x);
  const std::int64_t candidates = x.rows - anchors;
  const double factor = 1 / static_cast<double>(anchors);
  Doubles scores(static_cast<std::size_t>(candidates));
  double sum = 0;
  for (std::int64_t i = 0; i < anchors; ++i) {
    for (std::int64_t j = 0; j < candidates; ++j) scores[static_cast<std::size_t>(j)] = scale * rows.cosine(i, anchors + j);
    const double own = scores[static_cast<std::size_t>(i)];
    sum += softmax_in_place(scores) - own;
    for (std::int64_t j = 0; j < candidates; ++j) {
      rows.add(i, anchors + j, factor * scale * (scores[static_cast<std::size_t>(j)] - (i == j)));
    }
  }
  rows.write(dx);
  return factor * sum;
}

double cosent_loss(const LossInput& x, std::span<const float> scores, double scale, float* dx) {
  UnitRows rows(x);
  const std::size_t pairs = scores.size();
  const auto partner = [&](std::size_t i) { return static_cast<std::int64_t>(pairs + i); };
  Doubles cosines;
  for (std::size_t i = 0; i < pairs; ++i) cosines.push_back(scale * rows.cosine(static_cast<std::int64_t>(i), partner(i)));
  Doubles terms{0};  // the logarithm of the 1
  std::vector<std::pair<std::size_t, std::size_t>> of_terms;
  for (std::size_t i = 0; i < pairs; ++i) {
    for (std::size_t j = 0; j < pairs; ++j) {
      if (!(scores[i] < scores[j])) continue;
      terms.push_back(cosines[i] - cosines[j]);
      of_terms.emplace_back(i, j);
    }
  }
  const double loss = softmax_in_place(terms);
  Doubles slopes(pairs);
  for (std::size_t k = 0; k < of_terms.size(); ++k) {
    slopes[of_terms[k].first] += scale * terms[k + 1];
    slopes[of_terms[k].second] -= scale * terms[k + 1];
  }
  for (std::size_t i = 0; i < pairs; ++i) rows.add(static_cast<std::int64_t>(i), partner(i), slopes[i]);
  rows.write(dx);
  return loss;
}

double cosine_similarity_loss(const LossInput& x, std::span<const float> scores, float* dx) {
  const double factor = 1 / static_cast<double>(scores.size());
  return over_pairs(x, dx, [&](double cosine, std::size_t i, double& slope) {
    const double difference = cosine - scores[i];
    slope = 2 * factor * difference;
    return factor * difference * difference;
  });
}

double contrastive_loss(const LossInput& x, std::span<const float> labels, double margin, float* dx) {
  const double factor = 1 / static_cast<double>(labels.size());
  return over_pairs(x, dx, [&](double cosine, std::size_t i, double& slope) {
    const double distance = 1 - cosine, gap = std::max(0.0, margin - distance), label = labels[i];
    slope = factor * ((1 - label) * gap - label * distance);
    return 0.5 * factor * (label * distance * distance + (1 - label) * gap * gap);
  });
}

double batch_all_triplet_loss(const LossInput& x, std::span<const std::int32_t> labels, double margin, float* dx) {
  constexpr double kLeast = 1e-16;  // a smaller loss is none
  const std::size_t n = labels.size();
  const auto cols = static_cast<std::size_t>(x.cols);
  Doubles distances(n * n), slopes(n * n);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      double squares = 0;
      for (std::size_t k = 0; k < cols; ++k) {
        const double difference = static_cast<double>(x.data[i * cols + k]) - x.data[j * cols + k];
        squares += difference * difference;
      }
      distances[i * n + j] = std::sqrt(squares);
    }
  }
  double sum = 0;
  std::int64_t losing = 0;
  const auto for_triplets = [&](const auto& use) {
    for (std::size_t a = 0; a < n; ++a) {
      for (std::size_t p = 0; p < n; ++p) {
        if (p == a || labels[p] != labels[a]) continue;
        for (std::size_t q = 0; q < n; ++q) {
          if (labels[q] == labels[a]) continue;
          const double loss = distances[a * n + p] - distances[a * n + q] + margin;
          if (loss > kLeast) use(a, p, q, loss);
        }
      }
    }
  };
  for_triplets([&](std::size_t a, std::size_t p, std::size_t q, double loss) {
    sum += loss;
    ++losing;
    slopes[a * n + p] += 1;
    slopes[a * n + q] -= 1;
  });
  const double factor = losing > 0 ? 1 / static_cast<double>(losing) : 0;
  Doubles gradient(n * cols);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      const double slope =
          slopes[i * n + j] == 0 || distances[i * n + j] == 0 ? 0 : factor * slopes[i * n + j] / distances[i * n + j];
      for (std::size_t k = 0; slope != 0 && k < cols; ++k) {
        const double along = slope * (static_cast<double>(x.data[i * cols + k]) - x.data[j * cols + k]);
        gradient[i * cols + k] += along;
        gradient[j * cols + k] -= along;
      }
    }
  }
  for (std::size_t k = 0; dx && k < gradient.size(); ++k) dx[k] = static_cast<float>(gradient[k]);
  return factor * sum;
}

double sup_con_loss(const LossInput& x, std::span<const std::int32_t> labels, double temperature, float* dx) {
  UnitRows rows(x);
  const auto n = static_cast<std::int64_t>(labels.size());
  const auto alike = [&](std::int64_t i, std::int64_t j) {
    return i != j && labels[static_cast<std::size_t>(i)] == labels[static_cast<std::size_t>(j)];
  };
  std::vector<std::int64_t> partners(labels.size());
  std::int64_t anchors = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < n; ++j) partners[static_cast<std::size_t>(i)] += alike(i, j);
    anchors += partners[static_cast<std::size_t>(i)] > 0;
  }
  double sum = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const auto own = static_cast<double>(partners[static_cast<std::size_t>(i)]);
    if (own == 0) continue;
    const auto share = [&](std::int64_t j) { return alike(i, j) ? 1 / own : 0.0; };
    Doubles scores;
    double expected = 0;
    for (std::int64_t j = 0; j < n; ++j) {
      if (j == i) continue;
      scores.push_back(rows.cosine(i, j) / temperature);
      expected += share(j) * scores.back();
    }
    sum += softmax_in_place(scores) - expected;
    const double factor = 1 / (static_cast<double>(anchors) * temperature);
    for (std::int64_t j = 0; j < n; ++j) {
      if (j != i) rows.add(i, j, factor * (scores[static_cast<std::size_t>(j > i ? j - 1 : j)] - share(j)));
    }
  }
  rows.write(dx);
  return anchors > 0 ? sum / static_cast<double>(anchors) : 0;
}

}  // namespace wattn
