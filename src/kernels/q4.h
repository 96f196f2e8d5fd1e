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
inline constexpr int kQ4Tried[] = {-1, 1, 2};  // offsets from the first level, tried too

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

// A book, for finding the codes of weights that are scaled to -127 .. 127.
struct Q4Book {
  int low, high;  // levels
  float middle, half;

  static Q4Book of(int low, int high) {
    const auto quarter = [](int sum) { return 0.25f * static_cast<float>(sum); };
    return {low, high, quarter(q4_twice_level(high) - q4_twice_level(low)), quarter(q4_twice_level(high) + q4_twice_level(low))};
  }
};

// s: (weight - middle) / half. The nearest codes + kRoundingBias: solves s = 0.8 t + 0.2 t^3 for t, within 0.004 (least squares).
template <class V>
typename V::F32 q4_biased_codes(typename V::F32 s) {
  const auto inside = V::min(V::max(s, V::splat(-1.0f)), V::splat(1.0f));
  const auto square = V::mul(inside, inside);
  const auto bend = V::add(V::splat(-0.36823f), V::mul(square, V::splat(0.13156f)));
  const auto t = V::mul(inside, V::add(V::splat(1.24f), V::mul(square, bend)));
  return V::add(V::add(V::mul(t, V::splat(7.5f)), V::splat(7.5f)), V::splat(kRoundingBias));
}

template <class V>
typename V::F32 q4_in_book(const float* x, const Q4Book& book) {
  return V::mul(V::sub(V::load(x), V::splat(book.middle)), V::splat(1 / book.half));
}

// The sum of squared differences between x, [16], and its entries in a book, times three and before rounding.
template <class V>
float q4_error(const float* x, const Q4Book& book) {
  auto squares = V::splat(0.0f);
  for (int i = 0; i < kQ4Part; i += V::kLanes) {
    const auto s = q4_in_book<V>(x + i, book);
    const auto code = V::sub(q4_biased_codes<V>(s), V::splat(kRoundingBias));
    const auto t = V::sub(V::mul(code, V::splat(2.0f / 15)), V::splat(1.0f));
    const auto entry = V::mul(t, V::add(V::splat(0.8f), V::mul(V::splat(0.2f), V::mul(t, t))));
    const auto off = V::sub(s, entry);
    squares = V::add(squares, V::mul(off, off));
  }
  return V::sum(squares) * (book.half * book.half);
}

// A book that fits x, [16], well. It starts with the levels just above the ends. One level less clips the ends and makes finer
// steps; higher levels shift the steps. The best level for the upper end is found first, then the one for the lower end.
template <class V>
Q4Book q4_book(const float* x) {
  auto below = V::splat(0.0f), above = below;  // of -x, of x
  for (int i = 0; i < kQ4Part; i += V::kLanes) {
    above = V::max(above, V::load(x + i));
    below = V::max(below, V::sub(V::splat(0.0f), V::load(x + i)));
  }
  const auto level_over = [](float end) {
    return static_cast<int>(std::clamp(std::ceil((2 * end - 89.0f) / 11.0f), 0.0f, kQ4Levels - 1.0f));
  };
  const int low = level_over(V::max_lane(below)), high = level_over(V::max_lane(above));
  Q4Book best = Q4Book::of(low, high);
  float least_error = q4_error<V>(x, best);
  const auto consider = [&](int low, int high) {
    if (std::min(low, high) < 0 || std::max(low, high) >= kQ4Levels) return;
    const Q4Book book = Q4Book::of(low, high);
    const float error = q4_error<V>(x, book);
    if (error >= least_error) return;
    best = book;
    least_error = error;
  };
  for (const int off : kQ4Tried) consider(low, high + off);
  const int best_high = best.high;
  for (const int off : kQ4Tried) consider(low + off, best_high);
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
    float largest = 0;
    for (std::int64_t i = begin; i < end; ++i) largest = std::max(largest, std::abs(row[i]));
    const float scale = largest / 127;
    const float inverse = finite_or_zero(1 / scale);
    std::int32_t sum = 0;
    float along = 0, squares = 0;  // their ratio is the best scale
    for (std::int64_t at = begin; at < end; at += kQ4Part) {
      float x[kQ4Part]{};
      const std::int64_t count = std::min(kQ4Part, end - at);
      for (std::int64_t i = 0; i < count; ++i) x[i] = row[at + i] * inverse;
      const Q4Book book = q4_book<V>(x);
      const int book_at = book.low * kQ4Levels + book.high;
      const Q4Place place = q4_place_of(j, at / kQ4Part, groups * kGroup / kQ4Part);
      packed.books[place.book] = static_cast<std::uint8_t>(book_at);
      float biased[kQ4Part];
      for (int i = 0; i < kQ4Part; i += V::kLanes) V::store(biased + i, q4_biased_codes<V>(q4_in_book<V>(x + i, book)));
      for (std::int64_t i = 0; i < count; ++i) {
        const int code = std::bit_cast<std::int32_t>(biased[i]) - std::bit_cast<std::int32_t>(kRoundingBias);
        std::uint8_t& both = packed.codes[place.codes + i];
        both = static_cast<std::uint8_t>((both & (0xF0 >> place.shift)) | (code << place.shift));
        const std::int32_t q = kQ4Entries[book_at * kQ4Codes + code];
        sum += q;
        along += x[i] * static_cast<float>(q);
        squares += static_cast<float>(q * q);
      }
    }
    const std::int64_t at = (j / kPanelWidth * groups + g) * kPanelWidth + j % kPanelWidth;
    packed.scales[at] = squares > 0 ? scale * (along / squares) : 0.0f;
    if (packed.sums) packed.sums[at] = sum;
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
