// Optimizers, clipping and schedules against torch and transformers (tests/goldens/optim).
#include "learn/optim.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "native/support/goldens.h"

namespace wattn {
namespace {

using test::to_floats;
using Floats = std::vector<float>;

float number(JsonRef options, const char* key, float fallback) {
  return static_cast<float>(options[key].as_number_or(fallback).value());
}

// Parameters after each step. Each step's few operations in f32 are rounded as torch's or by one place more, and are divided by
// nothing smaller than the moments. So 12 steps stay within 12 * 4 * 2^-24 of the parameters' size.
TEST(Optim, TakesTorchsSteps) {
  const Json json = test::read_json("optim/cases.json");
  const JsonRef runs = json.root()["runs"];
  ASSERT_EQ(runs.size(), 8U);
  for (std::size_t k = 0; k < runs.size(); ++k) {
    const JsonRef run = runs[k], options = run["options"];
    const auto name = run["optimizer"].as_string().value();
    Floats parameter = to_floats(run["start"]), first(parameter.size()), second(parameter.size());
    for (std::size_t i = 0; i < run["gradients"].size(); ++i) {
      const Floats gradient = to_floats(run["gradients"][i]), expected = to_floats(run["parameters"][i]);
      const auto step = static_cast<std::int64_t>(i) + 1;
      if (name == "SGD") {
        const Sgd sgd{number(options, "lr", 0), number(options, "momentum", 0), number(options, "dampening", 0),
                      number(options, "weight_decay", 0), options["nesterov"].as_bool_or(false).value()};
        sgd_step(sgd, step, parameter, gradient.data(), sgd.momentum > 0 ? first.data() : nullptr);
      } else {
        Adam adam{.lr = number(options, "lr", 0),
                  .eps = number(options, "eps", 1e-8f),
                  .weight_decay = number(options, "weight_decay", 0),
                  .decoupled = name == "AdamW"};
        if (const JsonRef betas = options["betas"]; betas.is_array()) {
          adam.beta1 = betas[0].as_number().value();
          adam.beta2 = betas[1].as_number().value();
        }
        adam_step(adam, step, parameter, gradient.data(), first.data(), second.data());
      }
      for (std::size_t j = 0; j < parameter.size(); ++j) {
        ASSERT_NEAR(parameter[j], expected[j], 48 * 0x1p-24 * std::max(1.0f, std::abs(expected[j]))) << k << ", step " << step;
      }
    }
  }
}

// torch.optim's: SGD(lr=1e-3), Adam(lr=1e-3, betas=(0.9, 0.999), eps=1e-8), both without a decay of weights.
TEST(Optim, HasTorchsDefaults) {
  Floats parameter{1, -2};
  sgd_step({}, 1, parameter, Floats{1, -4}.data(), nullptr);
  EXPECT_FLOAT_EQ(parameter[0], 0.999f);
  EXPECT_FLOAT_EQ(parameter[1], -1.996f);
  Floats own{1}, first{0}, second{0};
  double expected = 1, mean = 0, square = 0;
  for (std::int64_t step = 1; step <= 3; ++step) {
    const double gradient = step == 1 ? 1e-7 : step == 2 ? 0 : -3e-7;  // near eps, so that it shows
    mean = 0.9 * mean + 0.1 * gradient;
    square = 0.999 * square + 0.001 * gradient * gradient;
    const auto at = static_cast<double>(step);
    expected -= 1e-3 * mean / (1 - std::pow(0.9, at)) / (std::sqrt(square / (1 - std::pow(0.999, at))) + 1e-8);
    adam_step({}, step, own, Floats{static_cast<float>(gradient)}.data(), first.data(), second.data());
    EXPECT_NEAR(own[0], expected, 4 * 0x1p-24) << step;
  }
}

TEST(Optim, ClipsAsTorch) {
  const Json json = test::read_json("optim/cases.json");
  const JsonRef clips = json.root()["clips"];
  for (std::size_t k = 0; k < clips.size(); ++k) {
    Floats a = to_floats(clips[k]["gradients"][0]), b = to_floats(clips[k]["gradients"][1]);
    const std::span<float> gradients[] = {a, b};
    const double norm = clips[k]["norm"].as_number().value();
    EXPECT_NEAR(clip_grad_norm(gradients, 1), norm, 1e-6 * norm);
    const Floats expected_a = to_floats(clips[k]["clipped"][0]), expected_b = to_floats(clips[k]["clipped"][1]);
    for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], expected_a[i], 1e-6) << k;
    for (std::size_t i = 0; i < b.size(); ++i) EXPECT_NEAR(b[i], expected_b[i], 1e-6) << k;
  }
}

TEST(Optim, SaysThatAGradientIsNotFinite) {
  Floats nan{1, NAN}, infinite{std::numeric_limits<float>::infinity()};
  const std::span<float> with_nan[] = {nan}, with_infinity[] = {infinite};
  EXPECT_TRUE(std::isnan(clip_grad_norm(with_nan, 1)));
  EXPECT_TRUE(std::isinf(clip_grad_norm(with_infinity, 1)));
}

TEST(Optim, FollowsTransformersSchedules) {
  const Json json = test::read_json("optim/cases.json");
  const JsonRef schedules = json.root()["schedules"];
  ASSERT_EQ(schedules.size(), 4U);
  constexpr Schedule kSchedules[] = {Schedule::kConstant, Schedule::kConstantWithWarmup, Schedule::kLinear, Schedule::kCosine};
  for (std::size_t k = 0; k < 4; ++k) {
    const JsonRef factors = schedules[k]["factors"];
    for (std::size_t i = 0; i < factors.size() && i <= 20; ++i) {
      EXPECT_NEAR(schedule_factor(kSchedules[k], static_cast<std::int64_t>(i), 4, 20), factors[i].as_number().value(), 1e-12)
          << k << ", step " << i;
    }
  }
  EXPECT_EQ(schedule_factor(Schedule::kLinear, 0, 0, 0), 0.0);
  EXPECT_EQ(schedule_factor(Schedule::kCosine, 30, 0, 20), 0.0);
}

}  // namespace
}  // namespace wattn
