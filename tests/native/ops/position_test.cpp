// Tables of positions against their formulas in double precision.
#include "ops/position.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace wattn {
namespace {

TEST(Rotary, HoldsCosinesAndSinesOfEachPosition) {
  constexpr std::int64_t kPositions = 300, kHeadDim = 10;
  Arena arena = Arena::with_zeros(1 << 20, "test").value();
  for (const double ntk : {1.0, 2.0}) {
    arena.reset();
    const Rotary rotary = take_rotary(arena, kPositions, kHeadDim, {.type = RopeScaling::Type::kNtk, .factor = ntk});
    for (std::int64_t p = 0; p < kPositions; ++p) {
      for (std::int64_t j = 0; j < kHeadDim / 2; ++j) {
        const double exponent = 2.0 * double(j) / double(kHeadDim);
        const double angle = double(p) * std::pow(10000 * ntk, -exponent) / std::pow(ntk, 2.0 / kHeadDim);
        // The angle is rounded five times (exponent, power, 1 / power, scale, times p), as in PyTorch; the rounding of
        // the exponent is amplified by ln(theta) < 10.
        const double bound = angle * 15 * 0x1p-24 + 0x1p-24;
        ASSERT_NEAR(rotary.cos[p * kHeadDim / 2 + j], std::cos(angle), bound) << p << ", " << j;
        ASSERT_NEAR(rotary.sin[p * kHeadDim / 2 + j], std::sin(angle), bound) << p << ", " << j;
      }
    }
  }
}

// Dimensions behind the pairs stay, and so do those of other heads; backward undoes it.
TEST(Rotary, TurnsPairsOfHalvesOrOfNeighbours) {
  constexpr std::int64_t kHeadDim = 10, kStride = 40;
  constexpr std::int32_t kIds[] = {0, 3, 7};
  Arena arena = Arena::with_zeros(1 << 20, "test").value();
  ThreadTeam alone;
  const Compute compute{.kernels = exact_kernels(), .team = alone};
  for (const bool interleaved : {false, true}) {
    arena.reset();
    const Rotary rotary = take_rotary(arena, 8, kHeadDim, {.partial_rotary_factor = 0.6, .interleaved = interleaved});
    ASSERT_EQ(rotary.half, 3);
    std::vector<float> x(3 * kStride);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(i));
    std::vector<double> expected(x.begin(), x.end());
    for (std::int64_t row = 0; row < 3; ++row) {
      for (std::int64_t head = 0; head < 2; ++head) {
        for (std::int64_t j = 0; j < 3; ++j) {
          double* const of_head = expected.data() + row * kStride + head * kHeadDim;
          double &low = of_head[interleaved ? 2 * j : j], &high = of_head[interleaved ? 2 * j + 1 : 3 + j];
          const double angle = kIds[row] * std::pow(10000.0, -double(j) / 3), a = low, b = high;
          low = a * std::cos(angle) - b * std::sin(angle);
          high = b * std::cos(angle) + a * std::sin(angle);
        }
      }
    }
    std::vector<float> turned = x;
    rotate_heads(compute, rotary, kIds, 2, kStride, turned.data());
    for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(turned[i], expected[i], 2e-6) << interleaved << ", " << i;
    rotate_heads_backward(compute, rotary, kIds, 2, kStride, turned.data());
    for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(turned[i], x[i], 1e-6) << interleaved << ", " << i;
  }
}

TEST(DistanceBias, IsAlibiForAnyNumberOfHeads) {
  // From the paper's rule: for 12 heads those of 8, then every other of 16.
  const std::vector<double> twelve = {0.5,
                                      0.25,
                                      0.125,
                                      0.0625,
                                      0.03125,
                                      0.015625,
                                      0.0078125,
                                      0.00390625,
                                      std::pow(2, -0.5),
                                      std::pow(2, -1.5),
                                      std::pow(2, -2.5),
                                      std::pow(2, -3.5)};
  Arena arena = Arena::with_zeros(1 << 20, "test").value();
  DistanceBias bias = take_distance_bias(arena, 12, 100);
  set_alibi(bias, 12);
  for (std::int64_t head = 0; head < 12; ++head) {
    for (std::int64_t d = -99; d < 100; ++d) {
      const double exact = -twelve[static_cast<std::size_t>(head)] * std::abs(double(d));
      ASSERT_NEAR(bias.at(head)[d], exact, std::abs(exact) * 0x1p-23) << head << ", " << d;
    }
  }
}

TEST(T5Bucket, MatchesTransformers) {
  for (std::int64_t d = -1000; d <= 1000; ++d) {
    const std::int64_t n = std::abs(d);
    std::int64_t expected = d > 0 ? 16 : 0;
    if (n < 8) {
      expected += n;
    } else {
      // The steps of 16^(1/8) between 8 and 128 in whole numbers: n^2 >= 64 * 2^k.
      std::int64_t k = 0;
      while (k < 7 && n * n >= (std::int64_t{64} << (k + 1))) ++k;
      expected += 8 + k;
    }
    ASSERT_EQ(t5_bucket(d, 32, 128), expected) << d;
  }
}

TEST(LogBucket, MatchesDeberta) {
  for (std::int64_t d = 1; d < 512; ++d) {
    std::int64_t expected = d;
    if (d > 128)
      expected = static_cast<std::int64_t>(std::ceil(std::log(double(d) / 128) / std::log(511.0 / 128) * 127 - 1e-9)) + 128;
    ASSERT_EQ(log_bucket(d, 256, 512), expected) << d;
    ASSERT_EQ(log_bucket(-d, 256, 512), -expected) << d;
  }
  EXPECT_EQ(log_bucket(0, 256, 512), 0);
}

}  // namespace
}  // namespace wattn
