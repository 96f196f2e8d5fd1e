// build: -Os
#include "nn/functional.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/real_math.h"
#include "nn/elementwise.h"
#include "ops/activation.h"
#include "ops/embedding.h"
#include "ops/matmul.h"

namespace wattn::nn {
namespace {

// Replaces each slice along dim by f(row, count), which works on a contiguous copy in place.
template <class F>
Result<Tensor> over_slices(std::string_view where, const Tensor& x, std::int64_t dim, const F& f) {
  const auto at = checked_dim(where, dim, x.rank());
  if (!at.ok()) return at.error();
  const Slices slices(x.dims, at.value());
  Tensor out = x;
  std::vector<float> row(static_cast<std::size_t>(slices.count));
  slices.each([&](std::int64_t offset) {
    float* first = out.at(offset);
    for (std::int64_t j = 0; j < slices.count; ++j) row[static_cast<std::size_t>(j)] = first[j * slices.inner];
    f(row.data(), slices.count);
    for (std::int64_t j = 0; j < slices.count; ++j) first[j * slices.inner] = row[static_cast<std::size_t>(j)];
  });
  return out;
}

// Records a function over slices whose result is y: of the softmax dx = y (dy - sum of y dy), of its logarithm
// dx = dy - e^y sum of dy.
void record_softmax(const Tensor& x, std::int64_t dim, bool logarithm, Tensor& y) {
  record(y, {&x}, [&] {
    const Slices slices(x.dims, static_cast<int>(dim < 0 ? dim + x.rank() : dim));
    return [y = y.data, slices, logarithm](const Flow& flow) {
      float* dx = flow.to(0);
      slices.each([&](std::int64_t first) {
        const auto at = [&](std::int64_t j) { return first + j * slices.inner; };
        const auto y_at = [&](std::int64_t j) { return static_cast<double>(y[static_cast<std::size_t>(at(j))]); };
        double sum = 0;
        for (std::int64_t j = 0; j < slices.count; ++j) sum += (logarithm ? 1 : y_at(j)) * flow.dy[at(j)];
        for (std::int64_t j = 0; j < slices.count; ++j) {
          const double d = flow.dy[at(j)];
          dx[at(j)] += static_cast<float>(logarithm ? d - exp64(y_at(j)) * sum : y_at(j) * (d - sum));
        }
      });
    };
  });
}

// The transpose of [rows, columns].
std::vector<float> transposed(const float* x, std::int64_t rows, std::int64_t columns) {
  std::vector<float> out(static_cast<std::size_t>(rows * columns));
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) out[static_cast<std::size_t>(j * rows + i)] = x[i * columns + j];
  }
  return out;
}

// to [m, n] += a [m, k] times b [k, n], or b [n, k] if not transposed.
void add_product(const float* a, const float* b, bool b_is_transposed, std::int64_t m, std::int64_t n, std::int64_t k, float* to) {
  std::vector<float> scratch(static_cast<std::size_t>(matmul_scratch_size(n, k))), product(static_cast<std::size_t>(m * n));
  wattn::matmul(compute(),
                {.a = a,
                 .a_stride = k,
                 .b = b,
                 .b_stride = b_is_transposed ? n : k,
                 .b_is_transposed = b_is_transposed,
                 .c = product.data(),
                 .c_stride = n,
                 .m = m,
                 .n = n,
                 .k = k},
                scratch.data());
  compute().kernels.axpy(1.0f, product.data(), to, m * n);
}

