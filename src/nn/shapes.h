// Functions that move numbers and compute none, with torch's names: views there are copies here.
#pragma once

#include <cstdint>
#include <vector>

#include "nn/tensor.h"

namespace wattn::nn {

// The same numbers in another shape; one of dims may be -1.
Result<Tensor> reshape(const Tensor& x, const Shape& dims);
// Dimension i of the result is dimension order[i] of x.
Result<Tensor> permute(const Tensor& x, const std::vector<std::int64_t>& order);
// Broadcast to dims; -1 keeps a dimension.
Result<Tensor> expand(const Tensor& x, const Shape& dims);
// begin[i], begin[i] + step[i], ... below end[i] of each dimension; there is one of each for every dimension, all in range.
Result<Tensor> slice(const Tensor& x, const Shape& begin, const Shape& end, const Shape& step);
// Concatenated along dim; the other dimensions are equal.
Result<Tensor> cat(const std::vector<const Tensor*>& parts, std::int64_t dim);
// out[i] = x[index[i]] along dim, as torch.index_select; index: whole numbers.
Result<Tensor> index_select(const Tensor& x, std::int64_t dim, const Tensor& index);

}  // namespace wattn::nn
