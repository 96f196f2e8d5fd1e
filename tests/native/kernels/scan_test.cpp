#include "kernels/scan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace wattn {
namespace {

// Rows up to two tiles of four and beyond; depths with and without whole steps.
const std::vector<std::int64_t> kCounts{0, 1, 3, 4, 5, 8, 11};
const std::vector<std::int64_t> kDepths{16, 32, 48, 384, 400, 768};

template <class T, class Distribution>
std::vector<T> random_values(std::int64_t count, unsigned seed, Distribution distribution) {
  std::mt19937 generator(seed);
  std::vector<T> out(static_cast<std::size_t>(count));
  for (T& x : out) x = static_cast<T>(distribution(generator));
  return out;
}

std::vector<float> random_floats(std::int64_t count, unsigned seed, float size = 1) {
  return random_values<float>(count, seed, std::uniform_real_distribution<float>(-size, size));
}

template <class T>
std::vector<T> random_whole(std::int64_t count, unsigned seed, int least, int most) {
  return random_values<T>(count, seed, std::uniform_int_distribution<int>(least, most));
}

// The sum in the order that rows.h documents for dot products: lane l of chain c adds elements 16 i + 4 c + l.
float sum_in_chains(const float* x, const float* y, std::int64_t n) {
  float lane[4][4] = {};
  for (std::int64_t j = 0; j < n; ++j) {
    const std::int64_t chain = j < n / 16 * 16 ? j / 4 % 4 : 0;
    lane[chain][j % 4] += x[j] * y[j];
  }
  float joined[4];
  for (int l = 0; l < 4; ++l) joined[l] = (lane[0][l] + lane[1][l]) + (lane[2][l] + lane[3][l]);
  return (joined[0] + joined[2]) + (joined[1] + joined[3]);
}

TEST(ScanF32, HasTheBitsOfFourChainsOfFourLanes) {
  for (const std::int64_t depth : {1, 3, 4, 15, 16, 17, 31, 33, 384, 768}) {
    const std::vector<float> query = random_floats(depth, 1), rows = random_floats(5 * depth, 2);
    std::vector<float> out(6, 77.0f);
    scan_f32(query.data(), rows.data(), 5, depth, out.data());
    for (std::int64_t i = 0; i < 5; ++i) {
      ASSERT_EQ(out[i], sum_in_chains(query.data(), rows.data() + i * depth, depth)) << "depth " << depth;
      double exact = 0;
      for (std::int64_t j = 0; j < depth; ++j) exact += double(query[j]) * rows[i * depth + j];
      // Products of at most 1, each rounded, in chains of depth / 16 sums of at most depth / 16, then joined.
      ASSERT_NEAR(out[i], exact, double(depth) * (double(depth) / 16 + 8) * 0x1p-24) << "depth " << depth;
    }
    EXPECT_EQ(out[5], 77.0f);
  }
}

TEST(ScanQ8, IsTheExactSum) {
  for (const std::int64_t depth : kDepths) {
    for (const std::int64_t n : kCounts) {
      const auto most = static_cast<int>(largest_query_step(depth));
      const auto query = random_whole<std::int16_t>(depth, 3, -most, most);
      const auto rows = random_whole<std::int8_t>(n * depth, 4, -128, 127);
      std::vector<std::int32_t> out(static_cast<std::size_t>(n) + 1, 77);
      scan_q8(query.data(), rows.data(), n, depth, out.data());
      for (std::int64_t i = 0; i < n; ++i) {
        std::int64_t exact = 0;
        for (std::int64_t j = 0; j < depth; ++j) exact += std::int64_t{query[j]} * rows[i * depth + j];
        ASSERT_EQ(out[i], exact) << "depth " << depth << " row " << i << " of " << n;
      }
      EXPECT_EQ(out.back(), 77);
    }
  }
}

TEST(ScanQ8, HoldsTheLargestSumsIn32Bits) {
  for (const std::int64_t depth : {16, 512, 528, 4096, 65536}) {
    const std::int64_t most = largest_query_step(depth);
    for (const int sign : {-1, 1}) {
      const std::vector<std::int16_t> query(depth, static_cast<std::int16_t>(sign * most));
      const std::vector<std::int8_t> rows(5 * depth, -128);
      std::vector<std::int32_t> out(5);
      scan_q8(query.data(), rows.data(), 5, depth, out.data());
      for (const std::int32_t sum : out) ASSERT_EQ(sum, -128 * sign * most * depth) << depth;
    }
    EXPECT_LE(128 * most * depth, std::int64_t{0x7FFFFFFF});
    EXPECT_TRUE(most == 32767 || 128 * (most + 1) * depth > 0x7FFFFFFF) << depth;
  }
}

TEST(ScanBits, CountsTheBitsThatDiffer) {
  for (const std::int64_t bytes : {16, 32, 48, 480, 496, 512, 992, 8192}) {  // 31 * 16 bytes are counted in bytes at once
    auto query = random_whole<std::uint8_t>(bytes, 5, 0, 255);
    auto rows = random_whole<std::uint8_t>(3 * bytes, 6, 0, 255);
    for (std::int64_t j = 0; j < bytes; ++j) rows[2 * bytes + j] = static_cast<std::uint8_t>(~query[j]);
    std::vector<std::int32_t> out(4, 77);
    scan_bits(query.data(), rows.data(), 3, bytes, out.data());
    for (std::int64_t i = 0; i < 3; ++i) {
      std::int32_t exact = 0;
      for (std::int64_t j = 0; j < bytes; ++j) exact += std::popcount(static_cast<std::uint8_t>(query[j] ^ rows[i * bytes + j]));
      ASSERT_EQ(out[i], exact) << bytes;
    }
    EXPECT_EQ(out[2], 8 * bytes);
    EXPECT_EQ(out[3], 77);
  }
}

TEST(DotQ8, HasTheBitsOfFourChainsOfFourLanes) {
  for (const std::int64_t depth : kDepths) {
    const std::vector<float> query = random_floats(depth, 7);
    const auto row = random_whole<std::int8_t>(depth, 8, -128, 127);
    const std::vector<float> widened(row.begin(), row.end());
    EXPECT_EQ(dot_q8(query.data(), row.data(), depth), sum_in_chains(query.data(), widened.data(), depth)) << depth;
  }
}

TEST(QuantizeRowQ8, RoundsToTheNearestOf127StepsEachWay) {
  for (const std::int64_t n : {1, 3, 4, 5, 15, 17, 384}) {
    const std::vector<float> x = random_floats(n, 9, 0.2f);
    std::vector<std::int8_t> out(static_cast<std::size_t>(n) + 1, 77);
    const float scale = quantize_row_q8(x.data(), n, out.data());
    float most = 0;
    for (const float value : x) most = std::max(most, std::abs(value));
    EXPECT_EQ(scale, most / 127);
    for (std::int64_t j = 0; j < n; ++j) {
      // Two roundings of up to 127 beside the nearest.
      EXPECT_NEAR(out[j], x[j] / double(scale), 0.5 + 2 * 127 * 0x1p-24) << j << " of " << n;
    }
    EXPECT_EQ(*std::max_element(out.begin(), out.end() - 1, [](int a, int b) { return std::abs(a) < std::abs(b); }),
              x[std::max_element(x.begin(), x.end(), [](float a, float b) { return std::abs(a) < std::abs(b); }) - x.begin()] < 0
                  ? -127
                  : 127);
    EXPECT_EQ(out.back(), 77);
  }
}

TEST(QuantizeRowQ8, KeepsZerosAndTheSmallestNumbers) {
  std::vector<std::int8_t> out(5, 77);
  EXPECT_EQ(quantize_row_q8(std::vector<float>(5, 0.0f).data(), 5, out.data()), 0.0f);
  EXPECT_EQ(out, std::vector<std::int8_t>(5, 0));
  const float tiny = std::numeric_limits<float>::denorm_min();
  EXPECT_GE(quantize_row_q8(std::vector<float>{tiny, -tiny, 0, 3 * tiny, tiny}.data(), 5, out.data()), 0.0f);
  EXPECT_EQ(out, std::vector<std::int8_t>(5, 0));
}

TEST(QuantizeQuery, UsesAllSteps) {
  for (const std::int64_t most : {100, 255, 32767}) {
    std::vector<std::int16_t> out(5, 77);
    quantize_query(std::vector<float>{0.5f, -1.0f, 0.0f, 0.25f}.data(), 4, most, out.data());
    EXPECT_EQ(out[1], -most);
    EXPECT_NEAR(out[0], 0.5 * double(most), 0.5);
    EXPECT_NEAR(out[3], 0.25 * double(most), 0.5);
    EXPECT_EQ(out[2], 0);
    EXPECT_EQ(out[4], 77);
  }
  std::vector<std::int16_t> out(3, 77);
  quantize_query(std::vector<float>(3, 0.0f).data(), 3, 100, out.data());
  EXPECT_EQ(out, std::vector<std::int16_t>(3, 0));
}

TEST(SignBits, AreOneForPositiveNumbers) {
  for (const std::int64_t depth : kDepths) {
    const auto row = random_whole<std::int8_t>(depth, 10, -2, 2);
    std::vector<std::uint8_t> out(static_cast<std::size_t>(depth / 8) + 1, 77);
    sign_bits(row.data(), depth, out.data());
    for (std::int64_t j = 0; j < depth; ++j) ASSERT_EQ(out[j / 8] >> j % 8 & 1, row[j] > 0 ? 1 : 0) << j << " of " << depth;
    EXPECT_EQ(out.back(), 77);
  }
}

TEST(AllWithin, FindsWhatIsNoNumberOrTooLarge) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN(), kInfinity = std::numeric_limits<float>::infinity();
  for (const std::int64_t n : {1, 4, 5, 17}) {
    std::vector<float> x(static_cast<std::size_t>(n), -2.0f);
    EXPECT_TRUE(all_within(x.data(), n, 2.0f));
    for (std::int64_t j = 0; j < n; ++j) {
      for (const float bad : {kNan, kInfinity, -kInfinity, 2.5f, -2.5f}) {
        x[j] = bad;
        EXPECT_FALSE(all_within(x.data(), n, 2.0f)) << bad << " at " << j << " of " << n;
      }
      x[j] = -2.0f;
    }
  }
  EXPECT_TRUE(all_within(nullptr, 0, 2.0f));
}

}  // namespace
}  // namespace wattn