// Products of a [m, k] and b [k, n], or [n, k] if not transposed, over broadcast leading dimensions.
Result<Tensor> stacked_matmul(std::string_view where, const Tensor& a, const Tensor& b, bool b_is_transposed) {
  const std::int64_t m = a.dim(-2), k = a.dim(-1), n = b.dim(b_is_transposed ? -1 : -2);
  if (b.dim(b_is_transposed ? -2 : -1) != k) {
    return input_error(std::string(where) + ": the inner sizes of " + to_string(a.dims) + " and " + to_string(b.dims) + " differ");
  }
  const Shape a_stack(a.dims.begin(), a.dims.end() - 2), b_stack(b.dims.begin(), b.dims.end() - 2);
  const auto stack = broadcast(where, a_stack, b_stack);
  if (!stack.ok()) return stack.error();
  const auto a_strides = broadcast_strides(a_stack, stack.value()), b_strides = broadcast_strides(b_stack, stack.value());
  Shape dims = stack.value();
  dims.insert(dims.end(), {m, n});
  auto out = Tensor::zeros(dims);
  auto scratch = Tensor::zeros({matmul_scratch_size(n, k)});
  if (!out.ok()) return out;
  if (!scratch.ok()) return scratch;
  for (std::int64_t i = 0; i < *num_elements(stack.value()); ++i) {
    wattn::matmul(compute(),
                  {.a = a.at(broadcast_offset(i, stack.value(), a_strides) * m * k),
                   .a_stride = k,
                   .b = b.at(broadcast_offset(i, stack.value(), b_strides) * n * k),
                   .b_stride = b_is_transposed ? n : k,
                   .b_is_transposed = b_is_transposed,
                   .c = out.value().at(i * m * n),
                   .c_stride = n,
                   .m = m,
                   .n = n,
                   .k = k},
                  scratch.value().at(0));
  }
  record(out.value(), {&a, &b}, [&] {
    return [a, b, m, n, k, stack = stack.value(), a_strides, b_strides, b_is_transposed](const Flow& flow) {
      for (std::int64_t i = 0; i < *num_elements(stack); ++i) {
        const float* dy = flow.dy + i * m * n;
        const std::int64_t a_at = broadcast_offset(i, stack, a_strides) * m * k,
                           b_at = broadcast_offset(i, stack, b_strides) * n * k;
        if (flow.wants(0)) add_product(dy, b.at(b_at), !b_is_transposed, m, k, n, flow.to(0) + a_at);
        if (!flow.wants(1)) continue;
        if (b_is_transposed) {  // b is [k, n]: a^T dy
          add_product(transposed(a.at(a_at), m, k).data(), dy, true, k, n, m, flow.to(1) + b_at);
        } else {
          add_product(transposed(dy, m, n).data(), a.at(a_at), true, n, k, m, flow.to(1) + b_at);
        }
      }
    };
  });
  return out;
}

// The id at i, or -1 if it is not a whole number in [0, count).
std::int64_t id_at(const Tensor& ids, std::int64_t i, std::int64_t count) {
  const float id = *ids.at(i);
  return id >= 0 && id < static_cast<float>(count) && id == std::floor(id) ? static_cast<std::int64_t>(id) : -1;
}

Error bad_id(std::string_view where, const Tensor& ids, std::int64_t i, std::int64_t count) {
  return input_error(std::string(where) + ": expected ids that are whole numbers below " + std::to_string(count) + ", found " +
                     std::to_string(*ids.at(i)) + " at index " + std::to_string(i));
}

}  // namespace

Result<Tensor> softmax(const Tensor& x, std::int64_t dim) {
  auto out = over_slices("nn.softmax", x, dim, [](float* row, std::int64_t count) {
    if (std::all_of(row, row + count, [](float value) { return value == -std::numeric_limits<float>::infinity(); })) {
      std::fill(row, row + count, 0.0f);
    } else {
      compute().kernels.softmax_rows(row, 1, count, count);
    }
  });
  if (out.ok()) record_softmax(x, dim, false, out.value());
  return out;
}

Result<Tensor> log_softmax(const Tensor& x, std::int64_t dim) {
  auto out = over_slices("nn.log_softmax", x, dim, [](float* row, std::int64_t count) {
    const double most = *std::max_element(row, row + count);
    double sum = 0;
    for (std::int64_t j = 0; j < count; ++j) sum += exp64(row[j] - most);
    const double whole = most + log64(sum);
    for (std::int64_t j = 0; j < count; ++j) row[j] = static_cast<float>(row[j] - whole);
  });
  if (out.ok()) record_softmax(x, dim, true, out.value());
  return out;
}

Result<Tensor> matmul(const Tensor& a, const Tensor& b) {
  if (a.rank() == 0 || b.rank() == 0) return input_error("nn.matmul: expected tensors of at least one dimension");
  Tensor left = a, right = b;
  if (a.rank() == 1) left.dims.insert(left.dims.begin(), 1);
  if (b.rank() == 1) right.dims.push_back(1);
  auto out = stacked_matmul("nn.matmul", left, right, true);
  if (!out.ok()) return out;
  Shape& dims = out.value().dims;
  if (a.rank() == 1) dims.erase(dims.end() - 2);
  if (b.rank() == 1) dims.pop_back();
  return out;
}

Result<Tensor> bmm(const Tensor& a, const Tensor& b) {
  if (a.rank() != 3) return wrong_shape("nn.bmm", "the first tensor", "[batch, m, k]", a.dims);
  if (b.rank() != 3 || b.dim(0) != a.dim(0)) return wrong_shape("nn.bmm", "the second tensor", "[batch, k, n]", b.dims);
  return stacked_matmul("nn.bmm", a, b, true);
}

