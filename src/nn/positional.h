// Positional encodings: tables added to the input, biases and factors of the scores, and rotations of queries and keys.
#pragma once

#include <cstdint>
#include <span>

#include "nn/tensor.h"

namespace wattn::nn {

enum class SinusoidalForm : std::uint8_t {
  kVaswani,  // sin(p / 10000^(2i / d)) in column 2i, cos of the same in column 2i + 1; arXiv 1706.03762 3.5
  kNotes,    // for even column i: sin(p / 10000^(2i / d)) in column i, cos(p / 10000^(2(i + 1) / d)) in column i + 1
};
// [length, dim]
Result<Tensor> sinusoidal(std::int64_t length, std::int64_t dim, SinusoidalForm form = SinusoidalForm::kVaswani,
                          double base = 10000);

// Offsets key - query, [queries, keys], for queries after `past` earlier ones.
Result<Tensor> relative_offsets(std::int64_t queries, std::int64_t keys, std::int64_t past = 0);
// The row of an offset in a table for -(r - 1) .. r - 1, to which it is clamped.
std::int64_t relative_row(std::int64_t offset, std::int64_t table_rows);
// table [2r - 1] or [2r - 1, heads] -> [queries, keys] or [heads, queries, keys]: one number per offset, to add to or multiply with
// the scores; arXiv 1803.02155 with scalars.
Result<Tensor> relative_bias(const Tensor& table, std::int64_t queries, std::int64_t keys, std::int64_t past = 0);
// The second term of q (k + pi), unscaled: q [..., queries, d], table [2r - 1, d] -> [..., queries, keys]; arXiv 1803.02155.
Result<Tensor> relative_scores(const Tensor& q, const Tensor& table, std::int64_t keys, std::int64_t past = 0);

struct T5Buckets {
  bool bidirectional = true;
  std::int64_t num_buckets = 32;
  std::int64_t max_distance = 128;
};
// Bucket of each offset, [queries, keys]; arXiv 1910.10683.
Result<Tensor> t5_buckets(std::int64_t queries, std::int64_t keys, const T5Buckets& buckets, std::int64_t past = 0);
// table [num_buckets, heads] -> [heads, queries, keys], to add to the scores.
Result<Tensor> t5_bias(const Tensor& table, std::int64_t queries, std::int64_t keys, const T5Buckets& buckets,
                       std::int64_t past = 0);

// Slope of each head, [heads]; arXiv 2108.12409.
Result<Tensor> alibi_slopes(std::int64_t heads);
// -slope * |key - query|: [heads, queries, keys], to add to the scores.
Result<Tensor> alibi_bias(std::int64_t heads, std::int64_t queries, std::int64_t keys, std::int64_t past = 0);

struct Rotary {
  double base = 10000;
  bool interleaved = false;  // pairs (2i, 2i + 1), as in the paper; else (i, i + d / 2), as in most checkpoints
  std::int64_t first = 0;    // position of the first row
};
// Rotates each pair of x [..., seq, d] by position * base^(-2i / d); arXiv 2104.09864. d is even.
Result<Tensor> rotary(const Tensor& x, const Rotary& rotary);
// In place, for heads side by side: x [..., seq, heads * d].
void rotate(Tensor& x, std::int64_t seq, std::int64_t heads, const Rotary& rotary);

}  // namespace wattn::nn
