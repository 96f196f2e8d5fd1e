#include "learn/calibration.h"

#include <gtest/gtest.h>

#include <cmath>
#include <utility>
#include <vector>

#include "core/random.h"

namespace wattn {
namespace {

struct Found {
  double temperature, loss;
};

Found calibrated(std::vector<float> logits, std::vector<std::int32_t> labels) {
  Calibration calibration = std::move(Calibration::make(std::move(logits), std::move(labels))).value();
  int steps = 0;
  while (calibration.step()) EXPECT_LT(++steps, 1000);
  return {calibration.temperature(), calibration.loss()};
}

double smoothed_loss(const std::vector<float>& logits, const std::vector<std::int32_t>& labels, double temperature) {
  const std::size_t cols = logits.size() / labels.size();
  const double doubt = 1 / (static_cast<double>(labels.size()) + 2);
  double loss = 0;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    double sum = 0, mean = 0;
    for (std::size_t j = 0; j < cols; ++j) sum += std::exp(logits[i * cols + j] / temperature);
    for (std::size_t j = 0; j < cols; ++j) {
      const double share = static_cast<std::size_t>(labels[i]) == j ? 1 - doubt : doubt / static_cast<double>(cols - 1);
      mean += share * logits[i * cols + j] / temperature;
    }
    loss += std::log(sum) - mean;
  }
  return loss / static_cast<double>(labels.size());
}

TEST(Calibration, FindsTheLikeliestTemperature) {
  Generator generator(3);
  for (const double sharpness : {0.1, 1.0, 7.0}) {
    std::vector<float> logits;
    std::vector<std::int32_t> labels;
    for (int i = 0; i < 50; ++i) {
      labels.push_back(i % 3);
      for (int j = 0; j < 3; ++j) logits.push_back(static_cast<float>(sharpness * (generator.normal() + (i % 3 == j ? 1.5 : 0))));
    }
    const auto [temperature, loss] = calibrated(logits, labels);
    EXPECT_NEAR(loss, smoothed_loss(logits, labels, temperature), 1e-6);
    for (double other = 1.0 / 50; other <= 50; other *= 1.01) {
      EXPECT_LE(loss, smoothed_loss(logits, labels, other) + 1e-6) << temperature << " against " << other;
    }
  }
}

TEST(Calibration, LeavesOneWhereNoTemperatureIsBetter) {
  const std::vector<float> right{3, 0, 0, 3}, same{1, 1, 1, 1};
  const std::vector<std::int32_t> labels{0, 1}, wrong{1, 0};
  EXPECT_EQ(calibrated(right, wrong).temperature, 1);
  EXPECT_EQ(calibrated(same, labels).temperature, 1);
  // Two of two right: each score is to be 3 / 4, so 3 / temperature = ln 3.
  EXPECT_NEAR(calibrated(right, labels).temperature, 3 / std::log(3.0), 1e-5);
  const std::vector<float> tiny{1e-3f, 0, 0, 1e-3f};
  EXPECT_NEAR(calibrated(tiny, labels).temperature, 1.0 / 50, 1e-6);  // the sharpest there is
}

TEST(Calibration, SumsBlocksOfExamples) {
  // Blocks of 2^17 rows.
  Generator generator(3);
  std::vector<float> logits;
  std::vector<std::int32_t> labels;
  for (int i = 0; i < 300000; ++i) {
    labels.push_back(i % 2);
    for (int j = 0; j < 2; ++j) logits.push_back(static_cast<float>(4 * (generator.uniform(-1, 1) + (i % 2 == j ? 1 : 0))));
  }
  Calibration calibration = std::move(Calibration::make(logits, labels)).value();
  EXPECT_TRUE(calibration.step());
  EXPECT_TRUE(calibration.step());
  EXPECT_EQ(calibration.loss(), 0);
  EXPECT_TRUE(calibration.step());
  EXPECT_NEAR(calibration.loss(), smoothed_loss(logits, labels, 1), 1e-6);
  const auto [temperature, loss] = calibrated(logits, labels);
  EXPECT_NEAR(loss, smoothed_loss(logits, labels, temperature), 1e-6);
  EXPECT_LE(loss, smoothed_loss(logits, labels, temperature * 1.01));
  EXPECT_LE(loss, smoothed_loss(logits, labels, temperature / 1.01));
}

TEST(Calibration, SaysWhatIsWrong) {
  EXPECT_EQ(Calibration::make({3, 0, 0, 3}, {0, 2}).error().message,
            "Calibration: expected logits of at least two labels for each label");
  EXPECT_FALSE(Calibration::make({}, {}).ok());
  EXPECT_FALSE(Calibration::make({1, 2}, {0, 1}).ok());
  EXPECT_FALSE(Calibration::make({1, 2, 3, 4, 5}, {0, 1}).ok());
}

// A model that was sure and wrong has logits of any size.
TEST(Calibration, EndsForLogitsOfAnySize) {
  for (const float size : {1e-30f, 1e4f, 1e30f, 3e38f}) {
    const auto [temperature, loss] = calibrated({size, -size, -size, size, size, -size}, {0, 1, 1});
    EXPECT_GE(temperature, 1.0 / 50) << size;
    EXPECT_LE(temperature, 50) << size;
    EXPECT_GE(loss, 0) << size;
  }
}

}  // namespace
}  // namespace wattn
