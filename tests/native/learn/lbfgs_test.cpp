#include "learn/lbfgs.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <vector>

namespace wattn {
namespace {

// Writes the gradient at x and returns the value.
using Function = std::function<double(const std::vector<double>& x, std::vector<double>& gradient)>;

Lbfgs searched(std::vector<double> start, const Function& function, double tolerance, int most) {
  Lbfgs search(std::move(start));
  std::vector<double> gradient(search.next().size());
  int evaluations = 0;
  for (bool more = true; more && evaluations < most; ++evaluations) {
    const double value = function(search.next(), gradient);
    more = search.tell(value, gradient, tolerance);
  }
  EXPECT_LT(evaluations, most);
  return search;
}

// Rosenbrock's valley is not convex, but its curvature along the way is positive.
TEST(Lbfgs, FindsTheEndOfACurvedValley) {
  const auto valley = [](const std::vector<double>& x, std::vector<double>& gradient) {
    const double across = x[1] - x[0] * x[0], along = 1 - x[0];
    gradient = {-40 * across * x[0] - 2 * along, 20 * across};
    return 10 * across * across + along * along;
  };
  const Lbfgs search = searched({-1.2, 1}, valley, 1e-10, 100);
  EXPECT_NEAR(search.x()[0], 1, 1e-9);
  EXPECT_NEAR(search.x()[1], 1, 1e-9);
}

TEST(Lbfgs, RemembersTenStepsOfManyDimensions) {
  const auto bowl = [](const std::vector<double>& x, std::vector<double>& gradient) {
    double value = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const auto steep = static_cast<double>(1 + i * i);
      gradient[i] = steep * (x[i] - 1);
      value += steep * (x[i] - 1) * (x[i] - 1) / 2;
    }
    return value;
  };
  const Lbfgs search = searched(std::vector<double>(30), bowl, 1e-8, 400);
  for (const double value : search.x()) EXPECT_NEAR(value, 1, 1e-8);
}

// The first step is 2^30 times too long, and beyond 1e-3 there is no value at all.
TEST(Lbfgs, ShortensStepsUntilTheyDecreaseTheValue) {
  const auto steep = [](const std::vector<double>& x, std::vector<double>& gradient) {
    const double far = x[0] - 1e-9;
    gradient = {0x1p60 * far};
    return std::abs(x[0]) > 1e-3 ? std::numeric_limits<double>::quiet_NaN() : 0x1p59 * far * far;
  };
  EXPECT_NEAR(searched({0}, steep, 1e-4, 200).x()[0], 1e-9, 1e-15);
}

TEST(Lbfgs, EndsWhereRoundingHidesTheRest) {
  const auto flat = [](const std::vector<double>&, std::vector<double>& gradient) {
    gradient = {1e-3};
    return 1.0;
  };
  const Lbfgs search = searched({5}, flat, 1e-4, 100);
  EXPECT_EQ(search.x()[0], 5);
  EXPECT_EQ(search.value(), 1);
  EXPECT_EQ(search.iterations(), 0);
}

TEST(Lbfgs, EndsWhereTheGradientIsNotFinite) {
  for (const double part : {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    const auto broken = [&](const std::vector<double>&, std::vector<double>& gradient) {
      gradient = {1, part};
      return 1.0;
    };
    const Lbfgs search = searched({5, 6}, broken, 1e-4, 10);
    EXPECT_EQ(search.x(), (std::vector<double>{5, 6}));
    EXPECT_EQ(search.iterations(), 0);
  }
}

}  // namespace
}  // namespace wattn
