// gemm_q16 and gemm_q8 against the same whole numbers multiplied in 64 bits, and their formats against f32.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <string>
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

bool is_exact(const Kernels& kernels) { return std::string(kernels.name) != "relaxed"; }

template <class Format>
struct Product {
  static constexpr bool kQ16 = sizeof(typename Format::Value) == 2;
  std::int64_t m, n, k, depth = padded_depth<Format>(k);
  std::vector<float> x = random_floats(m * k, 1), w = random_floats(n * k, 2), bias = random_floats(n, 3);

  std::vector<float> run(const Kernels& kernels, Activation activation) const {
    const int step = kQ16 ? 2 : kernels.q8_step;
    std::vector<typename Format::Value> packed(static_cast<std::size_t>(packed_size(n, depth)));
    std::vector<float> scales(packed.size() / Format::kGroup), sums(static_cast<std::size_t>(n));
    for (std::int64_t j = 0; j < n; ++j) sums[j] = quantize_weight_row<Format>(packed.data(), scales.data(), j, w.data() + j * k, k, step);
    std::vector<std::int16_t> q(static_cast<std::size_t>(m * depth));
    std::vector<float> scale(static_cast<std::size_t>(m)), offset(static_cast<std::size_t>(m));
    const QuantizedRows rows{q.data(), scale.data(), offset.data()};
    (kQ16 ? kernels.quantize_rows_q16 : kernels.quantize_rows_q8)(x.data(), m, k, nullptr, rows);
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

// Each weight is off by at most half a step of its group, each activation by half a step of its row, so an output is off
// by at most the sums of those, and the rounding of the f32 sum over groups.
template <class Format>
void expect_close_to_f32(const Kernels& kernels, std::int64_t m, std::int64_t n, std::int64_t k) {
  const Product<Format> product{m, n, k};
  const std::vector<float> c = product.run(kernels, Activation::kNone);
  for (std::int64_t i = 0; i < m; ++i) {
    const float* x = product.x.data() + i * k;
    double low = 0, high = 0;
    for (std::int64_t s = 0; s < k; ++s) {
      high = std::max<double>(high, Product<Format>::kQ16 ? std::abs(x[s]) : x[s]);
      low = std::min<double>(low, x[s]);
    }
    const double x_half_step = 0.5 * (high - (Product<Format>::kQ16 ? 0 : low)) / Format::kLargestActivation;
    for (std::int64_t j = 0; j < n; ++j) {
      const float* w = product.w.data() + j * k;
      double exact = product.bias[j], bound = 1e-6;
      for (std::int64_t g = 0; g < k; g += Format::kGroup) {
        double largest = 0;
        for (std::int64_t s = g; s < std::min(g + Format::kGroup, k); ++s) largest = std::max<double>(largest, std::abs(w[s]));
        const double w_half_step = 0.5 * largest / Format::kLargestWeight;
        for (std::int64_t s = g; s < std::min(g + Format::kGroup, k); ++s) {
          exact += double(x[s]) * w[s];
          bound += std::abs(x[s]) * w_half_step + (std::abs(w[s]) + w_half_step) * x_half_step;
          bound += 0x1p-21 * (std::abs(x[s] * w[s]) + std::abs(low * w[s]));
        }
      }
      ASSERT_NEAR(c[i * (n + 3) + j], exact, bound) << kernels.name << " m " << m << " n " << n << " k " << k << " at " << i << ", " << j;
    }
  }
}

const std::int64_t kRows[] = {1, 2, 3, 4, 5, 8, 97};
const std::int64_t kCols[] = {1, 4, 7, 8, 9, 24};
const std::int64_t kDepths[] = {1, 31, 32, 33, 64, 65, 200};

TEST(GemmQuant, IsTheProductWithinTheStepsOfItsFormats) {
  for (const Kernels* kernels : kernel_variants()) {
    for (const std::int64_t m : kRows) {
      for (const std::int64_t n : kCols) {
        for (const std::int64_t k : kDepths) {
          expect_close_to_f32<Q16>(*kernels, m, n, k);
          expect_close_to_f32<Q8>(*kernels, m, n, k);
        }
      }
    }
  }
}

TEST(GemmQuant, ExactVariantsHaveTheScalarBitsWhateverTheirLayout) {
  for (const Kernels* kernels : kernel_variants()) {
    if (!is_exact(*kernels)) continue;
    for (const std::int64_t m : kRows) {
      for (const std::int64_t n : kCols) {
        for (const Activation activation : {Activation::kNone, Activation::kGelu}) {
          const auto same = [&](const auto& product) {
            const std::vector<float> a = product.run(*kernels, activation), b = product.run(*kernel_variants()[0], activation);
            return std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
          };
          ASSERT_TRUE(same(Product<Q16>{m, n, 200})) << kernels->name << " q16, m " << m << " n " << n;
          ASSERT_TRUE(same(Product<Q8>{m, n, 200})) << kernels->name << " q8, m " << m << " n " << n;
        }
      }
    }
  }
}

TEST(GemmQuant, WritesNothingOutsideItsResult) {
  for (const Kernels* kernels : kernel_variants()) {
    for (const std::int64_t n : kCols) {
      const std::vector<float> c = Product<Q8>{5, n, 40}.run(*kernels, Activation::kNone);
      for (std::size_t at = 0; at < c.size(); ++at) {
        if (static_cast<std::int64_t>(at) / (n + 3) >= 5 || static_cast<std::int64_t>(at) % (n + 3) >= n) {
          ASSERT_EQ(c[at], 12345.0f) << kernels->name << " n " << n << " at " << at;
        }
      }
    }
  }
}

// The largest sums there can be stay inside 32 bits, and inside the 16 bits of a relaxed dot's pairs.
TEST(GemmQuant, ExtremeOperandsDoNotOverflow) {
  for (const Kernels* kernels : kernel_variants()) {
    for (const float sign : {1.0f, -1.0f}) {
      const auto extreme = [&](auto product) {
        std::fill(product.x.begin(), product.x.end(), 3.0f);
        product.x[0] = 0.0f;
        std::fill(product.w.begin(), product.w.end(), sign * 2.0f);
        std::fill(product.bias.begin(), product.bias.end(), 0.0f);
        for (const float value : {product.run(*kernels, Activation::kNone)[0], product.run(*kernels, Activation::kNone)[7]}) {
          EXPECT_NEAR(value, sign * 6.0f * 191, 191 * 6 * 0x1p-20) << kernels->name;
        }
      };
      extreme(Product<Q16>{1, 8, 192});
      extreme(Product<Q8>{1, 8, 192});
    }
  }
}

TEST(QuantizeRows, ARowOfZerosAndARowOfOneValueAreExact) {
  for (const Kernels* kernels : kernel_variants()) {
    Product<Q8> product{2, 8, 32};
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
