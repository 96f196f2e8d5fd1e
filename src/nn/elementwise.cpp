// build: -Os
#include "nn/elementwise.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "core/real_math.h"

namespace wattn::nn {
namespace {

// Where a tensor's elements are when it is read as if it had another shape.
class Offsets {
 public:
  Offsets(const Shape& from, const Shape& to) : to_(to), strides_(broadcast_strides(from, to)), size_(*num_elements(from)) {
    ends_to_ = from.size() <= to.size() && std::equal(from.rbegin(), from.rend(), to.rbegin());
  }
  std::int64_t operator()(std::int64_t i) const {
    if (size_ == 1) return 0;
    return ends_to_ ? i % size_ : broadcast_offset(i, to_, strides_);
  }
  std::int64_t size() const { return size_; }

 private:
  Shape to_;
  std::vector<std::int64_t> strides_;
  std::int64_t size_;
  bool ends_to_;  // the shape ends in from's: elements repeat in a cycle
};

// dx[offsets(i)] += slope(i) for i below count, summed in double precision.
template <class Slope>
void add_reduced(const Offsets& offsets, std::int64_t count, const Slope& slope, float* dx) {
  if (offsets.size() == count) {
    for (std::int64_t i = 0; i < count; ++i) dx[offsets(i)] += static_cast<float>(slope(i));
    return;
  }
  std::vector<double> sums(static_cast<std::size_t>(offsets.size()));
  for (std::int64_t i = 0; i < count; ++i) sums[static_cast<std::size_t>(offsets(i))] += slope(i);
  for (std::size_t i = 0; i < sums.size(); ++i) dx[i] += static_cast<float>(sums[i]);
}

struct Binary {
  std::string_view where;
  float (*of)(float x, float y);
  double (*slope_x)(double x, double y);
  double (*slope_y)(double x, double y);
  bool is_linear;  // the slopes do not read x and y
};

Result<Tensor> binary(const Binary& f, const Tensor& a, const Tensor& b) {
  const auto dims = broadcast(f.where, a.dims, b.dims);
  if (!dims.ok()) return dims.error();
  auto out = Tensor::zeros(dims.value());
  if (!out.ok()) return out;
  const Offsets to_a(a.dims, dims.value()), to_b(b.dims, dims.value());
  for (std::int64_t i = 0; i < out.value().size(); ++i) *out.value().at(i) = f.of(*a.at(to_a(i)), *b.at(to_b(i)));
  record(out.value(), {&a, &b}, [&] {
    const std::vector<float> none;
    return [f, to_a, to_b, count = out.value().size(), x = f.is_linear ? none : a.data,
            y = f.is_linear ? none : b.data](const Flow& flow) {
      const auto at = [](const std::vector<float>& values, std::int64_t i) {
        return values.empty() ? 0.0 : static_cast<double>(values[static_cast<std::size_t>(i)]);
      };
      const auto slope = [&](double (*of)(double, double)) {
        return [&, of](std::int64_t i) { return flow.dy[i] * of(at(x, to_a(i)), at(y, to_b(i))); };
      };
      if (flow.wants(0)) add_reduced(to_a, count, slope(f.slope_x), flow.to(0));
      if (flow.wants(1)) add_reduced(to_b, count, slope(f.slope_y), flow.to(1));
    };
  });
  return out;
}

// y = f(x), computed in double precision; its derivative is slope(x).
template <class F, class Slope>
Tensor map(const Tensor& x, const F& f, const Slope& slope) {
  Tensor out = x;
  for (float& value : out.data) value = static_cast<float>(f(static_cast<double>(value)));
  record(out, {&x}, [&] {
    return [x = x.data, slope](const Flow& flow) {
      float* dx = flow.to(0);
      for (std::size_t i = 0; i < x.size(); ++i) dx[i] += static_cast<float>(flow.dy[i] * slope(static_cast<double>(x[i])));
    };
  });
  return out;
}

double sign(double x) { return x > 0 ? 1 : x < 0 ? -1 : x; }

double power(double x, double exponent) {
  if (exponent == 0) return 1;
  if (exponent == 1) return x;
  if (exponent == 2) return x * x;
  if (x == 0) return exponent > 0 ? 0 : std::numeric_limits<double>::infinity();
  if (x > 0) return pow64(x, exponent);
  if (exponent != std::floor(exponent)) return std::numeric_limits<double>::quiet_NaN();
  return std::fmod(exponent, 2) == 0 ? pow64(-x, exponent) : -pow64(-x, exponent);
}

// The shape with these dims as 1, or removed.
struct Reduced {
  Shape kept, shown;
};
Result<Reduced> reduce(std::string_view where, const Tensor& x, const std::vector<std::int64_t>& dims, bool keep_dim) {
  std::vector<bool> gone(x.dims.size(), dims.empty());
  for (const std::int64_t dim : dims) {
    const auto at = checked_dim(where, dim, x.rank());
    if (!at.ok()) return at.error();
    gone[static_cast<std::size_t>(at.value())] = true;
  }
  Reduced out{x.dims, {}};
  for (std::size_t i = 0; i < gone.size(); ++i) {
    if (gone[i]) out.kept[i] = 1;
    if (!gone[i] || keep_dim) out.shown.push_back(out.kept[i]);
  }
  return out;
}

constexpr Binary kAdd{"nn.add", [](float x, float y) { return x + y; }, [](double, double) { return 1.0; },
                      [](double, double) { return 1.0; }, true};
constexpr Binary kSub{"nn.sub", [](float x, float y) { return x - y; }, [](double, double) { return 1.0; },
                      [](double, double) { return -1.0; }, true};
constexpr Binary kMul{"nn.mul", [](float x, float y) { return x * y; }, [](double, double y) { return y; },
                      [](double x, double) { return x; }, false};
constexpr Binary kDiv{"nn.div", [](float x, float y) { return x / y; }, [](double, double y) { return 1 / y; },
                      [](double x, double y) { return -x / (y * y); }, false};

}  // namespace

Result<Tensor> add(const Tensor& a, const Tensor& b) { return binary(kAdd, a, b); }
Result<Tensor> sub(const Tensor& a, const Tensor& b) { return binary(kSub, a, b); }
Result<Tensor> mul(const Tensor& a, const Tensor& b) { return binary(kMul, a, b); }
Result<Tensor> div(const Tensor& a, const Tensor& b) { return binary(kDiv, a, b); }

Tensor scaled(const Tensor& x, double factor) {
  Tensor out = x;
  for (float& value : out.data) value = static_cast<float>(value * factor);
  record(out, {&x}, [&] {
    return [factor, size = x.size()](const Flow& flow) {
      compute().kernels.axpy(static_cast<float>(factor), flow.dy, flow.to(0), size);
    };
  });
  return out;
}

Tensor unary(const Tensor& x, Unary f) {
  switch (f) {
    case Unary::kExp:
      return map(x, exp64, exp64);
    case Unary::kLog:
      return map(x, log64, [](double v) { return 1 / v; });
    case Unary::kSqrt:
      return map(x, [](double v) { return std::sqrt(v); }, [](double v) { return 0.5 / std::sqrt(v); });
    case Unary::kAbs:
      return map(x, [](double v) { return std::abs(v); }, sign);
    case Unary::kSin:
      return map(x, sin64, cos64);
    case Unary::kCos:
      return map(x, cos64, [](double v) { return -sin64(v); });
  }
  return x;
}

Tensor pow(const Tensor& x, double exponent) {
  return map(
      x, [exponent](double v) { return power(v, exponent); },
      [exponent](double v) { return exponent == 0 ? 0 : exponent * power(v, exponent - 1); });
}

Tensor clamp(const Tensor& x, double least, double most) {
  return map(
      x, [=](double v) { return v < least  ? least
                                : v > most ? most
                                           : v; },
      [=](double v) { return v < least || v > most ? 0.0 : 1.0; });
}

Result<Tensor> masked_fill(const Tensor& x, const Tensor& mask, double value) {
  const auto dims = broadcast("nn.masked_fill", x.dims, mask.dims);
  if (!dims.ok() || dims.value() != x.dims) {
    return wrong_shape("nn.masked_fill", "mask", "that can be broadcast to " + to_string(x.dims), mask.dims);
  }
  Tensor out = x;
  const Offsets to_mask(mask.dims, x.dims);
  for (std::int64_t i = 0; i < x.size(); ++i) {
    if (*mask.at(to_mask(i)) != 0) *out.at(i) = static_cast<float>(value);
  }
  record(out, {&x}, [&] {
    return [mask = mask.data, to_mask, size = x.size()](const Flow& flow) {
      float* dx = flow.to(0);
      for (std::int64_t i = 0; i < size; ++i) dx[i] += mask[static_cast<std::size_t>(to_mask(i))] != 0 ? 0.0f : flow.dy[i];
    };
  });
  return out;
}

Result<Tensor> sum(const Tensor& x, const std::vector<std::int64_t>& dims, bool keep_dim, bool mean) {
  auto reduced = reduce(mean ? "nn.mean" : "nn.sum", x, dims, keep_dim);
  if (!reduced.ok()) return reduced.error();
  auto out = Tensor::zeros(reduced.value().shown);
  if (!out.ok()) return out;
  const Offsets to(reduced.value().kept, x.dims);
  std::vector<double> sums(out.value().data.size());
  for (std::int64_t i = 0; i < x.size(); ++i) sums[static_cast<std::size_t>(to(i))] += *x.at(i);
  // The mean of nothing is NaN, as in torch.
  const double factor = mean ? static_cast<double>(out.value().size()) / static_cast<double>(x.size()) : 1;
  for (std::size_t i = 0; i < sums.size(); ++i) out.value().data[i] = static_cast<float>(sums[i] * factor);
  record(out.value(), {&x}, [&] {
    return [to, factor, size = x.size()](const Flow& flow) {
      float* dx = flow.to(0);
      for (std::int64_t i = 0; i < size; ++i) dx[i] += static_cast<float>(flow.dy[to(i)] * factor);
    };
  });
  return out;
}

Result<Outputs> largest(const Tensor& x, const std::vector<std::int64_t>& dims, bool keep_dim, bool negative) {
  const std::string where = negative ? "nn.min" : "nn.max";
  if (dims.size() > 1) return input_error(where + ": expected one dim, found " + std::to_string(dims.size()));
  auto reduced = reduce(where, x, dims, keep_dim);
  if (!reduced.ok()) return reduced.error();
  if (x.size() == 0) return wrong_shape(where, "the input", "with at least one number", x.dims);
  auto out = Tensor::zeros(reduced.value().shown), index = Tensor::zeros(reduced.value().shown);
  if (!out.ok()) return out.error();
  if (!index.ok()) return index.error();
  const Slices slices = dims.empty() ? Slices({x.size()}, 0) : Slices(x.dims, checked_dim(where, dims[0], x.rank()).value());
  std::int64_t slice = 0;
  slices.each([&](std::int64_t first) {
    std::int64_t best = 0;
    for (std::int64_t j = 1; j < slices.count; ++j) {
      const float a = *x.at(first + best * slices.inner), b = *x.at(first + j * slices.inner);
      if (!std::isnan(a) && (std::isnan(b) || (negative ? b < a : b > a))) best = j;
    }
    *out.value().at(slice) = *x.at(first + best * slices.inner);
    *index.value().at(slice++) = static_cast<float>(best);
  });
  record(out.value(), {&x}, [&] {
    // The extreme of all numbers: the equal ones share the gradient, as in torch.
    const double most = *out.value().at(0);
    const bool all = dims.empty();
    return [slices, index = index.value().data, x = all ? x.data : std::vector<float>(), most](const Flow& flow) {
      float* dx = flow.to(0);
      if (!x.empty()) {
        const auto equal = std::count(x.begin(), x.end(), static_cast<float>(most));
        for (std::size_t i = 0; i < x.size(); ++i)
          dx[i] += x[i] == static_cast<float>(most) ? flow.dy[0] / static_cast<float>(equal) : 0;
        return;
      }
      std::size_t at = 0;
      slices.each([&](std::int64_t first) {
        dx[first + static_cast<std::int64_t>(index[at]) * slices.inner] += flow.dy[at];
        ++at;
      });
    };
  });
  return Outputs{std::move(out).value(), dims.empty() ? Tensor{} : std::move(index).value()};
}

Result<Tensor> dropout(const Tensor& x, double p, Generator& random) {
  if (!(p >= 0 && p <= 1)) return input_error("nn.dropout: expected p from 0 to 1, found " + std::to_string(p));
  if (p == 0) return x;
  Tensor mask = x, out = x;
  const auto kept = static_cast<float>(p == 1 ? 0 : 1 / (1 - p));
  for (std::int64_t i = 0; i < x.size(); ++i) {
    *mask.at(i) = random.uniform() < p ? 0 : kept;
    *out.at(i) *= *mask.at(i);
  }
  record(out, {&x}, [&] {
    return [mask = std::move(mask.data)](const Flow& flow) {
      float* dx = flow.to(0);
      for (std::size_t i = 0; i < mask.size(); ++i) dx[i] += flow.dy[i] * mask[i];
    };
  });
  return out;
}

Result<Tensor> random_tensor(const Shape& dims, std::uint64_t seed, bool normal) {
  auto out = Tensor::zeros(dims);
  if (!out.ok()) return out;
  Generator generator(seed);
  for (float& value : out.value().data) value = static_cast<float>(normal ? generator.normal() : generator.uniform());
  return out;
}

}  // namespace wattn::nn
