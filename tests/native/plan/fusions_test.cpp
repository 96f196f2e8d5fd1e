#include "plan/fusions.h"

#include <gtest/gtest.h>

#include "kernels/kernels.h"
#include "ops/norm.h"

namespace wattn {
namespace {

constexpr auto kPlain = static_cast<std::uint8_t>(Activation::kNone), kGelu = static_cast<std::uint8_t>(Activation::kGelu);
constexpr auto kLayerNorm = static_cast<std::uint8_t>(NormKind::kLayer), kRmsNorm = static_cast<std::uint8_t>(NormKind::kRms);
constexpr PlanId kBetween = 2;

const Step kLinear{.op = Op::kLinear, .variant = kPlain, .x = 0, .out = kBetween, .weight = 0};
const Step kActivate{.op = Op::kActivate, .variant = kGelu, .x = kBetween, .out = 0};
const Step kAdd{.op = Op::kAdd, .x = 0, .other = 1, .out = kBetween};
const Step kNorm{.op = Op::kNorm, .variant = kLayerNorm, .x = kBetween, .out = 0, .weight = 1};

// The steps of a section with four values, after fuse_steps.
std::vector<Step> fused(std::vector<Step> steps, const Fusions& fusions = {}, const char* tap = nullptr) {
  Plan plan;
  plan.values.resize(4);
  plan.values[kBetween].name = tap;
  plan.steps = std::move(steps);
  fuse_steps(plan, {.num_values = 4}, fusions);
  return plan.steps;
}

TEST(FuseSteps, MakesOneStepOfALinearLayerAndItsActivation) {
  Step both = kLinear;
  both.out = 0;
  both.variant = kGelu;
  EXPECT_EQ(fused({kLinear, kActivate}), (std::vector<Step>{both}));
  EXPECT_EQ(fused({kLinear, kActivate}, {.activations = false}).size(), 2u);
}

TEST(FuseSteps, MakesOneStepOfASumAndItsNorm) {
  Step both = kNorm;
  both.x = 0;
  both.other = 1;
  EXPECT_EQ(fused({kAdd, kNorm}), (std::vector<Step>{both}));
  EXPECT_EQ(fused({kAdd, kNorm}, {.residuals = false}).size(), 2u);
}

TEST(FuseSteps, GoOnBehindAStepThatTheyMade) {
  Step activated = kLinear, add = kAdd, norm = kNorm, summed = kNorm;
  activated.variant = kGelu;
  activated.out = 0;
  add.out = norm.x = 3;
  summed.x = 0;
  summed.other = 1;
  EXPECT_EQ(fused({kLinear, kActivate, add, norm}), (std::vector<Step>{activated, summed}));
}

TEST(FuseSteps, LeaveWhatIsNotOneStep) {
  Step gelu = kLinear, half = kAdd, rms = kNorm, sum = kNorm, elsewhere = kActivate;
  gelu.variant = kGelu;
  half.factor = 0.5f;
  rms.variant = kRmsNorm;
  sum.other = 1;
  elsewhere.x = 0;
  EXPECT_EQ(fused({gelu, kActivate}).size(), 2u) << "an activation of an activation";
  EXPECT_EQ(fused({half, kNorm}).size(), 2u) << "a sum with a factor";
  EXPECT_EQ(fused({kAdd, rms}).size(), 2u) << "a norm without a sum of its own";
  EXPECT_EQ(fused({kAdd, sum}).size(), 2u) << "a norm of another sum";
  EXPECT_EQ(fused({kLinear, elsewhere}).size(), 2u) << "an activation of another value";
}

TEST(FuseSteps, KeepAValueThatIsShownOrReadAgain) {
  EXPECT_EQ(fused({kLinear, kActivate}, {}, "ffn").size(), 2u);
  EXPECT_EQ(fused({kLinear, kActivate, {.op = Op::kAdd, .x = 0, .other = kBetween, .out = 3}}).size(), 3u);
  EXPECT_EQ(fused({kLinear, kActivate, {.op = Op::kAdd, .x = kBetween, .other = 0, .out = 3}}).size(), 3u);
}

TEST(FuseSteps, LeaveTheSectionBefore) {
  Plan plan;
  plan.values.resize(8);
  plan.steps = {kLinear, kActivate};
  fuse_steps(plan, {.first_value = 4, .num_values = 4, .first_step = 1, .num_steps = 1}, {});
  EXPECT_EQ(plan.steps, (std::vector<Step>{kLinear, kActivate}));
}

}  // namespace
}  // namespace wattn
