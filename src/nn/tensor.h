// Tensor: f32 numbers with a shape, row-major, that own their memory. What the building blocks take and give.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "core/tensor_view.h"
#include "ops/compute.h"

namespace wattn::nn {

struct Tensor {
  Shape dims;
  std::vector<float> data;

  // Zeros. A shape of 2^29 numbers and more is an OutOfMemoryError.
  static Result<Tensor> zeros(Shape dims);
  // dims known to be those of data.
  static Tensor of(Shape dims, std::vector<float> data) { return {std::move(dims), std::move(data)}; }

  int rank() const { return static_cast<int>(dims.size()); }
  std::int64_t size() const { return static_cast<std::int64_t>(data.size()); }
  std::int64_t dim(int i) const { return dims[static_cast<std::size_t>(i < 0 ? i + rank() : i)]; }  // -1: the last one
  std::int64_t rows() const { return dims.empty() || dim(-1) == 0 ? 0 : size() / dim(-1); }         // along all but the last
  const float* at(std::int64_t i) const { return data.data() + i; }
  float* at(std::int64_t i) { return data.data() + i; }
};

// What runs the kernels: one thread, the same bits in every build.
const Compute& compute();

// where: "nn.Linear", for messages.
Error wrong_shape(std::string_view where, std::string_view what, std::string_view expected, const Shape& found);
Result<int> checked_dim(std::string_view where, std::int64_t dim, int rank);  // -rank <= dim < rank, made positive

// Shapes joined as NumPy does: aligned at the end, each pair equal or one of them 1.
Result<Shape> broadcast(std::string_view where, const Shape& a, const Shape& b);
// For walking a tensor as though it had the shape `to`: the step of each dimension, 0 where it is repeated.
std::vector<std::int64_t> broadcast_strides(const Shape& from, const Shape& to);
// Where element i of the shape `to` lies in a tensor with such strides.
std::int64_t broadcast_offset(std::int64_t i, const Shape& to, const std::vector<std::int64_t>& strides);

}  // namespace wattn::nn
