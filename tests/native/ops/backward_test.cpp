// The backward pass of the simpler ops against central differences of their formulas in double precision.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "kernels/gradients.h"
#include "native/support/activations.h"
#include "native/support/team.h"
#include "ops/dropout.h"
#include "ops/embedding.h"
#include "ops/linear.h"
#include "ops/norm.h"
#include "ops/pooling.h"
#include "ops/position.h"

namespace wattn {
namespace {

using Floats = std::vector<float>;
using Doubles = std::vector<double>;

Floats random_floats(std::int64_t count, unsigned seed, float least = -2, float most = 2) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> uniform(least, most);
  Floats out(static_cast<std::size_t>(count));
  for (float& x : out) x = uniform(generator);
  return out;
}

// The gradient at x of the sum of dy[i] * f(x)[i]. The difference is off by h^2 / 6 times the third derivative, here below 1e-9 of
// the gradient's size, and by 1e-16 / h of the sum's.
Doubles differences(const Floats& x, const Floats& dy, const std::function<Doubles(const Doubles&)>& f) {
  constexpr double kStep = 1e-5;
  Doubles at(x.begin(), x.end()), out;
  const auto sum_at = [&](std::size_t i, double value) {
    const double middle = at[i];
    at[i] = value;
    const Doubles y = f(at);
    at[i] = middle;
    double sum = 0;
    for (std::size_t j = 0; j < y.size(); ++j) sum += dy[j] * y[j];
    return sum;
  };
  for (std::size_t i = 0; i < x.size(); ++i) {
    out.push_back((sum_at(i, at[i] + kStep) - sum_at(i, at[i] - kStep)) / (2 * kStep));
  }
  return out;
}

void expect_near_largest(const Floats& got, const Doubles& expected, const std::string& what, double tolerance = 1e-5) {
  ASSERT_EQ(got.size(), expected.size()) << what;
  double largest = 1e-5;  // the tails of a bell are smaller than their difference quotients' rounding
  for (const double x : expected) largest = std::max(largest, std::abs(x));
  for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], expected[i], tolerance * largest) << what << ", " << i;
}

std::vector<Activation> all_activations() {
  std::vector<Activation> out;
  for (int i = 0; i <= static_cast<int>(Activation::kLaplace); ++i) out.push_back(static_cast<Activation>(i));
  return out;
}
const std::vector<Activation> kActivations = all_activations();

TEST(Backward, OfActivations) {
  for (const GradientKernels* kernels : gradient_kernel_variants()) {
    for (const Activation activation : kActivations) {
      for (const std::int64_t n : {0, 1, 3, 4, 7, 41}) {
        const Floats x = random_floats(n, 1, -6, 6), dy = random_floats(n, 2);
        Floats dx(x.size() + 1, 77.0f);
        kernels->activate_backward(activation, x.data(), dy.data(), dx.data(), n);
        EXPECT_EQ(dx.back(), 77.0f);
        dx.pop_back();
        const Doubles expected = differences(x, dy, [&](Doubles at) {
          for (double& value : at) value = test::exact_activation(activation, value);
          return at;
        });
        expect_near_largest(dx, expected,
                            std::string(kernels->name) + ", activation " + std::to_string(static_cast<int>(activation)));
      }
    }
  }
}

TEST(Backward, OfReluAtZeroIsZeroAndFarSlopesEnd) {
  const Floats x{0.0f, -0.0f, 1e-40f, -100.0f, 100.0f}, dy(5, 1.0f);
  Floats dx(5);
  gradient_kernels().activate_backward(Activation::kRelu, x.data(), dy.data(), dx.data(), 5);
  EXPECT_EQ(dx, (Floats{0, 0, 1, 0, 1}));
  for (const Activation activation : {Activation::kGelu, Activation::kGeluTanh, Activation::kSilu}) {
    gradient_kernels().activate_backward(activation, x.data(), dy.data(), dx.data(), 5);
    EXPECT_NEAR(dx[3], 0.0f, 1e-6f);
    EXPECT_NEAR(dx[4], 1.0f, 1e-6f);
  }
}

