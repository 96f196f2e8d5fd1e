#include "nn/shapes.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace wattn::nn {
namespace {

// A result of shape dims whose element with indices i_d is x's at begin + the sum of i_d * strides[d].
Result<Tensor> gather(const Tensor& x, const Shape& dims, std::int64_t begin, const std::vector<std::int64_t>& strides) {
  auto out = Tensor::zeros(dims);
  if (!out.ok()) return out;
  // Calls f(element of the result, element of x).
  const auto each = [dims, begin, strides, size = out.value().size()](const auto& f) {
    const std::int64_t columns = dims.empty() ? 1 : dims.back(), step = dims.empty() ? 0 : strides.back();
    Shape index(dims.size(), 0);
    std::int64_t from = begin;
    for (std::int64_t i = 0; i < size; i += columns) {
      for (std::int64_t j = 0; j < columns; ++j) f(i + j, from + j * step);
      for (std::size_t d = dims.size(); d-- > 1;) {
        from += strides[d - 1];
        if (++index[d - 1] < dims[d - 1]) break;
        from -= dims[d - 1] * strides[d - 1];
        index[d - 1] = 0;
      }
    }
  };
  each([&](std::int64_t i, std::int64_t from) { *out.value().at(i) = *x.at(from); });
  record(out.value(), {&x}, [&] {
    return [each](const Flow& flow) {
      float* dx = flow.to(0);
      each([&](std::int64_t i, std::int64_t from) { dx[from] += flow.dy[i]; });
    };
  });
  return out;
}

std::vector<std::int64_t> strides_of(const Shape& dims) {
  std::vector<std::int64_t> out(dims.size(), 1);
  for (std::size_t d = dims.size(); d-- > 1;) out[d - 1] = out[d] * dims[d];
  return out;
}

}  // namespace

Result<Tensor> reshape(const Tensor& x, const Shape& dims) {
  Tensor out = x;
  out.dims = dims;
  const auto unknown = std::find(out.dims.begin(), out.dims.end(), -1);
  if (unknown != out.dims.end()) {
    *unknown = 1;
    const auto known = num_elements(out.dims);
    if (known && *known > 0 && x.size() % *known == 0) *unknown = x.size() / *known;
  }
  const auto count = num_elements(out.dims);
  if (!count || *count != x.size()) {
    return input_error("nn.reshape: expected dims of " + std::to_string(x.size()) + " numbers, of which one may be -1, for shape " +
                       to_string(x.dims) + ", found " + to_string(dims));
  }
  return out;
}

Result<Tensor> permute(const Tensor& x, const std::vector<std::int64_t>& order) {
  std::vector<bool> seen(x.dims.size());
  Shape dims;
  std::vector<std::int64_t> strides;
  const auto from = strides_of(x.dims);
  for (const std::int64_t dim : order) {
    const auto at = checked_dim("nn.permute", dim, x.rank());
    if (!at.ok()) return at.error();
    const auto d = static_cast<std::size_t>(at.value());
    if (seen[d]) return input_error("nn.permute: expected each dim once, found dim " + std::to_string(dim) + " twice");
    seen[d] = true;
    dims.push_back(x.dims[d]);
    strides.push_back(from[d]);
  }
  if (order.size() != x.dims.size()) {
    return input_error("nn.permute: expected " + std::to_string(x.dims.size()) + " dims, found " + std::to_string(order.size()));
  }
  return gather(x, dims, 0, strides);
}

Result<Tensor> expand(const Tensor& x, const Shape& dims) {
  Shape to = dims;
  for (std::size_t i = 1; i <= std::min(to.size(), x.dims.size()); ++i) {
    std::int64_t& dim = to[to.size() - i];
    if (dim == -1) dim = x.dims[x.dims.size() - i];
  }
  const auto joined = broadcast("nn.expand", x.dims, to);
  if (!joined.ok()) return joined.error();
  if (joined.value() != to)
    return input_error("nn.expand: expected a shape that " + to_string(x.dims) + " can be broadcast to, found " + to_string(dims));
  return gather(x, to, 0, broadcast_strides(x.dims, to));
}

