// Weights in 16 bits: every f16 and bf16, rounding, and which of the two a row becomes.
#include "kernels/half.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "core/tensor_view.h"

namespace wattn {
namespace {

std::uint32_t bits_of(float x) { return std::bit_cast<std::uint32_t>(x); }

// The nearest f16 of a number, ties to even, by its definition: multiples of the last place's value, in doubles.
double nearest_half(double x) {
  const double magnitude = std::abs(x);
  const int exponent = magnitude < 0x1p-14 ? -14 : std::ilogb(magnitude);
  const double unit = std::ldexp(1.0, exponent - 10);
  return std::copysign(std::nearbyint(magnitude / unit) * unit, x);
}

// A row of one value, and how it is widened: by itself, added to 1, and in a panel beside rows of both kinds.
struct Narrowed {
  std::uint16_t bits = 0;
  float scale = 0, widened = 0, added = 1, in_panel = 0;

  explicit Narrowed(float value, float beside = 0) {
    const float row[] = {value, beside};
    std::uint16_t panel[2 * kPanelWidth] = {};
    float scales[kPanelWidth] = {};
    const float others[2][2] = {{0.1f, 3}, {0x1p100f, 1}};  // becomes f16, and bf16
    scales[0] = narrow_row(others[0], 2, panel, kPanelWidth);
    scales[5] = narrow_row(others[1], 2, panel + 5, kPanelWidth);
    scale = scales[3] = narrow_row(row, 2, panel + 3, kPanelWidth);
    bits = panel[3];
    widen_row(&bits, scale, 1, 1, false, &widened);
    widen_row(&bits, scale, 1, 1, true, &added);
    float out[2 * kPanelWidth];
    widen_panels(panel, scales, kPanelWidth, 2, out);
    in_panel = out[3];
    EXPECT_EQ(out[kPanelWidth + 3], beside);
    EXPECT_NEAR(out[0], 0.1f, 0x1p-14);
    EXPECT_EQ(out[5], 0x1p100f);
    EXPECT_EQ(bits_of(out[7]), 0u);  // a row after the last one
  }
};

// What makes a row f16: more bits than bf16 has.
constexpr float kFiner = 1 + 0x1p-10f;

TEST(Half, EveryFiniteF16KeepsItsBits) {
  for (std::uint32_t half = 0; half < 0x10000; ++half) {
    const float value = half_to_float(static_cast<std::uint16_t>(half));
    if (!std::isfinite(value)) continue;
    const Narrowed narrowed(value, kFiner);
    ASSERT_EQ(narrowed.scale, kHalfScale);
    ASSERT_EQ(narrowed.bits, half);
    ASSERT_EQ(bits_of(narrowed.widened), bits_of(value));
    ASSERT_EQ(bits_of(narrowed.in_panel), bits_of(value));
    ASSERT_EQ(narrowed.added, 1 + value);
  }
}

TEST(Half, EveryBf16KeepsItsBits) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float value = bfloat_to_float(static_cast<std::uint16_t>(bits));
    const Narrowed narrowed(value);
    ASSERT_EQ(narrowed.scale, 1);
    if (std::isnan(value)) {
      ASSERT_TRUE(std::isnan(narrowed.widened) && std::isnan(narrowed.in_panel)) << bits;
      continue;
    }
    ASSERT_EQ(narrowed.bits, bits);
    ASSERT_EQ(bits_of(narrowed.widened), bits_of(value));
    ASSERT_EQ(bits_of(narrowed.in_panel), bits_of(value));
  }
}

// NaN and infinity cannot be read from a checkpoint, but a sum with an adapter may be infinite.
TEST(Half, InfinityAndNaNStay) {
  for (const float beside : {0.0f, kFiner}) {
    const float infinity = std::numeric_limits<float>::infinity(), nan = std::bit_cast<float>(0x7F800001u);
    const float expected = beside == 0 ? 0 : 1;  // bf16 rounds what is finer
    for (const float value : {infinity, -infinity, nan}) {
      const float row[] = {value, beside};
      std::uint16_t bits[2];
      float out[2];
      widen_row(bits, narrow_row(row, 2, bits, 1), 2, 1, false, out);
      EXPECT_TRUE(std::isnan(value) ? std::isnan(out[0]) : out[0] == value);
      EXPECT_EQ(out[1], expected);
    }
  }
}

// Between all neighbours: the middle, which is a tie, and the floats beside it.
TEST(Half, RoundsToTheNearestF16) {
  for (std::uint32_t half = 0; half < 0x7BFF; ++half) {
    const float low = half_to_float(static_cast<std::uint16_t>(half)), high = half_to_float(static_cast<std::uint16_t>(half + 1));
    const float middle = low + (high - low) / 2;
    for (const float value : {std::nextafter(middle, low), middle, std::nextafter(middle, high)}) {
      for (const float of : {value, -value}) ASSERT_EQ(Narrowed(of, kFiner).widened, nearest_half(of)) << of;
    }
  }
  for (const float tiny : {0x1p-25f, 0x1.2p-25f, 0x1p-26f, 0x1p-149f}) {
    EXPECT_EQ(Narrowed(tiny, kFiner).widened, nearest_half(tiny));
    EXPECT_EQ(bits_of(Narrowed(-tiny, kFiner).widened), bits_of(static_cast<float>(nearest_half(-tiny))));
  }
}

TEST(Half, ARowBeyondF16IsBf16) {
  EXPECT_EQ(Narrowed(65519.996f, kFiner).widened, 65504);
  const float row[] = {65520, kFiner};
  std::uint16_t bits[2];
  float out[2];
  const float scale = narrow_row(row, 2, bits, 1);
  EXPECT_EQ(scale, 1);
  widen_row(bits, scale, 2, 1, false, out);
  EXPECT_EQ(out[0], 65536);
  EXPECT_EQ(out[1], 1);
}

// bf16's rounding, which only such rows need: the nearer of the two neighbours, the even one in a tie.
TEST(Half, RoundsToTheNearestBf16) {
  std::mt19937 generator(5);
  for (int i = 0; i < 100000; ++i) {
    const std::uint32_t word = i % 3 == 0 ? (generator() & 0xFFFF0000u) | 0x8000u : generator();
    const float value = std::bit_cast<float>(word);
    if (!std::isfinite(value)) continue;
    const float row[] = {value, 0x1.000002p100f};
    std::uint16_t bits[2];
    narrow_row(row, 2, bits, 1);
    const std::uint32_t down = word >> 16, rest = word & 0xFFFF;
    const bool up = rest > 0x8000 || (rest == 0x8000 && down % 2 == 1);
    ASSERT_EQ(bits[0], down + (up ? 1 : 0)) << value;
  }
}

// Lengths that are no multiple of four, and rows of a table.
TEST(Half, RowsOfAnyLength) {
  for (int n = 0; n < 12; ++n) {
    std::vector<float> row(static_cast<std::size_t>(n));
    for (int i = 0; i < n; ++i) row[i] = kFiner * static_cast<float>(1 << i);
    std::vector<std::uint16_t> bits(static_cast<std::size_t>(n) + 1, 0xABCD);
    const float scale = narrow_row(row.data(), n, bits.data(), 1);
    EXPECT_EQ(bits.back(), 0xABCD);
    std::vector<float> out(row.size());
    widen_row(bits.data(), scale, n, 1, false, out.data());
    EXPECT_EQ(out, row);
  }
}

}  // namespace
}  // namespace wattn
