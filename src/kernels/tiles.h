// Tiling of matrix products: a tile of a few rows by 8 columns keeps its sums in registers. It reads the k-th words of its rows
// side by side (words of 32 bits: a float, two int16, four int8). So a block of rows is first interleaved on the stack. The inner
// loop then needs one address instead of one per row.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "kernels/kernels.h"
#include "kernels/math.h"
#include "kernels/pack.h"
#include "kernels/rows.h"

namespace wattn {

template <class F, int... i>
[[gnu::always_inline]] inline void unrolled_over(const F& f, std::integer_sequence<int, i...>) {
  (f(std::integral_constant<int, i>{}), ...);
}

// Calls f(std::integral_constant<int, i>) for i from 0 to kCount - 1: a loop that is always unrolled, so that arrays indexed by i
// stay in registers. In inner loops f must be a lambda marked always_inline: a compiler that finds it too large would keep those
// arrays in memory, at half the speed.
template <int kCount, class F>
[[gnu::always_inline]] inline void unrolled(const F& f) {
  unrolled_over(f, std::make_integer_sequence<int, kCount>{});
}

// c[0 .. count] = sum + bias, for one row of a tile; bias may be null.
template <class V>
[[gnu::always_inline]] inline void finish_tile_row(typename V::F32 sum_c03, typename V::F32 sum_c47, const float* bias, float* c,
                                                   int count) {
  if (count == kPanelWidth) {
    if (bias) {
      sum_c03 = V::add(sum_c03, V::load(bias));
      sum_c47 = V::add(sum_c47, V::load(bias + 4));
    }
    V::store(c, sum_c03);
    V::store(c + 4, sum_c47);
    return;
  }
  const int count_c03 = std::min(count, 4);
  const int count_c47 = count - count_c03;
  if (bias) {
    sum_c03 = V::add(sum_c03, V::load_partial(bias, count_c03));
    sum_c47 = V::add(sum_c47, V::load_partial(bias + count_c03, count_c47));
  }
  V::store_partial(c, sum_c03, count_c03);
  V::store_partial(c + count_c03, sum_c47, count_c47);
}

inline constexpr std::int64_t kWord = 4;  // bytes

// Sums begin with a zero loaded from here through opaque(). Where V8 joins pairs of 128-bit operations into 256-bit ones
// (--wasm-revectorize), it needs one zero for both halves; of constants it makes several.
template <class T>
inline constexpr T kZero = 0;

// One call's part of a tile: its rows from row and its columns from col, and words begin to begin + depth of each row. If begin is
// not 0, c holds the sums so far.
struct TilePart {
  const std::byte* a;  // [depth][rows] words
  std::ptrdiff_t row, col, begin, depth;
  bool last;  // whether this is the last part: the tile is finished here
};

// sums[8 * r + j] = c[r, j], 0 from column count. Not inlined: few products need it, and there are many tiles.
[[gnu::noinline]] inline void load_sums(const float* c, std::int64_t c_stride, int rows, int count, float* sums) {
  for (int r = 0; r < rows; ++r, c += c_stride, sums += kPanelWidth) {
    for (int j = 0; j < kPanelWidth; ++j) sums[j] = j < count ? c[j] : 0.0f;
  }
}

// The initial sums of a part of a tile.
template <class V, int kRows>
[[gnu::always_inline]] inline void begin_tile(const TilePart& part, const float* c, std::int64_t c_stride, int count,
                                              typename V::F32* sum_c03, typename V::F32* sum_c47) {
  if (part.begin == 0) {
    const typename V::F32 zero = V::splat_at(opaque(&kZero<float>));
    unrolled<kRows>([&](auto r) __attribute__((always_inline)) { sum_c03[r] = sum_c47[r] = zero; });
    return;
  }
  float sums[kRows * kPanelWidth];
  load_sums(c, c_stride, kRows, count, sums);
  unrolled<kRows>([&](auto r) __attribute__((always_inline)) {
    sum_c03[r] = V::load(sums + r * kPanelWidth);
    sum_c47[r] = V::load(sums + r * kPanelWidth + 4);
  });
}

// Calls f<rows>(row) for the tiles of rows begin to end: as few as possible, of equal sizes, because rows of a small tile cost
// most. 16 rows in tiles of four cost 2 % less than in two of five and two of three. Where the largest tile has four rows, only
// the last two tiles are equal: one 2-row tile after full tiles is faster than three 3-row tiles. Where the largest has six, none
// has five: that would save little, and each size adds code.
template <int kMostRows, class F>
void for_each_tile_row(std::int64_t begin, std::int64_t end, const F& f) {
  for (std::int64_t row = begin; row < end;) {
    const int left = static_cast<int>(end - row);
    const int tiles = (left + kMostRows - 1) / kMostRows;
    int rows = kMostRows > 4 || tiles <= 2 ? (left + tiles - 1) / tiles : kMostRows;
    if (kMostRows == 6 && rows == 5) rows = left == 5 ? 3 : 6;
    unrolled<kMostRows>([&](auto i) {
      if constexpr (kMostRows != 6 || i + 1 != 5) {
        if (rows == i + 1) f.template operator()<i + 1>(row);
      }
    });
    row += rows;
  }
}

// Interleaves rows of words, row_bytes apart: [depth][rows].
template <class V>
[[gnu::noinline]] void interleave_rows(const std::byte* from, std::int64_t row_bytes, std::int64_t depth, int rows, std::byte* to) {
  const int vector_rows = rows >= 4 ? 4 : 0;
  std::int64_t k = 0;
  if (vector_rows == 4) {
    for (; k + 4 <= depth; k += 4) V::interleave_4x4(from + k * kWord, row_bytes, to + k * rows * kWord, rows * kWord);
  }
  const auto copy_words = [&](int r, std::int64_t begin) {
    for (std::int64_t at = begin; at < depth; ++at)
      std::memcpy(to + (at * rows + r) * kWord, from + r * row_bytes + at * kWord, kWord);
  };
  for (int r = 0; r < rows; ++r) copy_words(r, r < vector_rows ? k : 0);
}

// Calls f<rows>(part) for all tiles of a product of a, [m, words] with rows row_bytes apart, into n columns. All rows of a block
// use a strip of the right operand before the next strip: several panels that stay in the second-level cache. So the operand is
// read once per block. The first rows read a strip from memory while they multiply. Strips of one panel restarted the
// processor's prefetching so often that 8 tokens took 18 % longer.
template <class V, int kMostRows, class F>
void for_each_tile(const void* a, std::int64_t row_bytes, std::int64_t words, std::int64_t m, std::int64_t n, const F& f) {
  constexpr std::int64_t kBlockWords = 3 << 14;  // of rows, 192 KB: helper threads have a stack of 256 KB
  constexpr std::int64_t kStripWords = 1 << 15;
  // Rows of a block, if a has them. Longer rows are split into parts, with 16 those of more than 3,072 words. Parts cost time,
  // where V8 of Node 24 multiplies 32 x 1536 by 1536 x 384 in f32 20 % faster than with parts of 1,024.
  constexpr std::int64_t kLeastRows = 16;
  constexpr std::int64_t kWholeGroups = 32;  // words: no part ends inside a group of quant.h
  const std::int64_t most_depth = kBlockWords / std::clamp<std::int64_t>(m, 1, kLeastRows) / kWholeGroups * kWholeGroups;
  const std::int64_t fitting_rows = kBlockWords / std::clamp<std::int64_t>(words, 1, most_depth);
  const std::int64_t block_rows = fitting_rows >= m ? m : fitting_rows / kMostRows * kMostRows;
  alignas(16) std::byte block[kBlockWords * kWord];
  for (std::int64_t top = 0; top < m; top += block_rows) {
    const std::int64_t end = std::min(top + block_rows, m);
    std::int64_t begin = 0;
    do {
      const std::int64_t depth = std::min(most_depth, words - begin);
      const bool last = begin + depth == words;
      const auto block_row = [&](std::int64_t row) { return block + (row - top) * depth * kWord; };
      for_each_tile_row<kMostRows>(top, end, [&]<int kRows>(std::int64_t row) {
        interleave_rows<typename V::Exact>(static_cast<const std::byte*>(a) + row * row_bytes + begin * kWord, row_bytes, depth,
                                           kRows, block_row(row));
      });
      const std::int64_t strip_panels = kStripWords / kPanelWidth / std::max(depth, std::int64_t{1});
      const std::int64_t strip = std::max(strip_panels, std::int64_t{1}) * kPanelWidth;
      for (std::int64_t left = 0; left < n; left += strip) {
        const std::int64_t right = std::min(left + strip, n);
        for_each_tile_row<kMostRows>(top, end, [&]<int kRows>(std::int64_t row) {
          for (std::int64_t col = left; col < right; col += kPanelWidth) {
            f.template operator()<kRows>(TilePart{block_row(row), static_cast<std::ptrdiff_t>(row),
                                                  static_cast<std::ptrdiff_t>(col), static_cast<std::ptrdiff_t>(begin),
                                                  static_cast<std::ptrdiff_t>(depth), last});
          }
        });
      }
      begin += depth;
    } while (begin < words);
  }
}

}  // namespace wattn
