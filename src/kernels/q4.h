// q4: weights stored in 4 bits and unpacked to gemm_q8's format (quant.h) right before they are used. Groups of 64 along k have an
// f32 scale, as in q8. Each part of 16 weights selects one of 256 codebooks, and each weight one of the book's sixteen int8.
// A book spans its part's own range from -low to high, each one of kQ4Levels in steps of 5.5 between 44.5 and 127. Entries are
// closer together in the middle, where most weights are (bench/README.md compares other forms). They are stored as thirds, so
// that the sum of four products fits gemm_q8's 16 bits.
// Packed: codes [ceil(n / 8)][k / 16][4][16], column c in the low half of byte [c % 4], column c + 4 in the high one;
// books [ceil(n / 8)][k / 16][8]; scales and sums as in q8.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

#include "kernels/kernels.h"
#include "kernels/quant.h"

namespace wattn {

inline constexpr std::int64_t kQ4Part = 16;
inline constexpr int kQ4Levels = 16;  // for either end
inline constexpr int kQ4Books = kQ4Levels * kQ4Levels;
inline constexpr int kQ4Codes = 16;

constexpr int q4_twice_level(int level) { return 89 + 11 * level; }

// The position of code i between the ends -1 and 1, times kQ4Whole: 0.8 t + 0.2 t^3 with t = (2 i - 15) / 15.
inline constexpr int kQ4Whole = 16875;
constexpr int q4_place(int code) {
  const int u = 2 * code - 15;
  return 900 * u + u * u * u;
}

// Thirds: [low level][high level][code].
inline constexpr std::array<std::int8_t, kQ4Books * kQ4Codes> kQ4Entries = [] {
  std::array<std::int8_t, kQ4Books * kQ4Codes> entries{};
  for (int book = 0; book < kQ4Books; ++book) {
    const int low = q4_twice_level(book / kQ4Levels), high = q4_twice_level(book % kQ4Levels);
    for (int code = 0; code < kQ4Codes; ++code) {
      const int scaled = (high - low) * kQ4Whole + (high + low) * q4_place(code);
      entries[book * kQ4Codes + code] = static_cast<std::int8_t>((scaled + (scaled < 0 ? -6 : 6) * kQ4Whole) / (12 * kQ4Whole));
    }
  }
  return entries;
}();

// The 16 weights of a part are scaled to -127 .. 127 and held as whole numbers of 1 / kQ4Fine, in two vectors of eight.
inline constexpr int kQ4Fine = 128;

// A book, with what finds codes in it: the middle between its ends, and half their distance as a factor of 15 bits.
struct Q4Book {
  int low, high;  // levels

  const std::int8_t* entries() const { return kQ4Entries.data() + (low * kQ4Levels + high) * kQ4Codes; }
  std::int16_t middle() const { return static_cast<std::int16_t>((q4_twice_level(high) - q4_twice_level(low)) * kQ4Fine / 4); }
  // 2^12 / half.
  std::int16_t inverse() const {
    const int half = (q4_twice_level(high) + q4_twice_level(low)) * kQ4Fine / 4;
    return static_cast<std::int16_t>(((1 << 27) + half / 2) / half);
  }
};

// The codes of eight weights, the nearest or nearly: solves s = 0.8 t + 0.2 t^3 for t, within 0.004 (least squares), where s is
// the place between the ends, -1 .. 1. Fractions have 15 bits.
template <class V>
typename V::I16 q4_codes(typename V::I16 x, typename V::I16 middle, typename V::I16 inverse) {
  const auto fraction = [](double value) { return V::splat_i16(static_cast<std::int16_t>(value * 32768)); };
  const auto place = V::mul_q15(V::sub_i16(x, middle), inverse);
  const auto s = V::template shift_left<3>(V::min_i16(V::max_i16(place, V::splat_i16(-4095)), V::splat_i16(4095)));
  const auto square = V::mul_q15(s, s);
  const auto bend = V::add_i16(V::mul_q15(square, fraction(0.13156)), fraction(-0.36823));
  const auto t = V::add_i16(s, V::mul_q15(s, V::add_i16(V::mul_q15(square, bend), fraction(0.24))));
  // 7.5 t + 7.5, with 11 bits after the point.
  return V::template shift_right<11>(V::add_i16(V::mul_q15(t, fraction(7.5 / 16)), V::splat_i16(15 * 1024 + 1024)));
}

// A part's codes in a book, their entries, and the sum of squared differences, in units of 1 / kQ4Fine.
template <class V>
struct Q4Fit {
  Q4Book book;
  typename V::I8 codes, entries;
  std::int32_t error;

