// linear() with 4-bit weights: the product with the stored weights, with any number of threads.
#include "ops/linear.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "core/arena.h"
#include "kernels/quant.h"
#include "native/support/team.h"

namespace wattn {
namespace {

struct Q4Linear {
  std::int64_t tokens, in, out;
  int threads;
  Arena arena{};
  Linear layer{};
  LinearScratch scratch{};
  std::vector<float> x{};

  Q4Linear(std::int64_t tokens, std::int64_t in, std::int64_t out, int threads)
      : tokens(tokens), in(in), out(out), threads(threads) {
    take();
    arena = std::move(Arena::with_zeros(arena.used(), "test")).value();
    take();
    std::mt19937 generator(7);
    std::normal_distribution<float> normal(0.1f, 1);
    std::vector<float> row(static_cast<std::size_t>(in));
    for (std::int64_t j = 0; j < out; ++j) {
      for (float& w : row) w = normal(generator);
      set_weight_row(layer, j, row.data());
      layer.bias[j] = normal(generator);
    }
    x.resize(static_cast<std::size_t>(tokens * in));
    for (float& value : x) value = normal(generator);
  }
  void take() {
    layer = take_linear(arena, exact_kernels(), WeightType::kQ4, in, out, true);
    scratch = take_linear_scratch(arena, WeightType::kQ4, tokens, in, threads);
  }
  std::vector<float> run(ThreadTeam& team) const {
    std::vector<float> y(static_cast<std::size_t>(tokens * out));
    linear({exact_kernels(), team}, layer, x.data(), tokens, Activation::kNone, scratch, y.data());
    return y;
  }
};

// Only the activations are rounded, by at most one of their group's 255 steps (gemm_quant_test.cpp); the f32 sums add a little.
TEST(Linear, InFourBitsIsTheProductWithTheStoredWeights) {
  for (const auto& [tokens, in, out] : {std::tuple{1, 64, 8}, {1, 40, 9}, {3, 200, 70}, {9, 384, 33}}) {
    const Q4Linear q4(tokens, in, out, 1);
    ThreadTeam team;
    const std::vector<float> y = q4.run(team);
    std::vector<float> w(static_cast<std::size_t>(in));
    for (std::int64_t j = 0; j < out; ++j) {
      get_weight_row(q4.layer, j, w.data());
      for (std::int64_t t = 0; t < tokens; ++t) {
        const float* x = q4.x.data() + t * in;
        double exact = q4.layer.bias[j], bound = 1e-5;
        for (std::int64_t begin = 0; begin < in; begin += 64) {
          const std::int64_t end = std::min<std::int64_t>(begin + 64, in);
          const auto [low, high] = std::minmax_element(x + begin, x + end);
          const double step = (std::max(*high, 0.0f) - std::min(*low, 0.0f)) / kActivationSteps;
          for (std::int64_t i = begin; i < end; ++i) {
            exact += static_cast<double>(x[i]) * w[i];
            bound += std::abs(w[i]) * 1.01 * step + 0x1p-21 * std::abs(x[i] * w[i]);
          }
        }
        ASSERT_NEAR(y[t * out + j], exact, bound) << tokens << " tokens, " << in << " to " << out << " at " << t << ", " << j;
      }
    }
  }
}

#ifndef __EMSCRIPTEN__  // wasm: the host creates the threads
TEST(Linear, InFourBitsHasTheSameBitsWithThreads) {
  const Q4Linear q4(40, 200, 500, 4);
  ThreadTeam alone;
  const std::vector<float> expected = q4.run(alone);
  test::TeamOfFour four;
  ThreadTeam& team = four.team;
  {
    const ThreadTeam::Awake awake(team);
    for (int round = 0; round < 5; ++round) EXPECT_EQ(q4.run(team), expected);
  }
}
#endif

}  // namespace
}  // namespace wattn
