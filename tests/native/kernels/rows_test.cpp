#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "native/support/activations.h"

#include "kernels/kernels.h"

namespace wattn {
namespace {

constexpr float kGuard = 12345.0f;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Lengths 0 to two steps of four and beyond, and primes.
const std::vector<std::int64_t> kLengths{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 31, 67, 384};

std::vector<float> random_floats(std::int64_t count, unsigned seed, float size = 1) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> uniform(-size, size);
  std::vector<float> out(static_cast<std::size_t>(count));
  for (float& x : out) x = uniform(generator);
  return out;
}

bool is_exact(const Kernels& kernels) { return !std::string(kernels.name).starts_with("relaxed"); }  // eigen shares the scalar rows

// values with guards on both sides, misaligned.
struct Guarded {
  std::vector<float> block;
  std::int64_t count;
  explicit Guarded(const std::vector<float>& values) : count(static_cast<std::int64_t>(values.size())) {
    block.assign(values.size() + 10, kGuard);
    std::copy(values.begin(), values.end(), block.begin() + 5);
  }
  float* data() { return block.data() + 5; }
  void expect_guards(const char* name) const {
    for (std::size_t i = 0; i < 5; ++i) {
      ASSERT_EQ(block[i], kGuard) << name;
      ASSERT_EQ(block[block.size() - 1 - i], kGuard) << name;
    }
  }
};

TEST(SoftmaxRows, IsTheDoublePrecisionSoftmax) {
  for (const Kernels* kernels : kernel_variants()) {
    for (const std::int64_t cols : kLengths) {
      const std::vector<float> x = random_floats(3 * cols, 4, 20);
      Guarded got(x);
      kernels->softmax_rows(got.data(), 3, cols, cols);
      got.expect_guards(kernels->name);
      for (std::int64_t i = 0; i < 3 && cols > 0; ++i) {
        double max = -1e300, sum = 0;
        for (std::int64_t j = 0; j < cols; ++j) max = std::max<double>(max, x[i * cols + j]);
        for (std::int64_t j = 0; j < cols; ++j) sum += std::exp(x[i * cols + j] - max);
        for (std::int64_t j = 0; j < cols; ++j) {
          const double exact = std::exp(x[i * cols + j] - max) / sum;
          // x - max is rounded to 2^-24 of up to 40: 40 * 2^-24 relative; exp, sum (cols / 4 + 2 steps) and scale add a few.
          const double bound = exact * (40 + double(cols) / 4 + 8) * 0x1p-24 + 1e-37;
          ASSERT_NEAR(got.data()[i * cols + j], exact, bound) << kernels->name << " cols " << cols;
        }
      }
    }
  }
}

TEST(SoftmaxRows, AScoreOfMinusInfinityHasNoWeight) {
  for (const Kernels* kernels : kernel_variants()) {
    std::vector<float> x = {1, -kInfinity, 2, -kInfinity, 0.5f, -kInfinity};
    kernels->softmax_rows(x.data(), 1, 6, 6);
    EXPECT_EQ(x[1], 0.0f) << kernels->name;
    EXPECT_EQ(x[3], 0.0f) << kernels->name;
    EXPECT_EQ(x[5], 0.0f) << kernels->name;
    EXPECT_NEAR(x[0] + x[2] + x[4], 1, 3 * 0x1p-23) << kernels->name;
  }
}

TEST(SoftmaxRows, HugeScoresDoNotOverflow) {
  for (const Kernels* kernels : kernel_variants()) {
    std::vector<float> x = {3e38f, 1e38f, -3e38f, 3e38f, 0};
    kernels->softmax_rows(x.data(), 1, 5, 5);
    EXPECT_EQ(x[0], 0.5f) << kernels->name;
    EXPECT_EQ(x[3], 0.5f) << kernels->name;
    EXPECT_EQ(x[1] + x[2] + x[4], 0.0f) << kernels->name;
  }
}

TEST(SoftmaxRows, ANanStaysInItsRow) {
  for (const Kernels* kernels : kernel_variants()) {
    std::vector<float> x = {1, std::numeric_limits<float>::quiet_NaN(), 2, 3, 4, 5};
    kernels->softmax_rows(x.data(), 2, 3, 3);
    EXPECT_TRUE(std::isnan(x[0]) && std::isnan(x[1]) && std::isnan(x[2])) << kernels->name;
    EXPECT_NEAR(x[3] + x[4] + x[5], 1, 3 * 0x1p-23) << kernels->name;
  }
}

TEST(LayerNormRows, IsTheDoublePrecisionLayerNormOfTheSum) {
  constexpr float kEpsilon = 1e-5f;
  for (const Kernels* kernels : kernel_variants()) {
    for (const std::int64_t cols : kLengths) {
      if (cols == 0) continue;
      for (const bool with_residual : {false, true}) {
        const std::vector<float> x = random_floats(2 * cols, 5, 3), residual = random_floats(2 * cols, 6, 3);
        const std::vector<float> gamma = random_floats(cols, 7, 2), beta = random_floats(cols, 8, 2);
        Guarded got(x);  // in place
        kernels->layer_norm_rows(got.data(), with_residual ? residual.data() : nullptr, gamma.data(), beta.data(), kEpsilon,
                                 got.data(), 2, cols);
        got.expect_guards(kernels->name);
        for (std::int64_t i = 0; i < 2; ++i) {
          std::vector<double> v(static_cast<std::size_t>(cols));
          double mean = 0, variance = 0;
          for (std::int64_t j = 0; j < cols; ++j) {
            // The sum with the residual is first rounded to f32, which is part of the function and not of its error.
            v[j] = with_residual ? x[i * cols + j] + residual[i * cols + j] : x[i * cols + j];
            mean += v[j] / double(cols);
          }
          for (const double value : v) variance += (value - mean) * (value - mean) / double(cols);
          const double scale = 1 / std::sqrt(variance + kEpsilon);
          for (std::int64_t j = 0; j < cols; ++j) {
            const double exact = (v[j] - mean) * scale * gamma[j] + beta[j];
            // Mean and variance each carry (cols / 4 + 4) roundings of values up to 6; scale magnifies the first.
            const double steps = (double(cols) / 4 + 8) * 0x1p-24;
            const double bound = steps * (6 * scale + std::abs(v[j] - mean) * scale) * std::abs(gamma[j]) +
                                 4 * 0x1p-24 * (std::abs(exact) + std::abs(beta[j]));
            ASSERT_NEAR(got.data()[i * cols + j], exact, bound + 1e-30) << kernels->name << " cols " << cols;
          }
        }
      }
    }
  }
}

TEST(Axpy, AddsScaledValuesAndNothingElse) {
  for (const Kernels* kernels : kernel_variants()) {
    for (const std::int64_t n : kLengths) {
      const std::vector<float> x = random_floats(n, 9), y = random_floats(n, 10);
      Guarded got(y);
      kernels->axpy(0.3f, x.data(), got.data(), n);
      got.expect_guards(kernels->name);
      for (std::int64_t j = 0; j < n; ++j) {
        ASSERT_NEAR(got.data()[j], double(y[j]) + double(0.3f) * x[j], 2 * 0x1p-24 * (std::abs(y[j]) + 0.3))
            << kernels->name << " n " << n;
      }
    }
  }
}

TEST(GateRows, MultipliesActivatedValues) {
  for (const Kernels* kernels : kernel_variants()) {
    for (const std::int64_t n : kLengths) {
      const std::vector<float> x = random_floats(3 * 2 * n, 21, 4);
      Guarded got(std::vector<float>(static_cast<std::size_t>(3 * n)));
      kernels->gate_rows(Activation::kSilu, x.data(), got.data(), 3, n);
      got.expect_guards(kernels->name);
      for (std::int64_t i = 0; i < 3 * n; ++i) {
        const float* row = x.data() + i / n * 2 * n;
        const double active = row[i % n] / (1 + std::exp(-double(row[i % n])));
        const double exact = active * row[n + i % n];
        ASSERT_NEAR(got.data()[i], exact, std::abs(exact) * 6 * 0x1p-24)
            << kernels->name << " n " << n;  // exp's and four roundings
      }
    }
  }
}

TEST(Rotate, RotatesPairs) {
  for (const Kernels* kernels : kernel_variants()) {
    for (const std::int64_t half : kLengths) {
      const std::vector<float> x = random_floats(2 * half, 22), angles = random_floats(half, 23, 7);
      std::vector<float> cos, sin;
      for (const float angle : angles) {
        cos.push_back(std::cos(angle));
        sin.push_back(std::sin(angle));
      }
      Guarded got(x);
      kernels->rotate(got.data(), cos.data(), sin.data(), half);
      got.expect_guards(kernels->name);
      for (std::int64_t j = 0; j < half; ++j) {
        const double a = x[j], b = x[half + j];
        ASSERT_NEAR(got.data()[j], a * cos[j] - b * sin[j], 3 * 0x1p-24) << kernels->name << " half " << half;
        ASSERT_NEAR(got.data()[half + j], b * cos[j] + a * sin[j], 3 * 0x1p-24) << kernels->name << " half " << half;
      }
    }
  }
}

TEST(MaxInto, KeepsTheLarger) {
  for (const Kernels* kernels : kernel_variants()) {
    for (const std::int64_t n : kLengths) {
      const std::vector<float> x = random_floats(n, 11), y = random_floats(n, 12);
      Guarded got(y);
      kernels->max_into(x.data(), got.data(), n);
      got.expect_guards(kernels->name);
      for (std::int64_t j = 0; j < n; ++j) ASSERT_EQ(got.data()[j], std::max(x[j], y[j])) << kernels->name;
    }
  }
}

TEST(L2Normalize, GivesLengthOneAndKeepsZeros) {
  for (const Kernels* kernels : kernel_variants()) {
    for (const std::int64_t n : kLengths) {
      const std::vector<float> x = random_floats(n, 13, 5);
      Guarded got(x);
      kernels->l2_normalize(got.data(), 1e-12f, n);
      got.expect_guards(kernels->name);
      double norm = 0;
      for (const float value : x) norm += double(value) * value;
      for (std::int64_t j = 0; j < n; ++j) {
        ASSERT_NEAR(got.data()[j], x[j] / std::sqrt(norm), (double(n) / 4 + 4) * 0x1p-24) << kernels->name << " n " << n;
      }
      std::vector<float> zeros(static_cast<std::size_t>(n), 0.0f);
      kernels->l2_normalize(zeros.data(), 1e-12f, n);
      for (const float value : zeros) ASSERT_EQ(value, 0.0f) << kernels->name;
    }
  }
}

TEST(Activate, IsEachFunctionWithinItsStatedError) {
  for (const Kernels* kernels : kernel_variants()) {
    for (int i = 0; i <= int(Activation::kLaplace); ++i) {
      for (const std::int64_t n : kLengths) {
        const auto activation = static_cast<Activation>(i);
        const std::vector<float> x = random_floats(n, 21, 12);
        Guarded got(x);  // in place
        kernels->activate(activation, got.data(), got.data(), n);
        got.expect_guards(kernels->name);
        for (std::int64_t j = 0; j < n; ++j) {
          // tanh and erf are within 4.1e-7; the argument of tanh, up to 8 before it is flat, carries 4 roundings of 2^-24.
          const double bound = 1e-6 * (1 + std::abs(x[j]));
          ASSERT_NEAR(got.data()[j], test::exact_activation(activation, x[j]), bound)
              << kernels->name << " " << i << " at " << x[j];
        }
      }
    }
    float far[] = {-1e30f, 1e30f, -200, 200};
    kernels->activate(Activation::kSilu, far, far, 4);
    EXPECT_NEAR(far[0], 0, 1e-7) << kernels->name;
    EXPECT_EQ(far[1], 1e30f) << kernels->name;
    EXPECT_NEAR(far[2], 0, 1e-30) << kernels->name;
    EXPECT_EQ(far[3], 200) << kernels->name;
  }
}

TEST(Dot, IsTheDoublePrecisionSum) {
  for (const Kernels* kernels : kernel_variants()) {
    for (const std::int64_t n : kLengths) {
      const std::vector<float> x = random_floats(n, 22), y = random_floats(n, 23);
      Guarded a(x), b(y);
      double exact = 0, sizes = 0;
      for (std::int64_t j = 0; j < n; ++j) {
        exact += double(x[j]) * y[j];
        sizes += std::abs(double(x[j]) * y[j]);
      }
      ASSERT_NEAR(kernels->dot(a.data(), b.data(), n), exact, (double(n) / 4 + 4) * 0x1p-24 * sizes) << kernels->name << " n " << n;
    }
  }
}

TEST(PairStep, UpdatesBothSidesFromTheirOldValues) {
  for (const Kernels* kernels : kernel_variants()) {
    for (const std::int64_t n : kLengths) {
      const std::vector<float> x = random_floats(n, 24), y = random_floats(n, 25), step = random_floats(n, 26);
      Guarded y_got(y), step_got(step);
      kernels->pair_step(-0.7f, x.data(), y_got.data(), step_got.data(), n);
      y_got.expect_guards(kernels->name);
      step_got.expect_guards(kernels->name);
      for (std::int64_t j = 0; j < n; ++j) {
        ASSERT_NEAR(y_got.data()[j], y[j] + double(-0.7f) * x[j], 4 * 0x1p-24) << kernels->name;
        ASSERT_NEAR(step_got.data()[j], step[j] + double(-0.7f) * y[j], 4 * 0x1p-24) << kernels->name;
      }
    }
  }
}

TEST(Rows, ExactVariantsHaveTheScalarBits) {
  const Kernels& scalar = *kernel_variants()[0];
  for (const Kernels* kernels : kernel_variants()) {
    if (!is_exact(*kernels)) continue;
    for (const std::int64_t n : kLengths) {
      const std::vector<float> x = random_floats(n, 14, 30), gamma = random_floats(n, 15), beta = random_floats(n, 16);
      const auto expect_same = [&](const auto& run) {
        if (n == 0) return;
        std::vector<float> a = x, b = x;
        run(scalar, a);
        run(*kernels, b);
        ASSERT_EQ(std::memcmp(a.data(), b.data(), a.size() * sizeof(float)), 0) << kernels->name << " n " << n;
      };
      expect_same([&](const Kernels& k, std::vector<float>& v) { k.softmax_rows(v.data(), 1, n, n); });
      expect_same([&](const Kernels& k, std::vector<float>& v) { k.l2_normalize(v.data(), 1e-12f, n); });
      expect_same([&](const Kernels& k, std::vector<float>& v) { v[0] = k.dot(v.data(), gamma.data(), n); });
      expect_same([&](const Kernels& k, std::vector<float>& v) {
        std::vector<float> y = gamma;
        k.pair_step(0.7f, beta.data(), y.data(), v.data(), n);
        k.axpy(1.0f, y.data(), v.data(), n);
      });
      for (int i = 0; i <= int(Activation::kLaplace); ++i) {
        expect_same(
            [&](const Kernels& k, std::vector<float>& v) { k.activate(static_cast<Activation>(i), v.data(), v.data(), n); });
      }
      expect_same([&](const Kernels& k, std::vector<float>& v) {
        const std::vector<float> both = random_floats(2 * n, 24);
        k.gate_rows(Activation::kGeluTanh, both.data(), v.data(), 1, n);
      });
      expect_same([&](const Kernels& k, std::vector<float>& v) { k.rotate(v.data(), gamma.data(), beta.data(), n / 2); });
      expect_same([&](const Kernels& k, std::vector<float>& v) { k.axpy(0.7f, gamma.data(), v.data(), n); });
      expect_same([&](const Kernels& k, std::vector<float>& v) {
        k.layer_norm_rows(v.data(), gamma.data(), gamma.data(), beta.data(), 1e-12f, v.data(), 1, n);
      });
    }
  }
}

}  // namespace
}  // namespace wattn
