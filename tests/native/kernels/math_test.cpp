// exp, erf and the activations over the whole range of f32, on the scalar vector; the other exact variants have the same bits.
#include "kernels/math.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/vec_scalar.h"

namespace wattn {
namespace {

template <class F>
float one(const F& f, float x) {
  return f(VecScalar::splat(x)).lane[0];
}

TEST(ExpVec, IsWithinOneAndAHalfUnitsOfTheLastPlace) {
  for (double x = -87.29; x < 88; x += 1e-4) {
    const auto rounded = static_cast<float>(x);
    const double exact = std::exp(double(rounded));
    ASSERT_NEAR(one(exp_vec<VecScalar>, rounded), exact, exact * 1.5 * 0x1p-24) << rounded;
  }
}

TEST(ExpVec, EndsInZeroBelowAndStaysFiniteAbove) {
  EXPECT_EQ(one(exp_vec<VecScalar>, -88), 0.0f);
  EXPECT_EQ(one(exp_vec<VecScalar>, -std::numeric_limits<float>::infinity()), 0.0f);
  EXPECT_TRUE(std::isfinite(one(exp_vec<VecScalar>, 1e30f)));
  EXPECT_TRUE(std::isnan(one(exp_vec<VecScalar>, std::numeric_limits<float>::quiet_NaN())));
}

TEST(ErfVec, IsWithinItsStatedError) {
  for (double x = -6; x < 6; x += 1e-4) {
    const auto rounded = static_cast<float>(x);
    ASSERT_NEAR(one(erf_vec<VecScalar>, rounded), std::erf(double(rounded)), 3.6e-7) << rounded;
  }
}

TEST(GeluVec, FollowsErf) {
  for (double x = -12; x < 12; x += 1e-3) {
    const auto rounded = static_cast<float>(x);
    const double exact = 0.5 * rounded * (1 + std::erf(double(rounded) / std::sqrt(2.0)));
    // Half of x times erf's error, and three roundings of the result.
    ASSERT_NEAR(one(gelu_vec<VecScalar>, rounded), exact, std::abs(x) * 0.5 * 4.5e-7 + std::abs(exact) * 3 * 0x1p-24) << rounded;
  }
}

TEST(TanhVec, IsWithinItsStatedError) {
  for (double x = -12; x < 12; x += 1e-3) {
    const auto rounded = static_cast<float>(x);
    ASSERT_NEAR(one(tanh_vec<VecScalar>, rounded), std::tanh(double(rounded)), 2e-7) << rounded;
  }
}

}  // namespace
}  // namespace wattn