// As torch: a corner's slope is that of one side.
TEST(Backward, OfCornersIsTorchs) {
  const struct {
    Activation activation;
    Floats x, slopes;
  } rows[] = {
      {Activation::kRelu6, {0, 6, 3}, {0, 0, 1}},
      {Activation::kLeakyRelu, {0, -1, 1}, {0.01f, 0.01f, 1}},
      {Activation::kElu, {0, -0.0f, 1}, {1, 1, 1}},
      {Activation::kHardTanh, {-1, 1, 0}, {0, 0, 1}},
      {Activation::kHardSigmoid, {-3, 3, 0}, {0, 0, 1.0f / 6}},
      {Activation::kHardSwish, {-4, 4, 0}, {0, 1, 0.5f}},
      {Activation::kGelu10, {11, -11, 0}, {0, 0, 0.5f}},
      {Activation::kMish, {100, -100, 0}, {1, 0, 0.6f}},
  };
  const Floats dy(3, 1.0f);
  for (const auto& [activation, x, slopes] : rows) {
    Floats dx(3);
    gradient_kernels().activate_backward(activation, x.data(), dy.data(), dx.data(), 3);
    for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(dx[i], slopes[i], 1e-6f) << static_cast<int>(activation) << " at " << x[i];
  }
}

TEST(Backward, OfGates) {
  for (const GradientKernels* kernels : gradient_kernel_variants()) {
    for (const Activation activation : kActivations) {
      const std::int64_t rows = 3, cols = 9;
      const Floats x = random_floats(rows * 2 * cols, 3), dy = random_floats(rows * cols, 4);
      Floats dx(x.size());
      kernels->gate_backward_rows(activation, x.data(), dy.data(), dx.data(), rows, cols);
      const Doubles expected = differences(x, dy, [&](const Doubles& at) {
        Doubles y;
        for (std::int64_t i = 0; i < rows; ++i) {
          for (std::int64_t j = 0; j < cols; ++j) {
            y.push_back(test::exact_activation(activation, at[2 * i * cols + j]) * at[(2 * i + 1) * cols + j]);
          }
        }
        return y;
      });
      expect_near_largest(dx, expected, kernels->name);
    }
  }
}

TEST(Backward, OfSoftmax) {
  for (const GradientKernels* kernels : gradient_kernel_variants()) {
    for (const std::int64_t cols : {1, 2, 4, 13, 50}) {
      const std::int64_t rows = 3;
      const Floats scores = random_floats(rows * cols, 5), dy = random_floats(rows * cols, 6);
      Floats probs = scores, d = dy;
      exact_kernels().softmax_rows(probs.data(), rows, cols, cols);
      kernels->softmax_backward_rows(probs.data(), 1.0f, d.data(), rows, cols);
      const Doubles expected = differences(scores, dy, [&](Doubles at) {
        for (std::int64_t i = 0; i < rows; ++i) {
          double sum = 0;
          for (std::int64_t j = 0; j < cols; ++j) sum += at[i * cols + j] = std::exp(at[i * cols + j]);
          for (std::int64_t j = 0; j < cols; ++j) at[i * cols + j] /= sum;
        }
        return at;
      });
      if (cols > 1) {
        expect_near_largest(d, expected, kernels->name);
      } else {
        EXPECT_NEAR(d[0], 0, 1e-6);
      }
    }
  }
}

struct NormCase {
  NormKind kind;
  std::int64_t rows, cols;
};

Doubles exact_norm(const NormCase& c, const Doubles& x, const Doubles& gamma, const Doubles& beta) {
  Doubles y(x.size());
  for (std::int64_t i = 0; i < c.rows; ++i) {
    double mean = 0, squares = 0;
    for (std::int64_t j = 0; j < c.cols; ++j) mean += c.kind == NormKind::kLayer ? x[i * c.cols + j] / c.cols : 0;
    for (std::int64_t j = 0; j < c.cols; ++j) squares += std::pow(x[i * c.cols + j] - mean, 2) / c.cols;
    for (std::int64_t j = 0; j < c.cols; ++j) {
      y[i * c.cols + j] = (x[i * c.cols + j] - mean) / std::sqrt(squares + 1e-3f) * gamma[j] + beta[j];
    }
  }
  return y;
}

