#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "kernels/kernels.h"
#include "kernels/pack.h"

namespace wattn {
namespace {

std::vector<float> random_floats(std::size_t count, unsigned seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> out(count);
  for (float& x : out) x = uniform(generator);
  return out;
}

// A product with guard values around c, gaps between the rows of a and c, and pointers misaligned by offset.
struct Product {
  std::int64_t m, n, k;
  std::int64_t a_stride = k + 3;
  std::int64_t c_stride = n + 5;
  int offset;
  std::vector<float> a, b, bias, packed;

  Product(std::int64_t rows, std::int64_t cols, std::int64_t depth, int misalign) : m(rows), n(cols), k(depth), offset(misalign) {
    a = random_floats(static_cast<std::size_t>(m * a_stride + offset), 1);
    b = random_floats(static_cast<std::size_t>(n * k), 2);
    bias = random_floats(static_cast<std::size_t>(n + offset), 3);
    packed.resize(static_cast<std::size_t>(packed_size(n, k) + offset));
    pack_rows(packed.data() + offset, b.data(), n, k, k);
  }

  static constexpr float kGuard = 12345.0f;
  std::vector<float> run(const Kernels& kernels, Activation activation, float scale) const {
    std::vector<float> c(static_cast<std::size_t>(m * c_stride + offset + 8), kGuard);
    kernels.gemm_f32({.a = a.data() + offset,
                      .a_stride = a_stride,
                      .b = packed.data() + offset,
                      .bias = bias.data() + offset,
                      .c = c.data() + offset,
                      .c_stride = c_stride,
                      .m = m,
                      .n = n,
                      .k = k,
                      .scale = scale,
                      .activation = activation});
    return c;
  }

