// Weights in 4 bits: every variant unpacks the same integers, which are those that q4_weight reads one by one, and which are close
// to the weights.
#include "kernels/q4.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>
#include <vector>

#include "kernels/kernels.h"

namespace wattn {
namespace {

constexpr std::int8_t kUntouched = 99;

struct Q4Matrix {
  std::int64_t n, k, depth = padded_depth<std::int8_t>(k);
  std::vector<float> weights{};
  std::vector<std::uint8_t> codes{}, books{};
  std::vector<float> scales{};
  std::vector<std::int32_t> sums{};

  Q4Matrix(const Kernels& kernels, std::int64_t n, std::int64_t k, unsigned seed = 1) : n(n), k(k) {
    std::mt19937 generator(seed);
    std::normal_distribution<float> normal(0.01f, 0.04f);
    weights.resize(static_cast<std::size_t>(n * k));
    for (float& w : weights) w = normal(generator);
    pack(kernels);
  }
  void pack(const Kernels& kernels) {
    const auto size = static_cast<std::size_t>(packed_size(n, depth));
    codes.assign(size / 2, 0);
    books.assign(size / kQ4Part, 0);
    scales.assign(size / 64, 0);
    sums.assign(size / 64, 0);
    // From the last row to the first, because rows may come in any order.
    for (std::int64_t j = n - 1; j >= 0; --j) kernels.quantize_q4_row(packed(), j, weights.data() + j * k, k);
  }
  PackedQ4 packed() { return {codes.data(), books.data(), scales.data(), sums.data()}; }
  std::vector<std::int8_t> unpacked(const Kernels& kernels) const {
    std::vector<std::int8_t> out(static_cast<std::size_t>(packed_size(n, depth)) + 16, kUntouched);
    kernels.unpack_q4({.codes = codes.data(), .books = books.data(), .out = out.data(), .n = n, .k = k});
    return out;
  }
  double weight(std::int64_t j, std::int64_t i) {
    const std::int64_t at = (j / kPanelWidth * (depth / 64) + i / 64) * kPanelWidth + j % kPanelWidth;
    return q4_weight(packed(), j, i, k) * static_cast<double>(scales[static_cast<std::size_t>(at)]);
  }
};

const std::int64_t kRows[] = {1, 3, 4, 8, 9, 24};
const std::int64_t kDepths[] = {1, 15, 16, 17, 40, 63, 64, 65, 192};

TEST(Q4, UnpacksTheWeightsOfEveryRowFollowedByZeros) {
  for (const Kernels* kernels : kernel_variants()) {
    const std::int64_t step = kernels->q8_step;
    for (const std::int64_t n : kRows) {
      for (const std::int64_t k : kDepths) {
        Q4Matrix matrix(*kernels, n, k);
        const std::vector<std::int8_t> out = matrix.unpacked(*kernels);
        for (std::int64_t j = 0; j < n; ++j) {
          for (std::int64_t i = 0; i < matrix.depth; ++i) {
            const std::int64_t at =
                j / kPanelWidth * kPanelWidth * matrix.depth + (i / step * kPanelWidth + j % kPanelWidth) * step + i % step;
            const int expected = i < k ? q4_weight(matrix.packed(), j, i, k) : 0;
            ASSERT_EQ(out[static_cast<std::size_t>(at)], expected)
                << kernels->name << " n " << n << " k " << k << " at " << j << ", " << i;
          }
        }
        for (std::size_t at = out.size() - 16; at < out.size(); ++at) ASSERT_EQ(out[at], kUntouched) << kernels->name;
      }
    }
  }
}

TEST(Q4, EveryVariantChoosesTheSameCodesAndScales) {
  Q4Matrix expected(*kernel_variants()[0], 24, 200);
  for (const Kernels* kernels : kernel_variants()) {
    Q4Matrix matrix(*kernels, 24, 200);
    EXPECT_EQ(matrix.codes, expected.codes) << kernels->name;
    EXPECT_EQ(matrix.books, expected.books) << kernels->name;
    EXPECT_EQ(matrix.scales, expected.scales) << kernels->name;
    EXPECT_EQ(matrix.sums, expected.sums) << kernels->name;
  }
}

TEST(Q4, HasTheSumOfEachGroup) {
  Q4Matrix matrix(exact_kernels(), 9, 100);
  for (std::int64_t j = 0; j < 9; ++j) {
    for (std::int64_t g = 0; g < 2; ++g) {
      std::int32_t sum = 0;
      for (std::int64_t i = 64 * g; i < std::min<std::int64_t>(64 * g + 64, 100); ++i) sum += q4_weight(matrix.packed(), j, i, 100);
      EXPECT_EQ(matrix.sums[static_cast<std::size_t>((j / 8 * 2 + g) * 8 + j % 8)], sum) << j << ", " << g;
    }
  }
}

// Sixteen best levels over the whole range of normally distributed weights leave a relative error of 0.0977 (Lloyd-Max); a
// book for each sixteen weights, 0.060 measured. Even the best code for 4.5 bits per weight would leave 2^-4.5 = 0.044.
TEST(Q4, IsCloseToTheWeights) {
  Q4Matrix matrix(exact_kernels(), 64, 384);
  double error = 0, size = 0;
  for (std::int64_t j = 0; j < matrix.n; ++j) {
    for (std::int64_t i = 0; i < matrix.k; ++i) {
      const double w = matrix.weights[static_cast<std::size_t>(j * matrix.k + i)], off = matrix.weight(j, i) - w;
      error += off * off;
      size += w * w;
    }
  }
  EXPECT_LT(std::sqrt(error / size), 0.062);
  EXPECT_GT(std::sqrt(error / size), 0.044);
}

// A single nonzero weight is the end of its book and of its group's range; zeros stay zeros.
TEST(Q4, KeepsZerosAndSingleWeights) {
  Q4Matrix matrix(exact_kernels(), 8, 64);
  std::fill(matrix.weights.begin(), matrix.weights.end(), 0.0f);
  matrix.weights[5 * 64 + 20] = -0.75f;
  matrix.pack(exact_kernels());
  for (std::int64_t i = 0; i < 64; ++i) EXPECT_EQ(matrix.weight(4, i), 0.0) << i;
  EXPECT_NEAR(matrix.weight(5, 20), -0.75, 0.75 * 0.1);
}

TEST(Q4, TinyWeightsAreZeros) {
  Q4Matrix matrix(exact_kernels(), 8, 64);
  for (std::size_t i = 0; i < 64; ++i) matrix.weights[i] = i % 3 == 0 ? 1e-38f : i % 3 == 1 ? -1e-40f : 0;
  matrix.pack(exact_kernels());
  for (std::int64_t i = 0; i < 64; ++i) EXPECT_EQ(matrix.weight(0, i), 0.0) << i;
}

TEST(Q4, BooksRiseFromTheirLowerEndToTheirUpper) {
  for (int book = 0; book < kQ4Books; ++book) {
    const std::int8_t* entries = kQ4Entries.data() + book * kQ4Codes;
    EXPECT_NEAR(-6 * entries[0], q4_twice_level(book / kQ4Levels), 3);
    EXPECT_NEAR(6 * entries[kQ4Codes - 1], q4_twice_level(book % kQ4Levels), 3);
    EXPECT_LE(std::max<int>(-entries[0], entries[kQ4Codes - 1]), kLargestFour / 4);
    for (int code = 1; code < kQ4Codes; ++code) EXPECT_LT(entries[code - 1], entries[code]) << book << ", " << code;
  }
}

}  // namespace
}  // namespace wattn
