// Tensor: f32 values with a shape, row-major, owning their memory: the operands of building blocks.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "core/tensor_view.h"
#include "nn/tape.h"
#include "ops/compute.h"

namespace wattn::nn {

struct Tensor {
  Shape dims;
  std::vector<float> data;
  // Where its gradient goes; null: nowhere. Copies share it, also with other dims. Whoever changes the data calls record().
  NodePtr node{};

  // Zeros; an OutOfMemoryError from 2^29 numbers on.
  static Result<Tensor> zeros(Shape dims);
  // data must have as many numbers as dims say.
  static Tensor of(Shape dims, std::vector<float> data) { return {std::move(dims), std::move(data), {}}; }

  int rank() const { return static_cast<int>(dims.size()); }
  std::int64_t size() const { return static_cast<std::int64_t>(data.size()); }
  std::int64_t dim(int i) const { return dims[static_cast<std::size_t>(i < 0 ? i + rank() : i)]; }  // -1: the last one
  std::int64_t rows() const { return dims.empty() || dim(-1) == 0 ? 0 : size() / dim(-1); }  // product of all dims but the last
  const float* at(std::int64_t i) const { return data.data() + i; }
  float* at(std::int64_t i) { return data.data() + i; }
};

// Exact kernels on one thread: the same bits in every build.
const Compute& compute();

struct Outputs {
  Tensor output;
  Tensor weights;  // of attention, if requested
};
Result<Outputs> to_outputs(Result<Tensor> output);
inline Result<Outputs> to_outputs(Result<Outputs> outputs) { return outputs; }
Result<Tensor> output_of(Result<Outputs> outputs);

// where: "nn.Linear", for messages.
Error wrong_shape(std::string_view where, std::string_view what, std::string_view expected, const Shape& found);
Result<int> checked_dim(std::string_view where, std::int64_t dim, int rank);  // -rank <= dim < rank, made positive

// NumPy's broadcasting: shapes are aligned at the end; each pair of dims is equal or one is 1.
Result<Shape> broadcast(std::string_view where, const Shape& a, const Shape& b);
// Strides to read a tensor as if it had the shape `to`; 0 where a dim is repeated.
std::vector<std::int64_t> broadcast_strides(const Shape& from, const Shape& to);
// Offset of element i of the shape `to` with such strides.
std::int64_t broadcast_offset(std::int64_t i, const Shape& to, const std::vector<std::int64_t>& strides);

// Gives out the node of a function of these inputs, which may be null, or no node where nothing is recorded. make() returns the
// node's Backward, with copies of what that reads.
template <class Make>
void record(Tensor& out, std::initializer_list<const Tensor*> inputs, const Make& make) {
  out.node.reset();
  if (records(inputs)) new_node(out, inputs.begin(), inputs.size()).backward = make();
}

// A dimension as `outer` blocks of `count` elements that are `inner` apart.
struct Slices {
  std::int64_t outer = 1, count = 1, inner = 1;
  Slices(const Shape& dims, int dim) {
    for (int i = 0; i < static_cast<int>(dims.size()); ++i) {
      (i < dim ? outer : i == dim ? count : inner) *= dims[static_cast<std::size_t>(i)];
    }
  }
  // Calls f(offset) with the first element of each slice.
  template <class F>
  void each(const F& f) const {
    for (std::int64_t o = 0; o < outer; ++o) {
      for (std::int64_t i = 0; i < inner; ++i) f(o * count * inner + i);
    }
  }
};

}  // namespace wattn::nn