  // The double-precision result before the activation, and the sum of magnitudes that bounds the rounding.
  void exact(std::int64_t i, std::int64_t j, float scale, double& sum, double& magnitude) const {
    sum = magnitude = 0;
    for (std::int64_t x = 0; x < k; ++x) {
      const double term = double(a[offset + i * a_stride + x]) * b[j * k + x] * scale;
      sum += term;
      magnitude += std::abs(term);
    }
    sum += bias[offset + j];
    magnitude += std::abs(bias[offset + j]);
  }
};

bool same_bits(const std::vector<float>& x, const std::vector<float>& y) {
  return x.size() == y.size() && std::memcmp(x.data(), y.data(), x.size() * sizeof(float)) == 0;
}

bool is_exact(const Kernels& kernels) {
  const std::string name = kernels.name;
  return name == "scalar" || name == "wasm";
}

class GemmF32 : public testing::Test {
 protected:
  // Below, at and above tiles of 4 and 6 rows, and some primes.
  const std::vector<std::int64_t> rows{1, 2, 3, 4, 5, 6, 7, 11, 12, 13, 96, 97};
  const std::vector<std::int64_t> cols{1, 3, 4, 5, 7, 8, 9, 16, 17, 31};
  const std::vector<std::int64_t> depths{0, 1, 2, 3, 7, 8, 32, 67};
};

TEST_F(GemmF32, IsTheDoublePrecisionProductWithinItsRounding) {
  for (const Kernels* kernels : kernel_variants()) {
    for (const std::int64_t m : rows) {
      for (const std::int64_t n : cols) {
        for (const std::int64_t k : depths) {
          const Product product(m, n, k, static_cast<int>((m + n + k) % 4));
          const std::vector<float> c = product.run(*kernels, Activation::kNone, 0.5f);
          for (std::int64_t i = 0; i < m; ++i) {
            for (std::int64_t j = 0; j < n; ++j) {
              double sum, magnitude;
              product.exact(i, j, 0.5f, sum, magnitude);
              // k products and sums, a scale and a bias, each within 2^-24 of its magnitude.
              const double bound = (2.0 * double(k) + 2) * 0x1p-24 * magnitude + 1e-30;
              ASSERT_NEAR(c[product.offset + i * product.c_stride + j], sum, bound)
                  << kernels->name << " m " << m << " n " << n << " k " << k << " at " << i << ", " << j;
            }
          }
        }
      }
    }
  }
}

TEST_F(GemmF32, WritesNothingOutsideItsResult) {
  for (const Kernels* kernels : kernel_variants()) {
    for (const std::int64_t m : rows) {
      for (const std::int64_t n : cols) {
        const Product product(m, n, 5, 1);
        const std::vector<float> c = product.run(*kernels, Activation::kNone, 1.0f);
        for (std::size_t at = 0; at < c.size(); ++at) {
          const std::int64_t inside = static_cast<std::int64_t>(at) - product.offset;
          const bool result = inside >= 0 && inside / product.c_stride < m && inside % product.c_stride < n;
          if (!result) {
            ASSERT_EQ(c[at], Product::kGuard) << kernels->name << " m " << m << " n " << n << " at " << at;
          }
        }
      }
    }
  }
}

TEST_F(GemmF32, ExactVariantsHaveTheScalarBits) {
  for (const Kernels* kernels : kernel_variants()) {
    if (!is_exact(*kernels)) continue;
    for (const std::int64_t m : rows) {
      for (const std::int64_t n : cols) {
        for (const Activation activation : {Activation::kNone, Activation::kGelu, Activation::kRelu, Activation::kTanh}) {
          const Product product(m, n, 67, 2);
          ASSERT_TRUE(same_bits(product.run(*kernels, activation, 0.7f), product.run(*kernel_variants()[0], activation, 0.7f)))
              << kernels->name << " m " << m << " n " << n;
        }
      }
    }
  }
}

TEST_F(GemmF32, ARowHasTheSameBitsInAnyNumberOfRows) {
  for (const Product& product : {Product(13, 17, 67, 0), Product(70, 17, 2100, 0)}) {
    for (const Kernels* kernels : kernel_variants()) {
      if (std::string(kernels->name) == "eigen") continue;  // its order depends on the shape
      const std::vector<float> whole = product.run(*kernels, Activation::kGelu, 1.0f);
      for (std::int64_t i = 0; i < product.m; ++i) {
        std::vector<float> row(static_cast<std::size_t>(product.n));
        kernels->gemm_f32({.a = product.a.data() + i * product.a_stride,
                           .a_stride = product.a_stride,
                           .b = product.packed.data(),
                           .bias = product.bias.data(),
                           .c = row.data(),
                           .c_stride = product.n,
                           .m = 1,
                           .n = product.n,
                           .k = product.k,
                           .activation = Activation::kGelu});
        ASSERT_EQ(std::memcmp(row.data(), whole.data() + i * product.c_stride, row.size() * sizeof(float)), 0)
            << kernels->name << " row " << i;
      }
    }
  }
}

// As with cached values: panels have room for more rows than the product reads.
TEST_F(GemmF32, ReadsTheFirstRowsOfDeeperPanels) {
  for (const std::int64_t n : {7, 16, 140}) {
    const Product product(5, n, 33, 0);
    const std::int64_t depth = product.k + 6;
    std::vector<float> deeper(static_cast<std::size_t>(packed_size(n, depth)), std::nanf(""));
    for (std::int64_t panel = 0; panel * kPanelWidth < n; ++panel) {
      const auto from = product.packed.begin() + panel * kPanelWidth * product.k;
      std::copy_n(from, kPanelWidth * product.k, deeper.begin() + panel * kPanelWidth * depth);
    }
    for (const Kernels* kernels : kernel_variants()) {
      std::vector<float> whole(static_cast<std::size_t>(product.m * n)), got(whole.size());
      wattn::GemmF32 gemm{.a = product.a.data(),
                          .a_stride = product.a_stride,
                          .b = product.packed.data(),
                          .c = whole.data(),
                          .c_stride = n,
                          .m = product.m,
                          .n = n,
                          .k = product.k};
      kernels->gemm_f32(gemm);
      gemm.b = deeper.data();
      gemm.b_depth = depth;
      gemm.c = got.data();
      kernels->gemm_f32(gemm);
      ASSERT_EQ(got, whole) << kernels->name << " n " << n;
    }
  }
}

// Blocks of a hold 3 << 14 words, strips of b 1 << 15. These products need several, divided between rows, words or columns.
TEST_F(GemmF32, BlocksOfALongOrTallProductAgree) {
  const std::int64_t shapes[][3] = {{20, 9, 3300}, {97, 17, 1057}, {33, 5, 6300}, {3, 9, 16500}, {7, 3, 7100},
                                    {1, 8, 50000}, {300, 8, 200},  {8, 210, 400}, {60, 33, 1100}};
  for (const auto& [m, n, k] : shapes) {
    const Product product(m, n, k, 1);
    const std::vector<float> scalar = product.run(*kernel_variants()[0], Activation::kTanh, 0.05f);
    std::vector<double> sums(static_cast<std::size_t>(m * n)), bounds(sums.size());
    for (std::int64_t i = 0; i < m * n; ++i) {
      double magnitude;
      product.exact(i / n, i % n, 0.05f, sums[i], magnitude);
      bounds[i] = (2.0 * double(k) + 2) * 0x1p-24 * magnitude + 1e-6;  // and the error of tanh
    }
    for (const Kernels* kernels : kernel_variants()) {
      const std::vector<float> c = product.run(*kernels, Activation::kTanh, 0.05f);
      EXPECT_TRUE(!is_exact(*kernels) || same_bits(c, scalar)) << kernels->name << " k " << k;
      for (std::int64_t i = 0; i < m * n; ++i) {
        ASSERT_NEAR(c[product.offset + i / n * product.c_stride + i % n], std::tanh(sums[i]), bounds[i])
            << kernels->name << " m " << m << " k " << k << " at " << i;
      }
    }
  }
}

TEST_F(GemmF32, NansAndInfinitiesStayInTheirRow) {
  for (const Kernels* kernels : kernel_variants()) {
    Product product(7, 9, 8, 0);
    product.a[2 * product.a_stride + 3] = std::numeric_limits<float>::quiet_NaN();
    product.a[5 * product.a_stride + 1] = std::numeric_limits<float>::infinity();
    const std::vector<float> c = product.run(*kernels, Activation::kNone, 1.0f);
    for (std::int64_t i = 0; i < product.m; ++i) {
      for (std::int64_t j = 0; j < product.n; ++j) {
        const float x = c[i * product.c_stride + j];
        if (i == 2) {
          EXPECT_TRUE(std::isnan(x)) << kernels->name;
        } else if (i == 5) {
          EXPECT_TRUE(std::isinf(x)) << kernels->name;
        } else {
          EXPECT_TRUE(std::isfinite(x)) << kernels->name;
        }
      }
    }
  }
}

}  // namespace
}  // namespace wattn