Result<Tensor> linear(const Tensor& x, const Tensor& weight, const Tensor* bias) {
  if (weight.rank() != 2) return wrong_shape("nn.linear", "weight", "[out, in]", weight.dims);
  if (x.rank() == 0 || x.dim(-1) != weight.dim(1)) {
    return wrong_shape("nn.linear", "the input", "[..., " + std::to_string(weight.dim(1)) + "]", x.dims);
  }
  if (bias && bias->dims != Shape{weight.dim(0)}) {
    return wrong_shape("nn.linear", "bias", "[" + std::to_string(weight.dim(0)) + "]", bias->dims);
  }
  Tensor flat = x;
  flat.dims = {x.rows(), x.dim(-1)};
  auto out = stacked_matmul("nn.linear", flat, weight, false);
  if (!out.ok()) return out;
  out.value().dims = x.dims;
  out.value().dims.back() = weight.dim(0);
  return bias ? add(out.value(), *bias) : std::move(out);
}

Result<Tensor> dot_product_similarity(const Tensor& x, const Tensor& y) {
  if (x.rank() < 2) return wrong_shape("nn.dot_product_similarity", "the input", "[..., seq, hidden]", x.dims);
  if (y.rank() < 2) return wrong_shape("nn.dot_product_similarity", "the other", "[..., seq, hidden]", y.dims);
  return stacked_matmul("nn.dot_product_similarity", x, y, false);
}

Tensor activate(const Tensor& x, Activation activation) {
  Tensor out = x;
  compute().kernels.activate(activation, x.at(0), out.at(0), x.size());
  record(out, {&x}, [&] {
    return [x = x.data, activation](const Flow& flow) {
      flow.add(0, [&](float* dx) {
        activate_backward(compute(), activation, x.data(), flow.dy, 1, static_cast<std::int64_t>(x.size()), dx);
      });
    };
  });
  return out;
}

Result<Tensor> embedding(const Tensor& ids, const Tensor& weight) {
  if (weight.rank() != 2) return wrong_shape("nn.embedding", "weight", "[rows, hidden]", weight.dims);
  Shape dims = ids.dims;
  dims.push_back(weight.dim(1));
  auto out = Tensor::zeros(std::move(dims));
  if (!out.ok()) return out;
  for (std::int64_t i = 0; i < ids.size(); ++i) {
    const std::int64_t id = id_at(ids, i, weight.dim(0));
    if (id < 0) return bad_id("nn.embedding", ids, i, weight.dim(0));
    std::copy_n(weight.at(id * weight.dim(1)), weight.dim(1), out.value().at(i * weight.dim(1)));
  }
  record(out.value(), {&weight}, [&] {
    const std::vector<std::int32_t> rows(ids.data.begin(), ids.data.end());
    return [rows, hidden = weight.dim(1)](const Flow& flow) { embedding_backward(rows, flow.dy, hidden, flow.to(0)); };
  });
  return out;
}

Result<Tensor> one_hot(const Tensor& ids, std::int64_t classes) {
  if (classes == 0) {
    for (std::int64_t i = 0; i < ids.size(); ++i) {
      const std::int64_t id = id_at(ids, i, 1 << 24);
      if (id < 0) return bad_id("nn.one_hot", ids, i, 1 << 24);
      classes = std::max(classes, id + 1);
    }
  }
  Shape dims = ids.dims;
  dims.push_back(classes);
  auto out = Tensor::zeros(std::move(dims));
  if (!out.ok()) return out;
  for (std::int64_t i = 0; i < ids.size(); ++i) {
    const std::int64_t id = id_at(ids, i, classes);
    if (id < 0) return bad_id("nn.one_hot", ids, i, classes);
    *out.value().at(i * classes + id) = 1;
  }
  return out;
}

Result<Tensor> permute_rows(const Tensor& x, const Tensor& order) {
  if (x.rank() < 2) return wrong_shape("nn.permute_rows", "the input", "[..., seq, hidden]", x.dims);
  const std::int64_t seq = x.dim(-2), hidden = x.dim(-1);
  if (order.dims != Shape{seq}) return wrong_shape("nn.permute_rows", "order", "[" + std::to_string(seq) + "]", order.dims);
  Tensor out = x;
  for (std::int64_t i = 0; i < x.rows(); ++i) {
    const std::int64_t from = id_at(order, i % seq, seq);
    if (from < 0) return bad_id("nn.permute_rows", order, i % seq, seq);
    std::copy_n(x.at((i - i % seq + from) * hidden), hidden, out.at(i * hidden));
  }
  record(out, {&x}, [&] {
    return [order = order.data, seq, hidden, rows = x.rows()](const Flow& flow) {
      for (std::int64_t i = 0; i < rows; ++i) {
        const auto from = static_cast<std::int64_t>(order[static_cast<std::size_t>(i % seq)]);
        compute().kernels.axpy(1.0f, flow.dy + i * hidden, flow.to(0) + (i - i % seq + from) * hidden, hidden);
      }
    };
  });
  return out;
}

}  // namespace wattn::nn
