// linear() with weights that are unpacked for it: the product with the stored weights, with any number of threads.
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

struct SomeLinear {
  WeightType type;
  std::int64_t tokens, in, out;
  int threads;
  Arena arena{};
  LinearWeights layer{};
  LinearScratch scratch{};
  std::vector<float> x{};

  SomeLinear(WeightType type, std::int64_t tokens, std::int64_t in, std::int64_t out, int threads)
      : type(type), tokens(tokens), in(in), out(out), threads(threads) {
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
    layer = take_linear(arena, exact_kernels(), type, in, out, true);
    scratch = take_linear_scratch(arena, type, tokens, in, threads);
  }
  std::vector<float> run(ThreadTeam& team) const {
    std::vector<float> y(static_cast<std::size_t>(tokens * out));
    linear({exact_kernels(), team}, layer, x.data(), tokens, Activation::kNone, scratch, y.data());
    return y;
  }
};

// Only the activations are rounded, by at most one of their group's 255 steps (gemm_quant_test.cpp); the f32 sums add a little.
TEST(LinearWeights, InFourBitsIsTheProductWithTheStoredWeights) {
  for (const auto& [tokens, in, out] : {std::tuple{1, 64, 8}, {1, 40, 9}, {3, 200, 70}, {9, 384, 33}}) {
    const SomeLinear q4(WeightType::kQ4, tokens, in, out, 1);
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

// The last shape: a strip of columns is one panel, wider than kWidened.
TEST(LinearWeights, InF16HasTheBitsOfTheStoredWeightsInF32) {
  for (const auto& [tokens, in, out] : {std::tuple{1, 64, 8}, {1, 40, 9}, {3, 200, 1170}, {33, 384, 250}, {2, 40000, 20}}) {
    const SomeLinear f16(WeightType::kF16, tokens, in, out, 1);
    const SomeLinear f32(WeightType::kF32, tokens, in, out, 1);
    std::vector<float> w(static_cast<std::size_t>(in)), before(static_cast<std::size_t>(in));
    float largest = 0;
    for (std::int64_t j = 0; j < out; ++j) {
      get_weight_row(f16.layer, j, w.data());
      get_weight_row(f32.layer, j, before.data());
      for (std::int64_t i = 0; i < in; ++i) {
        largest = std::max(largest, std::abs(w[i] - before[i]) / std::max(std::abs(before[i]), 0x1p-14f));
      }
      set_weight_row(f32.layer, j, w.data());
    }
    EXPECT_LE(largest, 0x1p-11f);
    EXPECT_GT(largest, 0x1p-12f);
    ThreadTeam team;
    EXPECT_EQ(f16.run(team), f32.run(team)) << tokens << " tokens, " << in << " to " << out;
  }
}

// A decoder's row has kernels of its own; beams and prompts have several.
TEST(LinearWeights, ARowHasTheSameBitsInAnyNumberOfRows) {
  for (const WeightType type : {WeightType::kF32, WeightType::kF16, WeightType::kQ16, WeightType::kQ8, WeightType::kQ4}) {
    for (const auto& [in, out] : {std::pair{1, 1}, {31, 9}, {64, 8}, {200, 61}, {577, 250}}) {
      const SomeLinear many(type, 7, in, out, 1);
      ThreadTeam alone;
      const std::vector<float> whole = many.run(alone);
      for (std::int64_t rows = 1; rows <= 5; ++rows) {
        SomeLinear few(type, rows, in, out, 1);
        const std::int64_t first = 7 - rows;
        std::copy_n(many.x.begin() + first * in, rows * in, few.x.begin());
        const std::vector<float> expected(whole.begin() + first * out, whole.end());
        EXPECT_EQ(few.run(alone), expected) << static_cast<int>(type) << ": " << rows << " x " << in << " to " << out;
      }
    }
  }
}

// What quantising made is taken back as it is; what it would not make is refused, as no engine may add its products in 16 bits.
TEST(LinearWeights, TakesBlocksThatKeepTheLimitsOfQ8) {
  constexpr std::int64_t kIn = 128, kOut = 9;
  const auto make = [&](Arena& arena) { return take_linear(arena, exact_kernels(), WeightType::kQ8, kIn, kOut, false); };
  Arena measure;
  make(measure);
  Arena from = std::move(Arena::with_zeros(measure.used(), "test")).value(),
        to = std::move(Arena::with_zeros(measure.used(), "test")).value();
  const LinearWeights quantised = make(from), taken = make(to);
  std::mt19937 generator(7);
  std::normal_distribution<float> normal(0.1f, 1);
  std::vector<float> row(kIn);
  std::vector<QuantBlock> blocks(2);
  const auto take = [&](std::int64_t j) { return set_weight_blocks(taken, j, reinterpret_cast<const char*>(blocks.data())); };
  for (std::int64_t j = 0; j < kOut; ++j) {
    for (float& w : row) w = normal(generator);
    set_weight_row(quantised, j, row.data());
    for (std::size_t g = 0; g < blocks.size(); ++g) {
      blocks[g].scale = weight_scale<std::int8_t>(&row[64 * g]);
      round_all(&row[64 * g], 1 / blocks[g].scale, 64, blocks[g].weights);
    }
    EXPECT_TRUE(take(j));
  }
  EXPECT_TRUE(std::ranges::equal(from.taken(), to.taken()));
  const QuantBlock good = blocks[1];
  for (const float scale : {-1.0f, INFINITY, NAN}) {
    blocks[1].scale = scale;
    EXPECT_FALSE(take(0)) << scale;
  }
  for (const int sign : {1, -1}) {
    for (const std::size_t last : {7u, 63u}) {  // four that are added: i, i + 1, i + 4 and i + 5
      blocks[1] = {.scale = 1, .weights = {}};
      for (const std::size_t back : {0u, 1u, 4u, 5u}) blocks[1].weights[last - back] = static_cast<std::int8_t>(42 * sign);
      EXPECT_TRUE(take(0));
      blocks[1].weights[last] = static_cast<std::int8_t>(45 * sign);
      EXPECT_FALSE(take(0)) << sign << ' ' << last;
    }
  }
  blocks[1] = good;
  EXPECT_TRUE(take(0));
}

#ifndef __EMSCRIPTEN__  // wasm: the host creates the threads
TEST(LinearWeights, WeightsOfFewerBitsHaveTheSameBitsWithThreads) {
  for (const auto& [type, tokens] :
       {std::pair{WeightType::kQ4, 40}, {WeightType::kF16, 40}, {WeightType::kQ4, 1}, {WeightType::kQ8, 1}}) {
    const SomeLinear layer(type, tokens, 200, 500, 4);
    ThreadTeam alone;
    const std::vector<float> expected = layer.run(alone);
    test::TeamOfFour four;
    ThreadTeam& team = four.team;
    {
      const ThreadTeam::Awake awake(team);
      for (int round = 0; round < 5; ++round) EXPECT_EQ(layer.run(team), expected);
    }
  }
}
#endif

}  // namespace
}  // namespace wattn
