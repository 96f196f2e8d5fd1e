// Linear layers of one to eight rows, as in a decoder, in every number format: billions of multiply-adds per second,
// the best of several runs. "cached": one matrix of 576 x 1536, repeatedly. "memory": 40 of them in turn, 142 MB in
// f32.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <random>
#include <utility>
#include <vector>

#include "core/arena.h"
#include "ops/linear.h"

namespace {

using namespace wattn;

double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

constexpr std::int64_t kIn = 576, kOut = 1536, kMatrices = 40;
constexpr std::int64_t kTokens[] = {1, 2, 3, 4, 5, 8, 16};

void bench(const Kernels& kernels, WeightType type, const char* name) {
  std::vector<LinearWeights> layers;
  LinearScratch scratch;
  const auto take = [&](Arena& arena) {
    layers.clear();
    for (int i = 0; i < kMatrices; ++i) layers.push_back(take_linear(arena, kernels, type, kIn, kOut, false));
    scratch = take_linear_scratch(arena, type, 16, kIn, 1);
  };
  Arena measure;
  take(measure);
  Arena arena = std::move(Arena::with_zeros(measure.used(), "bench")).value();
  take(arena);
  std::mt19937 generator(1);
  std::normal_distribution<float> normal(0.0f, 0.05f);
  std::vector<float> row(kIn), x(16 * kIn), y(16 * kOut);
  for (std::int64_t j = 0; j < kOut; ++j) {
    for (float& w : row) w = normal(generator);
    for (const LinearWeights& layer : layers) set_weight_row(layer, j, row.data());
  }
  for (float& value : x) value = normal(generator);
  ThreadTeam alone;
  const auto speed = [&](std::int64_t tokens, std::size_t matrices) {
    double best = 0;
    const double begin = seconds();
    for (int i = 0; i < 5 || seconds() - begin < 0.15; ++i) {
      const double start = seconds();
      for (int j = 0; j < kMatrices; ++j) {
        linear({kernels, alone}, layers[static_cast<std::size_t>(j) % matrices], x.data(), tokens, Activation::kNone, scratch,
               y.data());
      }
      best = std::max(best, static_cast<double>(kMatrices * tokens * kIn * kOut) / (seconds() - start) * 1e-9);
    }
    return best;
  };
  std::printf("%-17s %-4s", kernels.name, name);
  for (const std::int64_t tokens : kTokens)
    std::printf("  %2d rows %5.1f %5.1f", int(tokens), speed(tokens, 1), speed(tokens, kMatrices));
  std::printf("\n");
}

}  // namespace

int main(int argc, char** argv) {
  std::printf("cached, memory\n");
  const std::pair<WeightType, const char*> types[] = {{WeightType::kF32, "f32"},
                                                      {WeightType::kF16, "f16"},
                                                      {WeightType::kQ16, "q16"},
                                                      {WeightType::kQ8, "q8"},
                                                      {WeightType::kQ4, "q4"}};
  for (const Kernels* kernels : {&exact_kernels(), &fast_kernels()}) {
    for (const auto& [type, name] : types) {
      if (argc < 2 || std::strstr(argv[1], name)) bench(*kernels, type, name);
    }
    if (&exact_kernels() == &fast_kernels()) break;
  }
}
