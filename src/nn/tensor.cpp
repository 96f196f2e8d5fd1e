#include "nn/tensor.h"

#include <algorithm>

namespace wattn::nn {

Result<Tensor> Tensor::zeros(Shape dims) {
  constexpr std::int64_t kMost = std::int64_t{1} << 29;
  const auto count = num_elements(dims);
  if (!count) return input_error("nn: expected a valid shape of a tensor, found " + to_string(dims));
  if (*count >= kMost) return out_of_memory_error("nn: a tensor of shape " + to_string(dims) + " exceeds the limit of 2 GiB");
  std::vector<float> data(static_cast<std::size_t>(*count));
  return Tensor::of(std::move(dims), std::move(data));
}

const Compute& compute() {
  static ThreadTeam alone;
  static const Compute kCompute{exact_kernels(), alone};
  return kCompute;
}

Result<Outputs> to_outputs(Result<Tensor> output) {
  if (!output.ok()) return output.error();
  return Outputs{std::move(output).value(), {}};
}

Result<Tensor> output_of(Result<Outputs> outputs) {
  if (!outputs.ok()) return outputs.error();
  return std::move(outputs.value().output);
}

Error wrong_shape(std::string_view where, std::string_view what, std::string_view expected, const Shape& found) {
  return input_error(std::string(where) + ": expected " + std::string(what) +
                     (expected.starts_with('[') ? " of shape " : " of a shape ") + std::string(expected) + ", found " +
                     to_string(found));
}

Result<int> checked_dim(std::string_view where, std::int64_t dim, int rank) {
  if (dim < -rank || dim >= rank) {
    return input_error(std::string(where) + ": expected dim in -" + std::to_string(rank) + " .. " + std::to_string(rank - 1) +
                       ", found " + std::to_string(dim));
  }
  return static_cast<int>(dim < 0 ? dim + rank : dim);
}

Result<Shape> broadcast(std::string_view where, const Shape& a, const Shape& b) {
  Shape out(std::max(a.size(), b.size()));
  for (std::size_t i = 1; i <= out.size(); ++i) {
    const std::int64_t from_a = i <= a.size() ? a[a.size() - i] : 1;
    const std::int64_t from_b = i <= b.size() ? b[b.size() - i] : 1;
    if (from_a != from_b && from_a != 1 && from_b != 1) {
      return input_error(std::string(where) + ": shapes " + to_string(a) + " and " + to_string(b) + " cannot be broadcast");
    }
    out[out.size() - i] = from_a == 1 ? from_b : from_a;
  }
  return out;
}

std::vector<std::int64_t> broadcast_strides(const Shape& from, const Shape& to) {
  std::vector<std::int64_t> strides(to.size(), 0);
  std::int64_t stride = 1;
  for (std::size_t i = 1; i <= from.size(); ++i) {
    const std::int64_t dim = from[from.size() - i];
    if (dim != 1) strides[to.size() - i] = stride;
    stride *= dim;
  }
  return strides;
}

std::int64_t broadcast_offset(std::int64_t i, const Shape& to, const std::vector<std::int64_t>& strides) {
  std::int64_t offset = 0;
  for (std::size_t d = to.size(); d-- > 0;) {
    offset += i % to[d] * strides[d];
    i /= to[d];
  }
  return offset;
}

}  // namespace wattn::nn