Result<Tensor> slice(const Tensor& x, const Shape& begin, const Shape& end, const Shape& step) {
  if (begin.size() != x.dims.size() || end.size() != x.dims.size() || step.size() != x.dims.size()) {
    return input_error("nn.slice: expected " + std::to_string(x.dims.size()) + " ranges, found " + std::to_string(begin.size()));
  }
  Shape dims;
  auto strides = strides_of(x.dims);
  std::int64_t first = 0;
  for (std::size_t d = 0; d < begin.size(); ++d) {
    if (begin[d] < 0 || begin[d] > end[d] || end[d] > x.dims[d] || step[d] < 1) {
      return input_error("nn.slice: range " + std::to_string(begin[d]) + " .. " + std::to_string(end[d]) +
                         " is out of range for shape " + to_string(x.dims));
    }
    dims.push_back((end[d] - begin[d] + step[d] - 1) / step[d]);
    first += begin[d] * strides[d];
    strides[d] *= step[d];
  }
  return gather(x, dims, first, strides);
}

Result<Tensor> cat(const std::vector<const Tensor*>& parts, std::int64_t dim) {
  if (parts.empty()) return input_error("nn.cat: expected at least one tensor, found none");
  const auto at = checked_dim("nn.cat", dim, parts[0]->rank());
  if (!at.ok()) return at.error();
  const auto d = static_cast<std::size_t>(at.value());
  Shape dims = parts[0]->dims;
  dims[d] = 0;
  for (const Tensor* part : parts) {
    Shape like = part->dims;
    if (like.size() == dims.size()) like[d] = dims[d];
    if (like != dims) return wrong_shape("nn.cat", "tensors", "like the first " + to_string(parts[0]->dims), part->dims);
    dims[d] += part->dims[d];
  }
  auto out = Tensor::zeros(dims);
  if (!out.ok()) return out;
  const Slices whole(dims, at.value());
  const std::int64_t width = whole.count * whole.inner;
  // Calls f(part, its first element, the result's, elements) for each run.
  std::vector<std::int64_t> widths;
  widths.reserve(parts.size());
  for (const Tensor* part : parts) widths.push_back(part->dims[d] * whole.inner);
  const auto each = [widths, outer = whole.outer, width](const auto& f) {
    std::int64_t column = 0;
    for (std::size_t part = 0; part < widths.size(); column += widths[part++]) {
      for (std::int64_t o = 0; o < outer; ++o) f(part, o * widths[part], o * width + column, widths[part]);
    }
  };
  each([&](std::size_t part, std::int64_t from, std::int64_t to, std::int64_t count) {
    std::copy_n(parts[part]->at(from), count, out.value().at(to));
  });
  Tensor& result = out.value();
  if (std::none_of(parts.begin(), parts.end(), [](const Tensor* part) { return records({part}); })) return out;
  new_node(result, parts.data(), parts.size()).backward = [each](const Flow& flow) {
    each([&](std::size_t part, std::int64_t from, std::int64_t to, std::int64_t count) {
      if (flow.wants(part)) compute().kernels.axpy(1.0f, flow.dy + to, flow.to(part) + from, count);
    });
  };
  return out;
}

Result<Tensor> index_select(const Tensor& x, std::int64_t dim, const Tensor& index) {
  const auto at = checked_dim("nn.index_select", dim, x.rank());
  if (!at.ok()) return at.error();
  if (index.rank() != 1) return wrong_shape("nn.index_select", "index", "[n]", index.dims);
  const Slices from(x.dims, at.value());
  std::vector<std::int64_t> rows;
  for (const float i : index.data) {
    if (!(i >= 0 && i < static_cast<float>(from.count) && i == std::floor(i))) {
      return input_error("nn.index_select: expected whole numbers below " + std::to_string(from.count) + ", found " +
                         std::to_string(i));
    }
    rows.push_back(static_cast<std::int64_t>(i));
  }
  Shape dims = x.dims;
  dims[static_cast<std::size_t>(at.value())] = index.size();
  auto out = Tensor::zeros(dims);
  if (!out.ok()) return out;
  // Calls f(run of the result, run of x), each `inner` long.
  const auto each = [from, rows](const auto& f) {
    std::int64_t to = 0;
    for (std::int64_t o = 0; o < from.outer; ++o) {
      for (const std::int64_t row : rows) f(from.inner * to++, (o * from.count + row) * from.inner);
    }
  };
  each([&](std::int64_t to, std::int64_t row) { std::copy_n(x.at(row), from.inner, out.value().at(to)); });
  record(out.value(), {&x}, [&] {
    return [each, inner = from.inner](const Flow& flow) {
      each([&](std::int64_t to, std::int64_t row) { compute().kernels.axpy(1.0f, flow.dy + to, flow.to(0) + row, inner); });
    };
  });
  return out;
}

}  // namespace wattn::nn
