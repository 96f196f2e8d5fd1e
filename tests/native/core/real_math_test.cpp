#include "core/real_math.h"

#include <gtest/gtest.h>

#include <cmath>

namespace wattn {
namespace {

// The C library's results are within one unit in the last place.
TEST(RealMath, MatchesTheCLibraryWithinItsStatedErrors) {
  for (int i = -20000; i <= 20000; ++i) {
    const double x = i * 0.0317;
    ASSERT_NEAR(exp64(x), std::exp(x), 4 * 0x1p-53 * std::exp(x)) << x;
    ASSERT_NEAR(sin64(x * 37), std::sin(x * 37), 0x1p-51) << x * 37;
    ASSERT_NEAR(cos64(x * 37), std::cos(x * 37), 0x1p-51) << x * 37;
    if (i > 0) {
      ASSERT_NEAR(log64(x), std::log(x), 4 * 0x1p-53 * std::abs(std::log(x)) + 0x1p-60) << x;
      ASSERT_NEAR(pow64(x, -1.7), std::pow(x, -1.7), 0x1p-52 * (4 + 1.7 * std::abs(std::log(x))) * std::pow(x, -1.7)) << x;
    }
  }
}

TEST(RealMath, CoversTheEndsOfTheRange) {
  EXPECT_EQ(exp64(-1e9), 0);
  EXPECT_EQ(exp64(0), 1);
  EXPECT_EQ(log64(1), 0);
  EXPECT_EQ(sin64(0), 0);
  EXPECT_EQ(cos64(0), 1);
  EXPECT_TRUE(std::isfinite(exp64(1e9)));
  EXPECT_NEAR(log64(1e-310), std::log(1e-310), 1e-12);
  EXPECT_NEAR(sin64(1e6), std::sin(1e6), 0x1p-50);
}

}  // namespace
}  // namespace wattn
