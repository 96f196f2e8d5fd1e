// gemm_q16 and gemm_q8 against the same integers multiplied in 64 bits, and their formats against f32.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "kernels/kernels.h"
#include "kernels/quant.h"

namespace wattn {
namespace {

std::vector<float> random_floats(std::int64_t count, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal(0.1f, 1);
  std::vector<float> out(static_cast<std::size_t>(count));
  for (float& x : out) x = normal(generator);
  return out;
}

bool is_exact(const Kernels& kernels) { return !std::string(kernels.name).starts_with("relaxed"); }

template <class T>
struct Product {
  static constexpr bool kQ16 = sizeof(T) == 2;
  std::int64_t m, n, k, depth = padded_depth<T>(k);
  std::vector<float> x = random_floats(m * k, 1), w = random_floats(n * k, 2), bias = random_floats(n, 3);

  std::vector<float> run(const Kernels& kernels, Activation activation) const {
    std::vector<T> packed(static_cast<std::size_t>(packed_size(n, depth)));
    std::vector<float> scales(packed.size() / kQuantGroup<T>);
    std::vector<std::int32_t> sums(scales.size());
    const PackedQuant<T> to{packed.data(), scales.data(), sums.data(), kQ16 ? 2 : kernels.q8_step};
    for (std::int64_t j = 0; j < n; ++j) quantize_weight_row(to, j, w.data() + j * k, k);
    std::vector<std::int16_t> q(static_cast<std::size_t>(m * depth), 77);
    std::vector<float> scale(q.size() / kQuantGroup<T>);
    std::vector<std::int32_t> zero(scale.size());
    const QuantizedRows rows{q.data(), scale.data(), zero.data()};
    (kQ16 ? kernels.quantize_q16 : kernels.quantize_q8)(x.data(), m, k, rows);
    std::vector<float> c(static_cast<std::size_t>(m * (n + 3) + 4), 12345.0f);
    (kQ16 ? kernels.gemm_q16 : kernels.gemm_q8)({.a = rows,
                                                 .b = packed.data(),
                                                 .b_scale = scales.data(),
                                                 .b_sum = sums.data(),
                                                 .bias = bias.data(),
                                                 .c = c.data(),
                                                 .c_stride = n + 3,
                                                 .m = m,
                                                 .n = n,
                                                 .k = depth,
                                                 .activation = activation});
    return c;
  }
};

float largest_of(const float* values, std::int64_t begin, std::int64_t end) {
  float largest = 0;
  for (std::int64_t i = begin; i < end; ++i) largest = std::max(largest, std::abs(values[i]));
  return largest;
}

// One step of a group's activations.
template <class T>
float activation_step(const float* x, std::int64_t begin, std::int64_t end) {
  if (sizeof(T) == 2) return largest_of(x, begin, end) / kLargestActivation;
  float low = 0, high = 0;
  for (std::int64_t i = begin; i < end; ++i) {
    low = std::min(low, x[i]);
    high = std::max(high, x[i]);
  }
  return (high - low) / kActivationSteps;
}

// Each weight and each activation is off by at most half a step of its group. An activation of q8 at the end of the range may be
// off by a whole step, if rounding the zero point pushed it out. So an output is off by at most the sum of those, plus the rounding
// of the f32 sum over groups.
template <class T>
void expect_close_to_f32(const Kernels& kernels, std::int64_t m, std::int64_t n, std::int64_t k) {
  const Product<T> product{m, n, k};
  const std::vector<float> c = product.run(kernels, Activation::kNone);
  for (std::int64_t i = 0; i < m; ++i) {
    const float* x = product.x.data() + i * k;
    for (std::int64_t j = 0; j < n; ++j) {
      const float* w = product.w.data() + j * k;
      double exact = product.bias[j], bound = 1e-6;
      for (std::int64_t g = 0; g < k; g += kQuantGroup<T>) {
        const std::int64_t end = std::min(g + kQuantGroup<T>, k);
        const double x_off = (sizeof(T) == 2 ? 0.51 : 1.01) * activation_step<T>(x, g, end);  // the rounding of 1 / scale too
        float group[kQuantGroup<T>] = {};
        std::copy(w + g, w + end, group);
        const double w_off = 0.51 * weight_scale<T>(group);
        for (std::int64_t s = g; s < end; ++s) {
          exact += double(x[s]) * w[s];
          bound += std::abs(x[s]) * w_off + (std::abs(w[s]) + w_off) * x_off + 0x1p-21 * std::abs(x[s] * w[s]);
        }
      }
      ASSERT_NEAR(c[i * (n + 3) + j], exact, bound)
          << kernels.name << " m " << m << " n " << n << " k " << k << " at " << i << ", " << j;
    }
  }
}

const std::int64_t kRows[] = {1, 2, 3, 4, 5, 8, 97};
const std::int64_t kCols[] = {1, 4, 7, 8, 9, 24};
const std::int64_t kDepths[] = {1, 31, 32, 33, 63, 64, 65, 128, 200};

TEST(GemmQuant, IsTheProductWithinTheStepsOfItsFormats) {
  for (const Kernels* kernels : kernel_variants()) {
    for (const std::int64_t m : kRows) {
      for (const std::int64_t n : kCols) {
        for (const std::int64_t k : kDepths) {
          expect_close_to_f32<std::int16_t>(*kernels, m, n, k);
          expect_close_to_f32<std::int8_t>(*kernels, m, n, k);
        }
      }
    }
  }
}

TEST(GemmQuant, ExactVariantsHaveTheScalarBits) {
  for (const Kernels* kernels : kernel_variants()) {
    if (!is_exact(*kernels)) continue;
    for (const std::int64_t m : kRows) {
      for (const std::int64_t n : kCols) {
        for (const Activation activation : {Activation::kNone, Activation::kGelu}) {
          const auto same = [&](const auto& product) {
            const std::vector<float> a = product.run(*kernels, activation), b = product.run(*kernel_variants()[0], activation);
            return std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
          };
          ASSERT_TRUE(same(Product<std::int16_t>{m, n, 200})) << kernels->name << " q16, m " << m << " n " << n;
          ASSERT_TRUE(same(Product<std::int8_t>{m, n, 200})) << kernels->name << " q8, m " << m << " n " << n;
        }
      }
    }
  }
}

// A single row is one block, while with others its groups are spread over several: the order of the sum stays the same.
TEST(GemmQuant, ARowHasTheSameBitsInAnyNumberOfRows) {
  const auto check = [](const Kernels& kernels, const auto& whole) {
    const std::vector<float> c = whole.run(kernels, Activation::kGelu);
    for (std::int64_t i = 0; i < whole.m; ++i) {
      auto alone = whole;
      alone.m = 1;
      alone.x.assign(whole.x.begin() + i * whole.k, whole.x.begin() + (i + 1) * whole.k);
      const std::vector<float> row = alone.run(kernels, Activation::kGelu);
      ASSERT_EQ(std::memcmp(row.data(), c.data() + i * (whole.n + 3), sizeof(float) * whole.n), 0) << kernels.name << " row " << i;
    }
  };
  for (const Kernels* kernels : kernel_variants()) {
    check(*kernels, Product<std::int16_t>{42, 9, 6400});
    check(*kernels, Product<std::int8_t>{42, 9, 12800});
    check(*kernels, Product<std::int8_t>{300, 9, 704});
    check(*kernels, Product<std::int8_t>{9, 149, 2048});
    check(*kernels, Product<std::int16_t>{9, 149, 704});
  }
}

TEST(GemmQuant, WritesNothingOutsideItsResult) {
  for (const Kernels* kernels : kernel_variants()) {
    for (const std::int64_t n : kCols) {
      const std::vector<float> c = Product<std::int8_t>{5, n, 40}.run(*kernels, Activation::kNone);
      for (std::size_t at = 0; at < c.size(); ++at) {
        if (static_cast<std::int64_t>(at) / (n + 3) >= 5 || static_cast<std::int64_t>(at) % (n + 3) >= n) {
          ASSERT_EQ(c[at], 12345.0f) << kernels->name << " n " << n << " at " << at;
        }
      }
    }
  }
}

// The largest possible sums fit 32 bits.
TEST(GemmQuant, ExtremeOperandsDoNotOverflow) {
  for (const Kernels* kernels : kernel_variants()) {
    for (const float sign : {1.0f, -1.0f}) {
      const auto extreme = [&](auto product) {
        std::fill(product.x.begin(), product.x.end(), 3.0f);
        std::fill(product.w.begin(), product.w.end(), sign * 2.0f);
        std::fill(product.bias.begin(), product.bias.end(), 0.0f);
        for (const float value : {product.run(*kernels, Activation::kNone)[0], product.run(*kernels, Activation::kNone)[7]}) {
          // Equal weights of q16 are 4095.47 steps, so they are off by at most half a step.
          EXPECT_NEAR(value, sign * 6.0f * 192, 192 * 6 * 0.51 / 4095) << kernels->name;
        }
      };
      extreme(Product<std::int16_t>{1, 8, 192});
      extreme(Product<std::int8_t>{1, 8, 192});
    }
  }
}

// Byte products that are added in 16 bits depend on this. Weights of equal size are the tightest case; three of every four in the
// last row would be rounded up if their sum were the largest.
TEST(QuantizeWeights, FoursThatAreAddedFit16Bits) {
  static_assert(kLargestFour * kActivationSteps <= 32767);
  const auto largest_four = [](const std::vector<float>& row) {
    std::vector<std::int8_t> packed(kPanelWidth * row.size());
    std::vector<float> scales(kPanelWidth * row.size() / 64);
    quantize_weight_row<std::int8_t>({packed.data(), scales.data(), nullptr, 4}, 0, row.data(),
                                     static_cast<std::int64_t>(row.size()));
    constexpr std::size_t kNextStep = kPanelWidth * 4;
    int largest = 0;
    for (std::size_t i = 0; i < packed.size(); i += i % kNextStep + 2 == kNextStep ? kNextStep + 2 : 2) {
      int above = 0, below = 0;
      for (const std::size_t at : {i, i + 1, i + kNextStep, i + kNextStep + 1}) {
        above += std::max<int>(packed[at], 0);
        below -= std::min<int>(packed[at], 0);
      }
      largest = std::max({largest, above, below});
    }
    return largest;
  };
  EXPECT_LE(largest_four(random_floats(4096, 5)), kLargestFour);
  EXPECT_EQ(largest_four(std::vector<float>(64, -1.0f)), kLargestFour / 4 * 4);
  std::vector<float> row(64, 42.51f);
  for (std::size_t i = 5; i < row.size(); i += 8) row[i] = row[i + 2] = 42.47f;
  EXPECT_LE(largest_four(row), kLargestFour);
  EXPECT_GE(largest_four(row), kLargestFour - 4);
}

// The buffers of one quantised row.
template <class T>
std::pair<std::vector<std::int16_t>, std::vector<std::int32_t>> quantized(const Kernels& kernels, const std::vector<float>& row) {
  std::vector<std::int16_t> q(row.size(), 77);
  std::vector<float> scale(row.size() / kQuantGroup<T>);
  std::vector<std::int32_t> zero(scale.size());
  const auto quantize = sizeof(T) == 2 ? kernels.quantize_q16 : kernels.quantize_q8;
  quantize(row.data(), 1, static_cast<std::int64_t>(row.size()), {q.data(), scale.data(), zero.data()});
  return {q, zero};
}

// So near 0 that the reciprocal of a step is no finite float: they become 0.
template <class T>
void expect_zeros_of_tiny_numbers(const Kernels& kernels) {
  for (const float tiny : {1e-38f, 1e-40f, std::numeric_limits<float>::denorm_min()}) {
    Product<T> product{2, 8, 64};
    std::fill(product.bias.begin(), product.bias.end(), 0.5f);
    Product<T> tiny_x = product, tiny_w = product;
    for (std::size_t i = 0; i < 64; ++i) tiny_x.x[i] = i % 3 == 0 ? tiny : i % 3 == 1 ? -tiny : 0;
    std::fill(tiny_w.w.begin(), tiny_w.w.begin() + 64, -tiny);
    tiny_x.x.resize(64);
    EXPECT_EQ(quantized<T>(kernels, tiny_x.x), quantized<T>(kernels, std::vector<float>(64))) << kernels.name << " " << tiny;
    EXPECT_EQ(tiny_w.run(kernels, Activation::kNone)[0], 0.5f) << kernels.name << " " << tiny;
    EXPECT_EQ(tiny_w.run(kernels, Activation::kNone)[1], product.run(kernels, Activation::kNone)[1]);
  }
}
TEST(QuantizeRows, TinyNumbersAreZeros) {
  for (const Kernels* kernels : kernel_variants()) {
    expect_zeros_of_tiny_numbers<std::int8_t>(*kernels);
    expect_zeros_of_tiny_numbers<std::int16_t>(*kernels);
  }
}

TEST(QuantizeRows, ARowOfZerosAndARowOfOneValueAreExact) {
  for (const Kernels* kernels : kernel_variants()) {
    Product<std::int8_t> product{2, 8, 32};
    std::fill(product.x.begin(), product.x.begin() + 32, 0.0f);
    std::fill(product.x.begin() + 32, product.x.end(), 2.5f);
    std::fill(product.w.begin(), product.w.end(), 1.0f);
    std::fill(product.bias.begin(), product.bias.end(), 0.5f);
    const std::vector<float> c = product.run(*kernels, Activation::kNone);
    EXPECT_EQ(c[0], 0.5f) << kernels->name;
    EXPECT_NEAR(c[11], 80.5f, 80.5f * 0x1p-21) << kernels->name;
  }
}

}  // namespace
}  // namespace wattn
