#include "learn/logistic.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>
#include <vector>

#include "core/random.h"

namespace wattn {
namespace {

struct Examples {
  std::int64_t dim, num_labels;
  std::vector<float> vectors;        // [count, dim]
  std::vector<std::int32_t> labels;  // [count]
  std::vector<double> weights;       // [count]
};

// Clouds around a centre of each label, far enough from each other to be learned, near enough to overlap.
Examples clouds(std::int64_t count, std::int64_t dim, std::int64_t num_labels) {
  Generator generator(7);
  Examples out{dim, num_labels, {}, {}, {}};
  std::vector<float> centres;
  for (std::int64_t i = 0; i < num_labels * dim; ++i) centres.push_back(static_cast<float>(generator.uniform(-1, 1)));
  for (std::int64_t i = 0; i < count; ++i) {
    const auto label = static_cast<std::int32_t>(i % num_labels);
    for (std::int64_t k = 0; k < dim; ++k) {
      const double noise = generator.uniform(-1, 1);
      out.vectors.push_back(static_cast<float>(centres[static_cast<std::size_t>(label * dim + k)] + noise));
    }
    out.labels.push_back(label);
    out.weights.push_back(1 + static_cast<double>(i % 3));
  }
  return out;
}

// The gradient of the mean loss plus |W|^2 / (2 C total), in plain loops of doubles; as parameters [dim + 1, labels].
std::vector<double> gradient_of(const Examples& examples, double c, const std::vector<double>& parameters) {
  const auto dim = static_cast<std::size_t>(examples.dim), cols = static_cast<std::size_t>(examples.num_labels);
  double total = 0;
  for (const double weight : examples.weights) total += weight;
  std::vector<double> out(parameters.size());
  for (std::size_t i = 0; i < examples.labels.size(); ++i) {
    std::vector<double> z(cols);
    double sum = 0;
    for (std::size_t j = 0; j < cols; ++j) {
      z[j] = parameters[dim * cols + j];
      for (std::size_t k = 0; k < dim; ++k) z[j] += parameters[k * cols + j] * examples.vectors[i * dim + k];
    }
    for (const double logit : z) sum += std::exp(logit);
    for (std::size_t j = 0; j < cols; ++j) {
      const double right = static_cast<std::size_t>(examples.labels[i]) == j ? 1 : 0;
      const double slope = examples.weights[i] / total * (std::exp(z[j]) / sum - right);
      for (std::size_t k = 0; k < dim; ++k) out[k * cols + j] += slope * examples.vectors[i * dim + k];
      out[dim * cols + j] += slope;
    }
  }
  for (std::size_t at = 0; at < dim * cols; ++at) out[at] += (cols == 2 ? 2 : 1) * parameters[at] / (c * total);
  return out;
}

Logistic fitted(const Examples& examples, double c, double tolerance) {
  Logistic model = std::move(Logistic::make(examples.vectors, examples.labels, examples.num_labels)).value();
  EXPECT_TRUE(model.begin(examples.weights, c, {}).ok());
  for (int steps = 0; steps < 1000 && model.step(tolerance); ++steps) {
  }
  return model;
}

TEST(Logistic, EndsWhereTheGradientVanishes) {
  for (const std::int64_t num_labels : {2, 3, 8, 9}) {
    for (const double c : {0.1, 1.0, 100.0}) {
      const Examples examples = clouds(61, 13, num_labels);
      const Logistic model = fitted(examples, c, 1e-5);
      for (const double part : gradient_of(examples, c, model.parameters())) {
        // The tolerance, and what f32 products hide: sums of 61 terms, whose sizes sum to at most 2 and which depend on logits
        // below 32.
        EXPECT_LE(std::abs(part), 1e-5 + 64 * 0x1p-24) << num_labels << " labels, C " << c;
      }
    }
  }
}

TEST(Logistic, HoldsOutExamplesOfWeightZero) {
  Examples all = clouds(60, 5, 3);
  Examples some{5, 3, {}, {}, {}};
  for (std::size_t i = 0; i < 60; ++i) {
    if (i % 4 == 0) {
      all.weights[i] = 0;
      continue;
    }
    some.vectors.insert(some.vectors.end(), &all.vectors[i * 5], &all.vectors[i * 5] + 5);
    some.labels.push_back(all.labels[i]);
    some.weights.push_back(all.weights[i]);
  }
  Logistic with = fitted(all, 10, 1e-6), without = fitted(some, 10, 1e-6);
  EXPECT_EQ(with.parameters(), without.parameters());  // zeros change no sum
  EXPECT_EQ(with.logits(0).size(), 180u);
}

TEST(Logistic, ContinuesFromTheParametersOfAnotherFit) {
  const Examples examples = clouds(60, 5, 3);
  Logistic model = fitted(examples, 10, 1e-5);
  const std::vector<double> found = model.parameters();
  ASSERT_TRUE(model.begin(examples.weights, 10, found).ok());
  EXPECT_FALSE(model.step(1e-5));
  EXPECT_EQ(model.parameters(), found);
  const double loss = model.loss();
  ASSERT_TRUE(model.begin(examples.weights, 1, found).ok());
  EXPECT_TRUE(model.step(1e-5));
  EXPECT_GT(model.loss(), loss);  // with ten times the penalty
}

TEST(Logistic, SurvivesVectorsOfAnySize) {
  for (const float size : {1e-30f, 1e4f, 1e18f, 3e38f}) {
    Examples examples = clouds(20, 3, 2);
    for (float& value : examples.vectors) value *= size / 2;
    Logistic model = fitted(examples, 1, 1e-4);
    for (const double value : model.parameters()) EXPECT_TRUE(std::isfinite(value)) << size;
    EXPECT_LT(model.loss(), size > 1 ? 0.5 : 0.7) << size;  // without weights: ln 2
  }
}

TEST(Logistic, SumsBlocksOfExamples) {
  // 64 labels x 256 inputs: blocks of 1,024.
  const Examples examples = clouds(2100, 255, 64);
  Logistic model = std::move(Logistic::make(examples.vectors, examples.labels, examples.num_labels)).value();
  ASSERT_TRUE(model.begin(examples.weights, 1e-2, {}).ok());
  for (int blocks = 1; blocks <= 3; ++blocks) {
    EXPECT_TRUE(model.step(1e-5));
    EXPECT_EQ(model.loss() > 0, blocks == 3);  // nothing is known before the last block
  }
  while (model.step(1e-5)) ASSERT_LT(model.iterations(), 1000);
  EXPECT_GT(model.iterations(), 1);
  for (const double part : gradient_of(examples, 1e-2, model.parameters())) {
    EXPECT_LE(std::abs(part),
              1e-5 + 2 * 1024 * 0x1p-24);  // the tolerance, and f32 sums of 1,024 terms whose sizes sum to at most 2
  }
  std::vector<float> logits;
  while (logits.size() < 2100 * 64) {
    const std::vector<float> block = model.logits(static_cast<std::int64_t>(logits.size() / 64));
    logits.insert(logits.end(), block.begin(), block.end());
  }
  for (const std::size_t row : {0, 1023, 1024, 2099}) {
    for (const std::size_t col : {0, 63}) {
      double sum = model.parameters()[255 * 64 + col], size = std::abs(sum);
      for (std::size_t k = 0; k < 255; ++k) {
        const double product = model.parameters()[k * 64 + col] * examples.vectors[row * 255 + k];
        sum += product;
        size += std::abs(product);
      }
      EXPECT_NEAR(logits[row * 64 + col], sum, size * 257 * 0x1p-24);
    }
  }
}

// The same bits in every build. Change the number only when the arithmetic is meant to change.
TEST(Logistic, HasTheSameBitsInEveryBuild) {
  Logistic model = fitted(clouds(61, 13, 5), 10, 1e-5);
  std::uint64_t hash = 0xCBF29CE484222325u;
  for (const float value : model.logits(0)) {
    hash = (hash ^ std::bit_cast<std::uint32_t>(value)) * 0x100000001B3u;
  }
  EXPECT_EQ(hash, 12558070376029523571u);
}

TEST(Logistic, SaysWhatIsWrong) {
  const std::vector<float> vectors{1, 2, 3, 4};
  EXPECT_EQ(Logistic::make(vectors, {0, 2}, 2).error().message, "Logistic: expected a label below 2 for each vector");
  for (const auto& [labels, num_labels] : std::vector<std::pair<std::vector<std::int32_t>, int>>{
           {{}, 2}, {{0, 1, 0}, 2}, {{0, -1}, 2}, {{0, 0}, 1}, {{0, 1}, 1 << 28}}) {
    EXPECT_FALSE(Logistic::make(vectors, labels, num_labels).ok());
  }
  EXPECT_FALSE(Logistic::make({}, {0, 1}, 2).ok());
  Logistic model = std::move(Logistic::make(vectors, {0, 1}, 2)).value();
  EXPECT_FALSE(model.begin({1}, 1, {}).ok());
  EXPECT_FALSE(model.begin({0, 0}, 1, {}).ok());
  EXPECT_FALSE(model.begin({1, 1}, 0, {}).ok());
  EXPECT_FALSE(model.begin({1, 1}, 1, {1, 2}).ok());
}

}  // namespace
}  // namespace wattn
