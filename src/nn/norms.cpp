#include "nn/norms.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "core/real_math.h"
#include "ops/norm.h"

namespace wattn::nn {
namespace {

// The number of elements of shape, which x must end in; weight and bias must have it.
Result<std::int64_t> checked_norm(std::string_view where, const Tensor& x, const Shape& shape, const Tensor* weight,
                                  const Tensor* bias) {
  const bool fits = !shape.empty() && shape.size() <= x.dims.size() && std::equal(shape.rbegin(), shape.rend(), x.dims.rbegin());
  if (!fits) return wrong_shape(where, "the input", "that ends in " + to_string(shape), x.dims);
  if (weight && weight->dims != shape) return wrong_shape(where, "weight", to_string(shape), weight->dims);
  if (bias && bias->dims != shape) return wrong_shape(where, "bias", to_string(shape), bias->dims);
  return *num_elements(shape);
}

Result<void> checked_channels(std::string_view where, const Tensor& x, std::initializer_list<const Tensor*> others) {
  if (x.rank() < 2) return wrong_shape(where, "the input", "[batch, channels, ...]", x.dims);
  for (const Tensor* other : others) {
    if (other && other->dims != Shape{x.dim(1)}) {
      return wrong_shape(where, "weights and statistics", to_string(Shape{x.dim(1)}), other->dims);
    }
  }
  return {};
}

struct Moments {
  double mean = 0, variance = 0;
};
Moments moments(const float* x, std::int64_t n) {
  Moments out;
  for (std::int64_t j = 0; j < n; ++j) out.mean += x[j];
  out.mean /= static_cast<double>(n);
  for (std::int64_t j = 0; j < n; ++j) out.variance += (x[j] - out.mean) * (x[j] - out.mean);
  out.variance /= static_cast<double>(n);
  return out;
}

// x = (x - mean) * scale * weight + bias, of one channel.
struct Affine {
  const Tensor* weight;
  const Tensor* bias;
  void apply(float* x, std::int64_t n, double mean, double scale, std::int64_t channel) const {
    const double gain = weight ? scale * *weight->at(channel) : scale;
    const double shift = bias ? *bias->at(channel) : 0;
    for (std::int64_t j = 0; j < n; ++j) x[j] = static_cast<float>((x[j] - mean) * gain + shift);
  }
};

double norm_of(const float* x, std::int64_t n, std::int64_t step, double p) {
  double sum = 0;
  for (std::int64_t j = 0; j < n; ++j) {
    const double size = std::abs(static_cast<double>(x[j * step]));
    if (std::isinf(p)) {
      sum = std::max(sum, size);
    } else if (p == 2) {
      sum += size * size;
    } else if (p == 1) {
      sum += size;
    } else if (size > 0) {
      sum += pow64(size, p);
    }
  }
  if (p == 2) return std::sqrt(sum);
  return std::isinf(p) || p == 1 || sum == 0 ? sum : pow64(sum, 1 / p);
}

// Normalises each channel of each example; moments_of(channel, x, count) gives its mean and variance plus eps.
template <class MomentsOf>
Tensor normalize_channels(Tensor x, const Affine& affine, const MomentsOf& moments_of) {
  if (x.size() == 0) return x;
  const std::int64_t channels = x.dim(1), count = x.size() / (x.dim(0) * channels);
  for (std::int64_t i = 0; i < x.dim(0) * channels; ++i) {
    const Moments m = moments_of(i % channels, x.at(i * count), count);
    affine.apply(x.at(i * count), count, m.mean, 1 / std::sqrt(m.variance), i % channels);
  }
  return x;
}

}  // namespace

EpsilonForm read_epsilon_form(Options& options) {
  return options.choice("eps_form", {"inside", "outside"}) == 1 ? EpsilonForm::kBesideSigma : EpsilonForm::kInsideRoot;
}

Result<Tensor> layer_norm(const Tensor& x, const Shape& normalized_shape, const Tensor* weight, const Tensor* bias, float eps,
                          EpsilonForm form) {
  const auto n = checked_norm("nn.layer_norm", x, normalized_shape, weight, bias);
  if (!n.ok()) return n.error();
  if (n.value() == 0) return x;
  Tensor out = x;
  const std::int64_t rows = x.size() / n.value();
  if (form == EpsilonForm::kInsideRoot) {
    std::vector<float> ones(weight ? 0 : static_cast<std::size_t>(n.value()), 1.0f);
    std::vector<float> zeros(bias ? 0 : static_cast<std::size_t>(n.value()), 0.0f);
    compute().kernels.layer_norm_rows(x.at(0), nullptr, weight ? weight->at(0) : ones.data(), bias ? bias->at(0) : zeros.data(),
                                      eps, out.at(0), rows, n.value());
    return out;
  }
  for (std::int64_t i = 0; i < rows; ++i) {
    float* row = out.at(i * n.value());
    const Moments m = moments(row, n.value());
    const double scale = 1 / (std::sqrt(m.variance) + eps);
    for (std::int64_t j = 0; j < n.value(); ++j) {
      row[j] = static_cast<float>((row[j] - m.mean) * scale * (weight ? *weight->at(j) : 1.0f) + (bias ? *bias->at(j) : 0.0f));
    }
  }
  return out;
}

Result<Tensor> rms_norm(const Tensor& x, const Shape& normalized_shape, const Tensor* weight, float eps) {
  const auto n = checked_norm("nn.rms_norm", x, normalized_shape, weight, nullptr);
  if (!n.ok()) return n.error();
  if (n.value() == 0) return x;
  Tensor out = x;
  for (std::int64_t i = 0; i < x.size() / n.value(); ++i) {
    float* row = out.at(i * n.value());
    double squares = 0;
    for (std::int64_t j = 0; j < n.value(); ++j) squares += static_cast<double>(row[j]) * row[j];
    const double scale = 1 / std::sqrt(squares / static_cast<double>(n.value()) + (eps < 0 ? 0x1p-23 : eps));
    for (std::int64_t j = 0; j < n.value(); ++j) row[j] = static_cast<float>(row[j] * scale * (weight ? *weight->at(j) : 1.0f));
  }
  return out;
}

Result<Tensor> batch_norm(const Tensor& x, const Tensor& running_mean, const Tensor& running_var, const Tensor* weight,
                          const Tensor* bias, float eps) {
  if (const auto fits = checked_channels("nn.batch_norm", x, {&running_mean, &running_var, weight, bias}); !fits.ok())
    return fits.error();
  return normalize_channels(x, {weight, bias}, [&](std::int64_t channel, const float*, std::int64_t) {
    return Moments{*running_mean.at(channel), *running_var.at(channel) + double{eps}};
  });
}

Result<Tensor> instance_norm(const Tensor& x, const Tensor* weight, const Tensor* bias, float eps) {
  if (const auto fits = checked_channels("nn.instance_norm", x, {weight, bias}); !fits.ok()) return fits.error();
  return normalize_channels(x, {weight, bias}, [&](std::int64_t, const float* values, std::int64_t count) {
    Moments m = moments(values, count);
    m.variance += eps;
    return m;
  });
}

Result<Tensor> vector_norm(const Tensor& x, double p, std::int64_t dim, bool keep_dim) {
  const auto at = checked_dim("nn.vector_norm", dim, x.rank());
  if (!at.ok()) return at.error();
  if (!(p > 0)) return input_error("nn.vector_norm: expected p above 0, found " + std::to_string(p));
  std::int64_t inner = 1;
  for (int i = at.value() + 1; i < x.rank(); ++i) inner *= x.dim(i);
  const std::int64_t count = x.dim(at.value());
  Shape dims = x.dims;
  dims[static_cast<std::size_t>(at.value())] = 1;
  auto out = Tensor::zeros(dims);
  if (!out.ok()) return out;
  for (std::int64_t i = 0; i < out.value().size(); ++i) {
    *out.value().at(i) = static_cast<float>(norm_of(x.at(i / inner * count * inner + i % inner), count, inner, p));
  }
  if (!keep_dim) out.value().dims.erase(out.value().dims.begin() + at.value());
  return out;
}

Result<Tensor> normalize(const Tensor& x, double p, std::int64_t dim, float eps) {
  const auto norms = vector_norm(x, p, dim, true);
  if (!norms.ok()) return norms;
  Tensor out = x;
  const auto strides = broadcast_strides(norms.value().dims, x.dims);
  for (std::int64_t i = 0; i < x.size(); ++i) {
    *out.at(i) /= std::max(*norms.value().at(broadcast_offset(i, x.dims, strides)), eps);
  }
  return out;
}

}  // namespace wattn::nn
