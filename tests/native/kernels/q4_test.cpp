// Weights in 4 bits: every variant unpacks the same integers, which are those that q4_weight reads one by one, and which are close
// to the weights. A row is multiplied with them as they are, or unpacked: the same bits.
#include "kernels/q4.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "kernels/kernels.h"
#include "kernels/vec_scalar.h"

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

// One row by gemm_q4, or after unpacking among several by gemm_q8: [m, n] with three more numbers a row, which stay as they are.
struct Q4Product {
  std::int64_t m, n, k, depth = padded_depth<std::int8_t>(k);
  std::vector<float> x{}, bias{};
  std::vector<std::int16_t> q{};
  std::vector<float> scale{};
  std::vector<std::int32_t> zero{};

  Q4Product(const Kernels& kernels, std::int64_t m, std::int64_t n, std::int64_t k) : m(m), n(n), k(k) {
    std::mt19937 generator(3);
    std::normal_distribution<float> normal(0.3f, 1);
    x.resize(static_cast<std::size_t>(m * k));
    bias.resize(static_cast<std::size_t>(n));
    for (float& value : x) value = normal(generator);
    for (float& value : bias) value = normal(generator);
    q.assign(static_cast<std::size_t>(m * depth), 77);
    scale.resize(q.size() / 64);
    zero.resize(scale.size());
    kernels.quantize_q8(x.data(), m, k, rows());
  }
  QuantizedRows rows() { return {q.data(), scale.data(), zero.data()}; }
  std::vector<float> run(const Kernels& kernels, Q4Matrix& matrix, Activation activation, bool with_bias) {
    std::vector<float> c(static_cast<std::size_t>(m * (n + 3)), 12345.0f);
    GemmQuant gemm{.a = rows(),
                   .b = matrix.codes.data(),
                   .b_book = matrix.books.data(),
                   .b_scale = matrix.scales.data(),
                   .b_sum = matrix.sums.data(),
                   .bias = with_bias ? bias.data() : nullptr,
                   .c = c.data(),
                   .c_stride = n + 3,
                   .m = m,
                   .n = n,
                   .k = depth,
                   .activation = activation};
    if (m == 1) {
      kernels.gemm_q4(gemm);
    } else {
      const std::vector<std::int8_t> unpacked = matrix.unpacked(kernels);
      gemm.b = unpacked.data();
      kernels.gemm_q8(gemm);
    }
    return c;
  }
};

TEST(GemmQ4, ARowAloneHasTheBitsThatItHasAmongOthers) {
  constexpr std::int64_t kMany = 5;
  for (const Kernels* kernels : kernel_variants()) {
    for (const std::int64_t n : {1, 3, 4, 5, 7, 8, 9, 24}) {
      for (const std::int64_t k : {1, 15, 16, 17, 40, 63, 64, 65, 127, 128, 640}) {
        Q4Matrix matrix(*kernels, n, k);
        Q4Product many(*kernels, kMany, n, k);
        for (const Activation activation : {Activation::kNone, Activation::kGelu}) {
          const std::vector<float> expected = many.run(*kernels, matrix, activation, n % 2 == 0);
          for (std::int64_t i = 0; i < kMany; ++i) {
            Q4Product one(*kernels, 1, n, k);
            std::copy_n(many.x.begin() + i * k, k, one.x.begin());
            one.bias = many.bias;
            kernels->quantize_q8(one.x.data(), 1, k, one.rows());
            const std::vector<float> row = one.run(*kernels, matrix, activation, n % 2 == 0);
            ASSERT_EQ(std::memcmp(row.data(), expected.data() + i * (n + 3), row.size() * sizeof(float)), 0)
                << kernels->name << " n " << n << " k " << k << " row " << i;
          }
        }
      }
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

// q4_codes solves its equation within 0.004 of 2 between the ends, 0.03 of a step; a step has at most 1.4 / 15 of the range.
TEST(Q4, FindsTheNearestEntryOfEveryBookOrOneNearlyAsNear) {
  for (int low = 0; low < kQ4Levels; ++low) {
    for (int high = 0; high < kQ4Levels; ++high) {
      const Q4Book book{low, high};
      const float range = static_cast<float>(q4_twice_level(low) + q4_twice_level(high)) / 2;
      for (int whole = -127 * kQ4Fine; whole <= 127 * kQ4Fine; whole += 37) {
        const float weight = static_cast<float>(whole) / kQ4Fine;
        const auto off = [&](int code) { return std::abs(weight - 3.0f * book.entries()[code]); };
        const auto codes = q4_codes<VecScalar>(VecScalar::splat_i16(static_cast<std::int16_t>(whole)),
                                               VecScalar::splat_i16(book.middle()), VecScalar::splat_i16(book.inverse()));
        ASSERT_TRUE(codes.lane[0] >= 0 && codes.lane[0] < kQ4Codes) << low << ", " << high << ": " << weight;
        float nearest = off(0);
        for (int code = 1; code < kQ4Codes; ++code) nearest = std::min(nearest, off(code));
        // Entries are rounded to thirds: up to 1.5 off on either side.
        ASSERT_LE(off(codes.lane[7]), nearest + 3 + 2 * 0.03f * range * 1.4f / 15) << low << ", " << high << ": " << weight;
      }
    }
  }
}

TEST(Q4, WeightsThatAreNoNumbersGiveTheSameCodesInEveryVariant) {
  const auto with_odd = [](const Kernels& kernels) {
    Q4Matrix matrix(kernels, 9, 70);
    const float infinity = std::numeric_limits<float>::infinity();
    matrix.weights[3] = std::nanf("");
    matrix.weights[70 + 66] = -std::nanf("");
    matrix.weights[140 + 5] = infinity;
    matrix.weights[210 + 69] = -infinity;
    matrix.weights[280] = 3e38f;
    matrix.pack(kernels);
    return matrix;
  };
  const Q4Matrix expected = with_odd(*kernel_variants()[0]);
  for (const Kernels* kernels : kernel_variants()) {
    const Q4Matrix matrix = with_odd(*kernels);
    EXPECT_EQ(matrix.codes, expected.codes) << kernels->name;
    EXPECT_EQ(matrix.books, expected.books) << kernels->name;
    EXPECT_EQ(matrix.sums, expected.sums) << kernels->name;
  }
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