  static Q4Fit of(const typename V::I16 (&x)[2], Q4Book book) {
    const auto middle = V::splat_i16(book.middle()), inverse = V::splat_i16(book.inverse());
    const auto codes = V::narrow(q4_codes<V>(x[0], middle, inverse), q4_codes<V>(x[1], middle, inverse));
    const auto entries = V::look_up(book.entries(), codes);
    const auto off = [](auto weights, auto thirds) { return V::sub_i16(weights, V::mul_i16(thirds, V::splat_i16(3 * kQ4Fine))); };
    const auto low = off(x[0], V::low_i16(entries)), high = off(x[1], V::high_i16(entries));
    return {book, codes, entries, V::sum_i32(V::dot(low, low, V::dot(high, high, V::zero_i32())))};
  }
};

// A book that fits a part well. It starts with the levels just above the ends, -below and above. One level less clips the ends
// and makes finer steps; higher levels shift the steps, and are tried where that did not help. The best level for the upper end
// is found first, then the one for the lower end.
template <class V>
Q4Fit<V> q4_fit(const typename V::I16 (&x)[2], float below, float above) {
  const auto level_over = [](float end) {
    return static_cast<int>(std::clamp(std::ceil((2 * end - 89.0f) / 11.0f), 0.0f, kQ4Levels - 1.0f));
  };
  const int low = level_over(below), high = level_over(above);
  auto best = Q4Fit<V>::of(x, {low, high});
  const auto improves = [&](int low, int high) {
    if (std::min(low, high) < 0 || std::max(low, high) >= kQ4Levels) return false;
    const auto fit = Q4Fit<V>::of(x, {low, high});
    const bool better = fit.error < best.error;
    if (better) best = fit;
    return better;
  };
  if (!improves(low, high - 1)) {
    improves(low, high + 1);
    improves(low, high + 2);
  }
  const int best_high = best.book.high;
  if (!improves(low - 1, best_high)) {
    improves(low + 1, best_high);
    improves(low + 2, best_high);
  }
  return best;
}

// Where row j has the codes of part p, and its book; parts: number of parts in a row.
struct Q4Place {
  std::int64_t codes, book;
  int shift;
};
inline Q4Place q4_place_of(std::int64_t j, std::int64_t p, std::int64_t parts) {
  const std::int64_t at = j / kPanelWidth * parts + p, column = j % kPanelWidth;
  return {(at * 4 + column % 4) * kQ4Part, at * kPanelWidth + column, column < 4 ? 0 : 4};
}

// Quantises and packs row j of the matrix, [k]. Rows may come in any order.
template <class V>
void quantize_q4_row_body(const PackedQ4& packed, std::int64_t j, const float* row, std::int64_t k) {
  constexpr std::int64_t kGroup = kQuantGroup<std::int8_t>;
  const std::int64_t groups = padded_depth<std::int8_t>(k) / kGroup;
  for (std::int64_t g = 0; g < groups; ++g) {
    const std::int64_t begin = g * kGroup, end = std::min(begin + kGroup, k);
    auto largest = V::splat(0.0f);
    std::int64_t i = begin;
    for (; i + V::kLanes <= end; i += V::kLanes) largest = V::max(largest, V::abs(V::load(row + i)));
    if (i < end) largest = V::max(largest, V::abs(V::load_partial(row + i, static_cast<int>(end - i))));
    const float scale = V::max_lane(largest) / 127;
    const auto inverse = V::splat(finite_or_zero(1 / scale));
    auto sum = V::zero_i32(), along = sum, squares = sum;  // the ratio of the last two is the best scale
    for (std::int64_t at = begin; at < end; at += kQ4Part) {
      const std::int64_t count = std::min(kQ4Part, end - at);
      auto below = V::splat(0.0f), above = below;
      typename V::F32 biased[4];
      for (int i = 0; i < kQ4Part; i += V::kLanes) {
        const int lanes = static_cast<int>(std::clamp<std::int64_t>(count - i, 0, V::kLanes));
        // A weight that is no number becomes the least: max takes the first operand.
        const auto scaled = V::mul(lanes == V::kLanes ? V::load(row + at + i) : V::load_partial(row + at + i, lanes), inverse);
        const auto x = V::max(V::splat(-127.0f), scaled);
        above = V::max(above, x);
        below = V::max(below, V::sub(V::splat(0.0f), x));
        biased[i / V::kLanes] = V::add(V::mul(x, V::splat(kQ4Fine)), V::splat(kRoundingBias));
      }
      const typename V::I16 x[2] = {V::low_bits(biased[0], biased[1]), V::low_bits(biased[2], biased[3])};
      auto fit = q4_fit<V>(x, V::max_lane(below), V::max_lane(above));
      const Q4Place place = q4_place_of(j, at / kQ4Part, groups * kGroup / kQ4Part);
      packed.books[place.book] = static_cast<std::uint8_t>(fit.book.low * kQ4Levels + fit.book.high);
      V::store_codes(packed.codes + place.codes, fit.codes, place.shift);
      if (count < kQ4Part) fit.entries = V::first(fit.entries, static_cast<int>(count));
      const auto low = V::low_i16(fit.entries), high = V::high_i16(fit.entries), ones = V::splat_i16(1);
      sum = V::dot(low, ones, V::dot(high, ones, sum));
      along = V::dot(low, x[0], V::dot(high, x[1], along));
      squares = V::dot(low, low, V::dot(high, high, squares));
    }
    const std::int64_t at = (j / kPanelWidth * groups + g) * kPanelWidth + j % kPanelWidth;
    const auto both = static_cast<float>(V::sum_i32(along)), own = static_cast<float>(V::sum_i32(squares));
    packed.scales[at] = own > 0 ? scale * (both / (own * kQ4Fine)) : 0.0f;
    if (packed.sums) packed.sums[at] = V::sum_i32(sum);
  }
}

// Weight i of row j, in units of its group's scale.
inline std::int8_t q4_weight(const PackedQ4& packed, std::int64_t j, std::int64_t i, std::int64_t k) {
  const Q4Place place = q4_place_of(j, i / kQ4Part, padded_depth<std::int8_t>(k) / kQ4Part);
  const int code = packed.codes[place.codes + i % kQ4Part] >> place.shift & 0xF;
  return kQ4Entries[packed.books[place.book] * kQ4Codes + code];
}

// n columns, panel by panel, in gemm_q8's layout with kStep neighbours together. Where k ends inside a group, zeros fill the rest,
// because a book need not contain a zero.
template <class V, int kStep>
void unpack_q4_body(const UnpackQ4& unpack) {
  const std::int64_t depth = padded_depth<std::int8_t>(unpack.k);
  const std::uint8_t* codes = unpack.codes;
  const std::uint8_t* books = unpack.books;
  std::int8_t* out = unpack.out;
  for (std::int64_t col = 0; col < unpack.n; col += kPanelWidth) {
    std::int8_t* const panel = out;
    for (std::int64_t p = 0; p < depth / kQ4Part; ++p) {
      V::template unpack_codes<kStep>(codes, books, kQ4Entries.data(), out);
      codes += kPanelWidth * kQ4Part / 2;
      books += kPanelWidth;
      out += kPanelWidth * kQ4Part;
    }
    for (std::int64_t i = unpack.k; i < depth; ++i) {
      for (std::int64_t c = 0; c < kPanelWidth; ++c) panel[(i / kStep * kPanelWidth + c) * kStep + i % kStep] = 0;
    }
  }
}

}  // namespace wattn
