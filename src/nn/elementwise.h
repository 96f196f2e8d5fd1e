// Arithmetic of tensors, reductions, dropout and random numbers, with torch's names and gradients.
#pragma once

#include <cstdint>
#include <vector>

#include "core/random.h"
#include "nn/tensor.h"

namespace wattn::nn {

// Element by element, broadcast.
Result<Tensor> add(const Tensor& a, const Tensor& b);
Result<Tensor> sub(const Tensor& a, const Tensor& b);
Result<Tensor> mul(const Tensor& a, const Tensor& b);
Result<Tensor> div(const Tensor& a, const Tensor& b);
// x times a number.
Tensor scaled(const Tensor& x, double factor);

enum class Unary : std::uint8_t { kExp, kLog, kSqrt, kAbs, kSin, kCos };
Tensor unary(const Tensor& x, Unary f);
Tensor pow(const Tensor& x, double exponent);
// Between least and most; the gradient is 0 outside.
Tensor clamp(const Tensor& x, double least, double most);
// value where mask, which is broadcast to x, is not 0.
Result<Tensor> masked_fill(const Tensor& x, const Tensor& mask, double value);

// Over some dims, or all if none is given; those become 1 if keep_dim, and are removed otherwise.
Result<Tensor> sum(const Tensor& x, const std::vector<std::int64_t>& dims, bool keep_dim, bool mean);
// The largest of each slice along dim, and as weights its first index; of dims none: of all numbers, without an index. Negative:
// the smallest. NaN counts as both.
Result<Outputs> largest(const Tensor& x, const std::vector<std::int64_t>& dims, bool keep_dim, bool negative);

// Zeros with probability p, everything else times 1 / (1 - p); arXiv 1207.0580.
Result<Tensor> dropout(const Tensor& x, double p, Generator& random);
// Uniform in [0, 1), or normal.
Result<Tensor> random_tensor(const Shape& dims, std::uint64_t seed, bool normal);

}  // namespace wattn::nn