TEST(Backward, OfNorms) {
  for (const NormKind kind : {NormKind::kLayer, NormKind::kRms}) {
    for (const auto& [rows, cols] : {std::pair{1, 5}, {3, 8}, {70, 4}, {2, 67}, {5, 130}}) {
      const NormCase c{kind, rows, cols};
      const Floats x = random_floats(rows * cols, 7), gamma = random_floats(cols, 8), beta(static_cast<std::size_t>(cols));
      const Floats dy = random_floats(rows * cols, 9);
      LayerNorm norm{cols, 1e-3f, const_cast<float*>(gamma.data()), nullptr};
      Floats dx(x.size(), 0.5f), d_gamma(gamma.size(), 0.25f), d_beta(gamma.size()), scratch(static_cast<std::size_t>(2 * rows));
      ThreadTeam alone;
      normalise_backward({exact_kernels(), alone}, kind, norm, x.data(), dy.data(), rows, dx.data(), d_gamma.data(), d_beta.data(),
                         scratch.data());
      for (float& d : dx) d -= 0.5f;  // what was there
      for (float& d : d_gamma) d -= 0.25f;
      const auto wide = [](const Floats& from) { return Doubles(from.begin(), from.end()); };
      const std::string what = std::to_string(static_cast<int>(kind)) + ", " + std::to_string(rows) + " x " + std::to_string(cols);
      expect_near_largest(dx, differences(x, dy, [&](const Doubles& at) { return exact_norm(c, at, wide(gamma), wide(beta)); }),
                          what);
      expect_near_largest(d_gamma,
                          differences(gamma, dy, [&](const Doubles& at) { return exact_norm(c, wide(x), at, wide(beta)); }), what);
      expect_near_largest(d_beta, differences(beta, dy, [&](const Doubles& at) { return exact_norm(c, wide(x), wide(gamma), at); }),
                          what);
    }
  }
}

struct LinearCase {
  std::int64_t tokens, in, out;
  Floats x = random_floats(tokens * in, 10), weight = random_floats(out * in, 11), dy = random_floats(tokens * out, 12);

  struct Result {
    Floats dx, d_weight, d_bias;
    bool operator==(const Result&) const = default;
  };
  Result run(ThreadTeam& team) const {
    Result r{Floats(x.size(), NAN), Floats(weight.size()), Floats(static_cast<std::size_t>(out))};
    run(team, {.weight = weight.data(), .dx = r.dx.data(), .d_weight = r.d_weight.data(), .d_bias = r.d_bias.data()});
    return r;
  }
  // The same with the weights and their gradients in a Linear. widened: the weights as stored.
  Result run_layer(ThreadTeam& team, WeightType type, Floats& widened) const {
    Arena measure;
    const auto take = [&](Arena& from, WeightType as) { return take_linear(from, exact_kernels(), as, in, out, true); };
    take(measure, type);
    take(measure, WeightType::kF32);
    Arena arena = Arena::with_zeros(measure.used(), "test").value();
    const LinearWeights layer = take(arena, type), gradient = take(arena, WeightType::kF32);
    for (std::int64_t j = 0; j < out; ++j) set_weight_row(layer, j, weight.data() + j * in);
    widened.resize(weight.size());
    for (std::int64_t j = 0; j < out; ++j) get_weight_row(layer, j, widened.data() + j * in);
    Result r{Floats(x.size(), NAN), Floats(weight.size()), Floats(gradient.bias, gradient.bias + out)};
    run(team, {.layer = &layer, .dx = r.dx.data(), .d_layer = &gradient});
    for (std::int64_t j = 0; j < out; ++j) get_weight_row(gradient, j, r.d_weight.data() + j * in);
    r.d_bias.assign(gradient.bias, gradient.bias + out);
    return r;
  }

 private:
  void run(ThreadTeam& team, LinearGradient gradient) const {
    Floats scratch(static_cast<std::size_t>(linear_backward_scratch(in, out, tokens, team.threads())), NAN);
    gradient.in = in;
    gradient.out = out;
    gradient.tokens = tokens;
    gradient.x = x.data();
    gradient.dy = dy.data();
    linear_backward({exact_kernels(), team}, gradient, scratch.data());
  }
};

// Weights in the kernels' layout, of every type, give the bits of the same weights in rows.
TEST(Backward, OfLinearLayersIsTheSameInEveryLayout) {
  for (const auto& [tokens, in, out] : {std::tuple{1, 1, 1}, {5, 7, 3}, {9, 16, 70}, {3, 35, 21}, {4, 9, 4111}}) {
    for (const WeightType type : {WeightType::kF32, WeightType::kF16, WeightType::kQ16, WeightType::kQ8}) {
      LinearCase c{tokens, in, out};
      ThreadTeam alone;
      Floats widened;
      const LinearCase::Result got = c.run_layer(alone, type, widened);
      c.weight = widened;
      EXPECT_EQ(got, c.run(alone)) << in << " x " << out << ", type " << static_cast<int>(type);
    }
  }
}

