// Losses and their gradients against torch in double precision (tests/goldens/losses).
#include "ops/losses.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "native/support/goldens.h"

namespace wattn {
namespace {

using test::to_floats;
using Floats = std::vector<float>;

Reduction reduction_of(JsonRef one) {
  const auto name = one["reduction"].as_string().value();
  return name == "sum" ? Reduction::kSum : name == "mean" ? Reduction::kMean : Reduction::kBatchMean;
}

// The inputs of a case and their gradients, which begin as NaN.
struct LossCase {
  JsonRef one;
  std::vector<Floats> inputs{}, gradients{};

  explicit LossCase(JsonRef of) : one(of) {
    const JsonRef members = one["inputs"];
    for (const char* name : {"x", "x1", "x2", "anchor", "positive", "negative"}) {
      if (!members[name].is_array()) continue;
      inputs.push_back(to_floats(members[name]));
      gradients.emplace_back(inputs.back().size(), NAN);
    }
  }
  LossInput first() const { return {inputs[0].data(), one["rows"].as_int().value(), one["cols"].as_int().value()}; }

  double loss(bool wants_gradients) {
    const auto d = [&](std::size_t i) { return wants_gradients ? gradients[i].data() : nullptr; };
    const auto name = one["loss"].as_string().value();
    const Reduction reduction = reduction_of(one);
    const Floats target = to_floats(one["target"]), weight = to_floats(one["weight"]), pos_weight = to_floats(one["pos_weight"]);
    const auto targets = test::to_ids(one["targets"]);
    const auto or_null = [](const Floats& values) { return values.empty() ? nullptr : values.data(); };
    const auto number = [&](const char* key) { return static_cast<float>(one[key].as_number_or(0).value()); };
    if (name == "cross_entropy") {
      return cross_entropy(first(), targets,
                           {.weight = or_null(weight), .label_smoothing = number("label_smoothing"), .reduction = reduction}, d(0));
    }
    if (name == "binary_cross_entropy_with_logits") {
      return binary_cross_entropy_with_logits(first(), target.data(), {or_null(weight), or_null(pos_weight), reduction}, d(0));
    }
    if (name == "mse_loss") return mse_loss(first(), target.data(), reduction, d(0));
    if (name == "l1_loss") return l1_loss(first(), target.data(), reduction, d(0));
    if (name == "kl_div") return kl_div(first(), target.data(), reduction, d(0));
    if (name == "cosine_embedding_loss") {
      return cosine_embedding_loss(first(), inputs[1].data(), targets, number("margin"), reduction, d(0), d(1));
    }
    EXPECT_EQ(name, "triplet_margin_loss");
    return triplet_margin_loss(first(), inputs[1].data(), inputs[2].data(),
                               {.margin = number("margin"), .swap = one["swap"].as_bool_or(false).value(), .reduction = reduction},
                               {d(0), d(1), d(2)});
  }
};

// Both are in double precision; a gradient is rounded once.
TEST(Losses, EqualTorch) {
  const Json json = test::read_json("losses/cases.json");
  ASSERT_GE(json.root().size(), 30U);
  for (std::size_t i = 0; i < json.root().size(); ++i) {
    LossCase run(json.root()[i]);
    const double value = run.one["value"].as_number().value();
    SCOPED_TRACE(std::to_string(i) + ", " + std::string(run.one["loss"].as_string().value()));
    EXPECT_NEAR(run.loss(true), value, 1e-13 * std::max(1.0, std::abs(value)));
    EXPECT_EQ(run.loss(false), run.loss(true));
    for (std::size_t k = 0, found = 0; found < run.inputs.size(); ++k) {
      const char* names[] = {"x", "x1", "x2", "anchor", "positive", "negative"};
      const JsonRef expected = run.one["gradients"][names[k]];
      if (!expected.is_array()) continue;
      const Floats& got = run.gradients[found++];
      ASSERT_EQ(got.size(), expected.size());
      for (std::size_t j = 0; j < got.size(); ++j) {
        const double exact = expected[j].as_number().value();
        EXPECT_NEAR(got[j], exact, 0x1p-24 * std::abs(exact) + 1e-13) << names[k] << ", " << j;
      }
    }
  }
}

// Probabilities of 1 and 0 are classes. Both take the same sums in double precision.
TEST(Losses, OfCertainProbabilitiesAreThoseOfClasses) {
  const std::vector<float> logits{0.5f, -1, 2, 3, 0, -0.25f}, probabilities{0, 0, 1, 1, 0, 0};
  const std::int32_t classes[] = {2, 0};
  for (const Reduction reduction : {Reduction::kSum, Reduction::kMean}) {
    std::vector<float> hard(6), soft(6);
    const double expected = cross_entropy({logits.data(), 2, 3}, classes, {.reduction = reduction}, hard.data());
    const double own =
        soft_cross_entropy({logits.data(), 2, 3}, probabilities.data(), {.reduction = reduction}, soft.data(), nullptr);
    EXPECT_NEAR(own, expected, 1e-14);
    for (std::size_t i = 0; i < hard.size(); ++i) EXPECT_FLOAT_EQ(soft[i], hard[i]);
  }
}

// The gradient of a length of 0 is 0, as in torch.
TEST(Losses, OfEqualRowsHaveAGradient) {
  const Floats same{1, -2}, other{3, 0};
  Floats anchor(2, NAN), positive(2, NAN), negative(2, NAN);
  triplet_margin_loss({same.data(), 1, 2}, same.data(), other.data(), {.margin = 9, .eps = 0},
                      {anchor.data(), positive.data(), negative.data()});
  const float part = std::sqrt(0.5f);  // of the distance to the other, which is far along both axes alike
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(positive[i], 0);
    EXPECT_FLOAT_EQ(anchor[i], part);
    EXPECT_FLOAT_EQ(negative[i], -part);
  }
}

TEST(Losses, OfNoRows) {
  const std::vector<std::int32_t> ignored{-100, -100};
  const Floats logits(6, 1.0f);
  Floats d(6, NAN);
  EXPECT_TRUE(std::isnan(cross_entropy({logits.data(), 2, 3}, ignored, {}, d.data())));
  EXPECT_EQ(d, Floats(6));
  EXPECT_EQ(cross_entropy({logits.data(), 2, 3}, ignored, {.reduction = Reduction::kSum}, nullptr), 0.0);
  EXPECT_EQ(mse_loss({nullptr, 0, 3}, nullptr, Reduction::kSum, nullptr), 0.0);
}

TEST(Losses, OfNanAreNan) {
  const Floats logits{0.0f, NAN, 1.0f}, target(3);
  const std::vector<std::int32_t> targets{0};
  EXPECT_TRUE(std::isnan(cross_entropy({logits.data(), 1, 3}, targets, {}, nullptr)));
  EXPECT_TRUE(std::isnan(mse_loss({logits.data(), 1, 3}, target.data(), Reduction::kMean, nullptr)));
  EXPECT_TRUE(std::isnan(l1_loss({logits.data(), 1, 3}, target.data(), Reduction::kMean, nullptr)));
  EXPECT_TRUE(std::isnan(binary_cross_entropy_with_logits({logits.data(), 1, 3}, target.data(), {}, nullptr)));
  EXPECT_TRUE(
      std::isnan(cosine_embedding_loss({logits.data(), 1, 3}, target.data(), targets, 0, Reduction::kMean, nullptr, nullptr)));
}

}  // namespace
}  // namespace wattn
