// Products of one query with many rows, for search over vectors in floats, bytes or bits. Every build computes the same bits: sums
// of whole numbers are exact in any order, and sums of floats have the four lanes and chains of rows.h.
#pragma once

#include <cstdint>

namespace wattn {

// Rows of bytes have a multiple of this many components, rows of bits a multiple of this many bytes; the rest is zeros.
inline constexpr std::int64_t kScanStep = 16;

// out[i] = sum of query[j] * rows[i, j], j < depth, any depth.
void scan_f32(const float* query, const float* rows, std::int64_t n, std::int64_t depth, float* out);

// The same in whole numbers. The magnitudes of query are at most largest_query_step(depth), so that 32 bits hold every sum.
void scan_q8(const std::int16_t* query, const std::int8_t* rows, std::int64_t n, std::int64_t depth, std::int32_t* out);
constexpr std::int64_t largest_query_step(std::int64_t depth) {
  const std::int64_t fits = 0x7FFFFFFF / (128 * depth);
  return fits < 32767 ? fits : 32767;
}

// out[i] = number of bits that differ between query and rows[i, :], both [bytes].
void scan_bits(const std::uint8_t* query, const std::uint8_t* rows, std::int64_t n, std::int64_t bytes, std::int32_t* out);

// sum of query[j] * row[j], in floats.
float dot_q8(const float* query, const std::int8_t* row, std::int64_t depth);

// x[j] is about scale * out[j]: scale = max|x| / 127, rounded to nearest, ties to even. Returns the scale, 0 where x is all zeros.
float quantize_row_q8(const float* x, std::int64_t n, std::int8_t* out);

// out[j] is about x[j] times a positive number, with the largest magnitude `most`. The same rounding.
void quantize_query(const float* x, std::int64_t n, std::int64_t most, std::int16_t* out);

// Bit j of out is 1 where row[j] > 0. Writes depth / 8 bytes.
void sign_bits(const std::int8_t* row, std::int64_t depth, std::uint8_t* out);

// Whether |x[j]| <= most for all j. NaN is not.
bool all_within(const float* x, std::int64_t n, float most);

}  // namespace wattn
