// linear() with additions of low rank: the product of the stored weights, in every number format, plus the exact low-rank term.
#include "ops/lora.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "core/arena.h"
#include "native/support/team.h"

namespace wattn {
namespace {

constexpr WeightType kTypes[] = {WeightType::kF32, WeightType::kF16, WeightType::kQ16, WeightType::kQ8, WeightType::kQ4};

struct Addition {
  std::int64_t first, outputs, rank;
};

// A layer with additions to some of its outputs; their outputs may meet.
struct LoraProblem {
  std::int64_t tokens, in, out;
  std::vector<Addition> additions;
  WeightType type;
  Arena arena{};
  LinearWeights layer{}, instead{};
  LinearScratch scratch{};
  Lora lora{};
  std::vector<float> x{};

  LoraProblem(std::int64_t tokens, std::int64_t in, std::int64_t out, std::vector<Addition> additions, WeightType type)
      : tokens(tokens), in(in), out(out), additions(std::move(additions)), type(type) {
    take();
    arena = std::move(Arena::with_zeros(arena.used(), "test")).value();
    take();
    std::mt19937 generator(11);
    std::normal_distribution<float> normal(0.0f, 1);
    const auto fill = [&](const LinearWeights& linear) {
      std::vector<float> row(static_cast<std::size_t>(linear.in));
      for (std::int64_t j = 0; j < linear.out; ++j) {
        for (float& w : row) w = normal(generator);
        set_weight_row(linear, j, row.data());
        if (linear.bias) linear.bias[j] = normal(generator);
      }
    };
    fill(layer);
    fill(instead);
    for (const LoraChange& change : lora.changes) fill(change.a), fill(change.b);
    x.resize(static_cast<std::size_t>(tokens * in));
    for (float& value : x) value = normal(generator);
  }
  void take() {
    lora.changes.clear();
    layer = take_linear(arena, exact_kernels(), type, in, out, true);
    instead = take_linear(arena, exact_kernels(), type, in, out + 5, true);
    scratch = take_linear_scratch(arena, type, tokens, in, 4);
    for (const auto& [first, outputs, rank] : additions) {
      const LinearWeights a = take_linear(arena, exact_kernels(), WeightType::kF32, in, rank, false);
      const LinearWeights b = take_linear(arena, exact_kernels(), WeightType::kF32, rank, outputs, false);
      lora.changes.push_back({.layer = layer, .instead = {}, .a = a, .b = b, .first = first});
      lora.rank = std::max(lora.rank, rank);
    }
    lora.scratch = arena.take<float>(lora_scratch(lora.rank));
  }
  std::vector<float> run(ThreadTeam& team, const Lora* with, Activation activation) const {
    std::vector<float> y(static_cast<std::size_t>(tokens * (with && with->changes[0].instead.in > 0 ? out + 5 : out)));
    linear({exact_kernels(), team, with}, layer, x.data(), tokens, activation, scratch, y.data());
    return y;
  }
  // The low-rank term of token t and output j in double, and how far rounding may take it. Each of the in + rank products is
  // rounded twice, and the sum once more.
  std::pair<double, double> term(std::int64_t t, std::int64_t j) const {
    double exact = 0, size = 0;
    std::vector<float> a(static_cast<std::size_t>(in)), b(static_cast<std::size_t>(lora.rank));
    for (const LoraChange& change : lora.changes) {
      if (j < change.first || j >= change.first + change.b.out) continue;
      get_weight_row(change.b, j - change.first, b.data());
      for (std::int64_t k = 0; k < change.a.out; ++k) {
        get_weight_row(change.a, k, a.data());
        for (std::int64_t i = 0; i < in; ++i) {
          const double product = static_cast<double>(b[k]) * a[i] * x[t * in + i];
          exact += product;
          size += std::abs(product);
        }
      }
    }
    return {exact, size * 0x1p-23 * static_cast<double>(in + lora.rank)};
  }
};

const std::vector<Addition> kUneven = {{0, 20, 3}, {20, 37, 9}, {13, 60, 1}};

TEST(Lora, AddsTheExactTermToTheProductOfEachNumberFormat) {
  ThreadTeam team;
  for (const WeightType type : kTypes) {
    for (const auto& [tokens, in, out] : {std::tuple{1, 40, 73}, {17, 64, 73}, {40, 70, 300}}) {
      const LoraProblem problem(tokens, in, out, kUneven, type);
      const auto plain = problem.run(team, nullptr, Activation::kNone), added = problem.run(team, &problem.lora, Activation::kNone);
      for (std::int64_t t = 0; t < tokens; ++t) {
        for (std::int64_t j = 0; j < out; ++j) {
          const auto [term, bound] = problem.term(t, j);
          const float base = plain[t * out + j];
          ASSERT_NEAR(added[t * out + j], base + term, bound + 0x1p-22 * (std::abs(base) + std::abs(term))) << t << ", " << j;
        }
      }
    }
  }
}

TEST(Lora, AppliesTheActivationAfterTheAddition) {
  ThreadTeam team;
  for (const WeightType type : kTypes) {
    const LoraProblem problem(19, 40, 73, kUneven, type);
    auto expected = problem.run(team, &problem.lora, Activation::kNone);
    exact_kernels().activate(Activation::kGelu, expected.data(), expected.data(), static_cast<std::int64_t>(expected.size()));
    EXPECT_EQ(problem.run(team, &problem.lora, Activation::kGelu), expected);
  }
}

TEST(Lora, LeavesLayersWithoutAdditionsAlone) {
  ThreadTeam team;
  const LoraProblem one(3, 40, 73, kUneven, WeightType::kQ8), other(3, 40, 73, kUneven, WeightType::kQ8);
  EXPECT_EQ(one.run(team, &other.lora, Activation::kTanh), one.run(team, nullptr, Activation::kTanh));
}

TEST(Lora, KnowsAPartOfALayer) {
  ThreadTeam team;
  LoraProblem problem(5, 40, 73, kUneven, WeightType::kF32);
  const auto whole = problem.run(team, &problem.lora, Activation::kNone);
  problem.layer.out = problem.out = 16;  // the first outputs, as disentangled attention uses them
  const auto part = problem.run(team, &problem.lora, Activation::kNone);
  for (std::int64_t t = 0; t < 5; ++t) {
    for (std::int64_t j = 0; j < 16; ++j) EXPECT_EQ(part[t * 16 + j], whole[t * 73 + j]);
  }
}

TEST(Lora, ReplacesALayer) {
  ThreadTeam team;
  LoraProblem problem(5, 40, 73, {}, WeightType::kQ8);
  problem.lora.changes = {{.layer = problem.layer, .instead = problem.instead, .a = {}, .b = {}}};
  std::vector<float> y(static_cast<std::size_t>(5 * 78));
  linear({exact_kernels(), team}, problem.instead, problem.x.data(), 5, Activation::kRelu, problem.scratch, y.data());
  EXPECT_EQ(problem.run(team, &problem.lora, Activation::kRelu), y);
}

TEST(Lora, MergesIntoTheWeights) {
  ThreadTeam team;
  for (const WeightType type : {WeightType::kF32, WeightType::kQ16}) {
    const LoraProblem problem(7, 40, 73, kUneven, type);
    const auto added = problem.run(team, &problem.lora, Activation::kNone);
    std::vector<float> before(40), after(40);
    get_weight_row(problem.layer, 72, before.data());
    for (const LoraChange& change : problem.lora.changes) merge_lora(change, problem.layer);
    const auto merged = problem.run(team, nullptr, Activation::kNone);
    // f32: another order of the same sums; q16: a step is 2^-15 of the largest weight of its group, here below 60.
    const float bound = type == WeightType::kF32 ? 1e-3f : 60 * 0x1p-15f * 40;
    for (std::size_t i = 0; i < added.size(); ++i) ASSERT_NEAR(merged[i], added[i], bound) << i;
    get_weight_row(problem.layer, 72, after.data());
    EXPECT_NE(before, after);
  }
}

#ifndef __EMSCRIPTEN__  // wasm: the host creates the threads
TEST(Lora, HasTheSameBitsWithThreadsAndTogether) {
  const LoraProblem problem(50, 70, 300, kUneven, WeightType::kQ8);
  ThreadTeam alone;
  const auto expected = problem.run(alone, &problem.lora, Activation::kGelu);
  test::TeamOfFour four;
  const ThreadTeam::Awake awake(four.team);
  EXPECT_EQ(problem.run(four.team, &problem.lora, Activation::kGelu), expected);
  LoraProblem one(1, 70, 300, kUneven, WeightType::kQ8);
  one.x.assign(problem.x.begin() + 33 * 70, problem.x.begin() + 34 * 70);
  const auto single = one.run(alone, &one.lora, Activation::kGelu);
  EXPECT_EQ(single, std::vector<float>(expected.begin() + 33 * 300, expected.begin() + 34 * 300));
}
#endif

}  // namespace
}  // namespace wattn