TEST(Backward, OfLinearLayers) {
  for (const auto& [tokens, in, out] :
       {std::tuple{1, 1, 1}, {0, 5, 3}, {5, 7, 3}, {9, 8, 16}, {3, 20, 65}, {70, 9, 129}, {130, 17, 8}, {3, 5, 9001}}) {
    const LinearCase c{tokens, in, out};
    ThreadTeam alone;
    const auto [dx, d_weight, d_bias] = c.run(alone);
    Doubles exact_dx(dx.size()), exact_weight(d_weight.size()), exact_bias(d_bias.size());
    for (std::int64_t t = 0; t < tokens; ++t) {  // linear in everything: the sums are the derivative
      for (std::int64_t o = 0; o < out; ++o) {
        const double d = c.dy[t * out + o];
        exact_bias[o] += d;
        for (std::int64_t i = 0; i < in; ++i) {
          exact_dx[t * in + i] += d * c.weight[o * in + i];
          exact_weight[o * in + i] += d * c.x[t * in + i];
        }
      }
    }
    const std::string what = std::to_string(tokens) + " x " + std::to_string(in) + " x " + std::to_string(out);
    expect_near_largest(dx, exact_dx, what);
    expect_near_largest(d_weight, exact_weight, what);
    expect_near_largest(d_bias, exact_bias, what);
  }
}

// The sums over tokens are single chains in rising order, so these are all the bits there are.
TEST(Backward, OfLinearLayersIsOneChainInRisingOrder) {
  const LinearCase c{133, 21, 9};
  ThreadTeam alone;
  const auto [dx, d_weight, d_bias] = c.run(alone);
  for (std::int64_t o = 0; o < c.out; ++o) {
    for (std::int64_t i = 0; i < c.in; ++i) {
      float sum = 0;
      for (std::int64_t t = 0; t < c.tokens; ++t) sum += c.dy[t * c.out + o] * c.x[t * c.in + i];
      ASSERT_EQ(d_weight[o * c.in + i], sum) << o << ", " << i;
    }
  }
}

#ifndef __EMSCRIPTEN__  // wasm: the host creates the threads
TEST(Backward, HasTheSameBitsWithThreads) {
  ThreadTeam alone;
  test::TeamOfFour four;
  ThreadTeam& team = four.team;
  for (const auto& [tokens, in, out] : {std::tuple{5, 7, 3}, {70, 9, 300}, {130, 170, 200}, {40, 9, 5000}}) {
    const ThreadTeam::Awake awake(team);
    const LinearCase c{tokens, in, out};
    EXPECT_EQ(c.run(team), c.run(alone));
  }
}
#endif

TEST(Backward, OfDropoutKeepsTheMean) {
  const std::int64_t count = 100000;
  for (const float rate : {0.0f, 0.1f, 0.5f, 0.9f}) {
    ThreadTeam alone;
    Floats x(count, 2.0f);
    drop({exact_kernels(), alone}, dropout_at(rate, 1, 2, 3), x.data(), count);
    const auto dropped = static_cast<double>(std::count(x.begin(), x.end(), 0.0f));
    EXPECT_NEAR(dropped / count, rate, 0.005);  // three deviations
    EXPECT_EQ(std::count(x.begin(), x.end(), 2.0f * (1.0f / (1.0f - rate))) + static_cast<std::int64_t>(dropped), count);
  }
  // Neighbouring places, steps and elements share nothing: each keeps half of what another keeps.
  const Dropout one = dropout_at(0.5f, 1, 2, 3);
  for (const Dropout& other :
       {dropout_at(0.5f, 1, 2, 4), dropout_at(0.5f, 1, 3, 3), dropout_at(0.5f, 2, 2, 3), Dropout{0.5f, one.key + 1}}) {
    std::int64_t both = 0, shifted = 0;
    for (std::uint64_t i = 0; i < 20000; ++i) {
      both += one.factor(i) > 0 && other.factor(i) > 0;
      shifted += one.factor(i) > 0 && one.factor(i + 1) > 0;
    }
    EXPECT_NEAR(static_cast<double>(both) / 20000, 0.25, 0.01);
    EXPECT_NEAR(static_cast<double>(shifted) / 20000, 0.25, 0.01);
  }
}

