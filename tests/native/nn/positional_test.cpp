// nn's positions have the bits of the models'.
#include "nn/positional.h"

#include <gtest/gtest.h>

#include <vector>

#include "core/arena.h"
#include "ops/position.h"

namespace wattn::nn {
namespace {

TEST(NnPositional, RotatesWithTheBitsOfTheModelsTable) {
  for (const auto& [dim, base] : {std::pair{8, 10000.0}, {64, 1e4}, {128, 1e6}}) {
    const std::int64_t half = dim / 2, first = 4000, seq = 5;
    Arena arena = Arena::with_bytes(16 << 20, "test").value();
    const wattn::Rotary table = take_rotary(arena, first + seq, dim, {.theta = base});
    for (const bool interleaved : {false, true}) {
      // Pairs (1, 0) become (cos, sin).
      Tensor x = Tensor::zeros({2, seq, dim}).value();
      for (std::int64_t i = 0; i < x.size(); ++i) *x.at(i) = interleaved ? float(i % 2 == 0) : float(i % dim < half);
      const auto out = rotary(x, {.base = base, .interleaved = interleaved, .first = first});
      ASSERT_TRUE(out.ok());
      for (std::int64_t i = 0; i < 2 * seq * half; ++i) {
        const std::int64_t row = i / half, j = i % half, at = (first + row % seq) * half + j;
        ASSERT_EQ(*out.value().at(row * dim + (interleaved ? 2 * j : j)), table.cos[at]) << dim << ", " << i;
        ASSERT_EQ(*out.value().at(row * dim + (interleaved ? 2 * j + 1 : half + j)), table.sin[at]) << dim << ", " << i;
      }
    }
  }
}

}  // namespace
}  // namespace wattn::nn