TEST(Backward, OfEmbeddingsAddsTheRowsOfEachId) {
  const std::vector<std::int32_t> ids{3, 0, 3, 3};
  const Floats dy = random_floats(4 * 5, 13);
  Floats d_table(4 * 5, 1.0f);
  embedding_backward(ids, dy.data(), 5, d_table.data());
  for (std::int64_t j = 0; j < 5; ++j) {
    EXPECT_EQ(d_table[j], 1.0f + dy[5 + j]);
    EXPECT_EQ(d_table[5 + j], 1.0f);
    EXPECT_EQ(d_table[15 + j], ((1.0f + dy[j]) + dy[10 + j]) + dy[15 + j]);
  }
}

TEST(Backward, OfRotationsIsTheirTranspose) {
  Arena measure;
  const RopeScaling scaling{};
  take_rotary(measure, 50, 12, scaling);
  Arena arena = Arena::with_bytes(measure.used(), "test").value();
  const Rotary rotary = take_rotary(arena, 50, 12, scaling);
  set_rotary(rotary, 0, 50, scaling);
  const std::vector<std::int32_t> positions{0, 7, 49};
  const std::int64_t heads = 2, stride = 30;
  const Floats x = random_floats(3 * stride, 14), dy = random_floats(3 * stride, 15);
  Floats y = x, dx = dy;
  ThreadTeam alone;
  rotate_heads({exact_kernels(), alone}, rotary, positions, heads, stride, y.data());
  rotate_heads_backward({exact_kernels(), alone}, rotary, positions, heads, stride, dx.data());
  double forward = 0, backward = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    forward += static_cast<double>(y[i]) * dy[i];
    backward += static_cast<double>(x[i]) * dx[i];
    if (static_cast<std::int64_t>(i) % stride >= heads * 12) {
      EXPECT_EQ(dx[i], dy[i]);
    }
  }
  EXPECT_NEAR(forward, backward, 1e-5);
  rotate_heads_backward({exact_kernels(), alone}, rotary, positions, heads, stride, y.data());
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(y[i], x[i], 1e-6);
}

TEST(Backward, OfPooling) {
  const PoolingMode modes[] = {PoolingMode::kCls,         PoolingMode::kMax,          PoolingMode::kMean,
                               PoolingMode::kMeanSqrtLen, PoolingMode::kWeightedMean, PoolingMode::kLastToken};
  const std::int64_t hidden = 5;
  for (const auto& [tokens, skip] : {std::pair{1, 0}, {7, 0}, {7, 2}, {3, 3}, {3, 9}}) {
    const Floats x = random_floats(tokens * hidden, 16), dy = random_floats(6 * hidden, 17);
    Floats dx(x.size());
    pool_backward(exact_kernels(), modes, x.data(), tokens, hidden, skip, dy.data(), dx.data());
    const std::int64_t first = std::min(skip, tokens), count = tokens - first;
    const Doubles expected = differences(x, dy, [&, tokens = tokens](const Doubles& at) {
      Doubles y(static_cast<std::size_t>(6 * hidden));
      for (std::int64_t j = 0; count > 0 && j < hidden; ++j) {
        double sum = 0, weighted = 0, weights = 0, most = -1e9;
        for (std::int64_t i = first; i < tokens; ++i) {
          const double value = at[i * hidden + j], weight = static_cast<double>(i + 1);
          sum += value, weighted += weight * value, weights += weight, most = std::max(most, value);
        }
        const auto n = static_cast<double>(count);
        const double of[] = {at[first * hidden + j],       most, sum / n, sum / std::sqrt(n), weighted / weights,
                             at[(tokens - 1) * hidden + j]};
        for (std::int64_t mode = 0; mode < 6; ++mode) y[mode * hidden + j] = of[mode];
      }
      return y;
    });
    if (count > 0) {
      expect_near_largest(dx, expected, std::to_string(tokens));
    } else {
      EXPECT_EQ(dx, Floats(x.size()));
    }
  }
}

}  // namespace
}  // namespace wattn
