#include "nn/norms.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "core/real_math.h"
#include "nn/elementwise.h"
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

// How numbers were normalised: n = (x - mean) * scale, of numbers with the same mean and scale. slope: with respect to the standard
// deviation s, minus d scale / ds / s; 0 where the statistics are given.
struct NormGroup {
  double mean = 0, scale = 0, slope = 0;
};

// Adds the gradients of a norm with means, over groups of `count` numbers. at(group, j) is the offset of a number, channel(group,
// j) that of its weight. With g = dy weight: dx = scale (g - mean of g) - slope (x - mean) (mean of g (x - mean)). d weight is the
// sum of dy (x - mean) scale, d bias that of dy.
template <class At, class Channel>
void norm_backward(const Flow& flow, const std::vector<float>& x, const std::vector<float>& weight,
                   const std::vector<NormGroup>& groups, std::int64_t count, std::int64_t channels, const At& at,
                   const Channel& channel) {
  std::vector<double> d_weight(static_cast<std::size_t>(channels)), d_bias(d_weight.size());
  for (std::size_t group = 0; group < groups.size(); ++group) {
    const NormGroup& norm = groups[group];
    const auto i = static_cast<std::int64_t>(group);
    const auto centred = [&](std::int64_t j) { return x[static_cast<std::size_t>(at(i, j))] - norm.mean; };
    const auto g = [&](std::int64_t j) {
      const auto c = static_cast<std::size_t>(channel(i, j));
      return static_cast<double>(flow.dy[at(i, j)]) * (weight.empty() ? 1.0 : static_cast<double>(weight[c]));
    };
    double sum = 0, product = 0;
    for (std::int64_t j = 0; j < count; ++j) {
      const auto c = static_cast<std::size_t>(channel(i, j));
      sum += g(j);
      product += g(j) * centred(j);
      d_weight[c] += flow.dy[at(i, j)] * centred(j) * norm.scale;
      d_bias[c] += flow.dy[at(i, j)];
    }
    const auto n = static_cast<double>(count);
    const double mean = norm.slope == 0 ? 0 : sum / n;
    if (float* dx = flow.to(0)) {
      for (std::int64_t j = 0; j < count; ++j) {
        dx[at(i, j)] += static_cast<float>(norm.scale * (g(j) - mean) - norm.slope * centred(j) * (product / n));
      }
    }
  }
  for (std::size_t c = 0; c < d_bias.size(); ++c) {
    if (flow.wants(1)) flow.to(1)[c] += static_cast<float>(d_weight[c]);
    if (flow.wants(2)) flow.to(2)[c] += static_cast<float>(d_bias[c]);
  }
}

std::vector<float> data_of(const Tensor* tensor) { return tensor ? tensor->data : std::vector<float>(); }

// Normalises each channel of each example; moments_of(channel, x, count) gives its mean and variance plus eps.
template <class MomentsOf>
Tensor normalize_channels(const Tensor& x, const Affine& affine, bool fixed, const MomentsOf& moments_of) {
  Tensor out = x;
  if (x.size() == 0) return out;
  const std::int64_t channels = x.dim(1), count = x.size() / (x.dim(0) * channels);
  std::vector<NormGroup> groups;
  for (std::int64_t i = 0; i < x.dim(0) * channels; ++i) {
    const Moments m = moments_of(i % channels, x.at(i * count), count);
    const double scale = 1 / std::sqrt(m.variance);
    affine.apply(out.at(i * count), count, m.mean, scale, i % channels);
    groups.push_back({m.mean, scale, fixed ? 0 : scale * scale * scale});
  }
  record(out, {&x, affine.weight, affine.bias}, [&] {
    return [x = x.data, weight = data_of(affine.weight), groups, count, channels](const Flow& flow) {
      norm_backward(
          flow, x, weight, groups, count, channels, [&](std::int64_t group, std::int64_t j) { return group * count + j; },
          [&](std::int64_t group, std::int64_t) { return group % channels; });
    };
  });
  return out;
}

// The ops' norm of rows, whose backward its kernels have.
void record_rows(wattn::NormKind kind, const Tensor& x, std::int64_t n, const Tensor* weight, const Tensor* bias, float eps,
                 Tensor& out) {
  record(out, {&x, weight, bias}, [&] {
    std::vector<float> gamma = weight ? weight->data : std::vector<float>(static_cast<std::size_t>(n), 1.0f);
    return [kind, x = x.data, n, eps, gamma = std::move(gamma)](const Flow& flow) mutable {
      const std::int64_t rows = static_cast<std::int64_t>(x.size()) / n;
      std::vector<float> scratch(static_cast<std::size_t>(2 * rows)), unused(flow.wants(0) ? 0 : x.size());
      const wattn::LayerNorm norm{n, eps, gamma.data(), nullptr};
      normalise_backward(compute(), kind, norm, x.data(), flow.dy, rows, flow.wants(0) ? flow.to(0) : unused.data(), flow.to(1),
                         flow.to(2), scratch.data());
    };
  });
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
    record_rows(wattn::NormKind::kLayer, x, n.value(), weight, bias, eps, out);
    return out;
  }
  std::vector<NormGroup> groups;
  for (std::int64_t i = 0; i < rows; ++i) {
    float* row = out.at(i * n.value());
    const Moments m = moments(row, n.value());
    const double sigma = std::sqrt(m.variance), scale = 1 / (sigma + eps);
    groups.push_back({m.mean, scale, sigma > 0 ? scale * scale / sigma : scale});
    for (std::int64_t j = 0; j < n.value(); ++j) {
      row[j] = static_cast<float>((row[j] - m.mean) * scale * (weight ? *weight->at(j) : 1.0f) + (bias ? *bias->at(j) : 0.0f));
    }
  }
  record(out, {&x, weight, bias}, [&] {
    return [x = x.data, weight = data_of(weight), groups, n = n.value()](const Flow& flow) {
      norm_backward(
          flow, x, weight, groups, n, n, [&](std::int64_t group, std::int64_t j) { return group * n + j; },
          [](std::int64_t, std::int64_t j) { return j; });
    };
  });
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
  record_rows(wattn::NormKind::kRms, x, n.value(), weight, nullptr, eps < 0 ? 0x1p-23f : eps, out);
  return out;
}

Result<Tensor> batch_norm(const Tensor& x, const Tensor& running_mean, const Tensor& running_var, const Tensor* weight,
                          const Tensor* bias, float eps) {
  if (const auto fits = checked_channels("nn.batch_norm", x, {&running_mean, &running_var, weight, bias}); !fits.ok())
    return fits.error();
  return normalize_channels(x, {weight, bias}, true, [&](std::int64_t channel, const float*, std::int64_t) {
    return Moments{*running_mean.at(channel), *running_var.at(channel) + double{eps}};
  });
}

Result<Tensor> batch_norm_training(const Tensor& x, std::span<float> running_mean, std::span<float> running_var, double momentum,
                                   const Tensor* weight, const Tensor* bias, float eps) {
  if (const auto fits = checked_channels("nn.batch_norm", x, {weight, bias}); !fits.ok()) return fits.error();
  const std::int64_t channels = x.dim(1), inner = channels * x.dim(0) == 0 ? 0 : x.size() / (channels * x.dim(0));
  const std::int64_t count = x.dim(0) * inner;
  if (count < 2) return wrong_shape("nn.batch_norm", "the input in train mode", "with several values for each channel", x.dims);
  const auto at = [channels, inner](std::int64_t channel, std::int64_t j) {
    return (j / inner * channels + channel) * inner + j % inner;
  };
  Tensor out = x;
  std::vector<NormGroup> groups;
  std::vector<float> values(static_cast<std::size_t>(count));
  for (std::int64_t c = 0; c < channels; ++c) {
    for (std::int64_t j = 0; j < count; ++j) values[static_cast<std::size_t>(j)] = *x.at(at(c, j));
    const Moments m = moments(values.data(), count);
    const double scale = 1 / std::sqrt(m.variance + eps);
    const Affine affine{weight, bias};
    affine.apply(values.data(), count, m.mean, scale, c);
    for (std::int64_t j = 0; j < count; ++j) *out.at(at(c, j)) = values[static_cast<std::size_t>(j)];
    groups.push_back({m.mean, scale, scale * scale * scale});
    const double unbiased = m.variance * static_cast<double>(count) / static_cast<double>(count - 1);
    const auto update = [&](float& running, double now) {
      running = static_cast<float>((1 - momentum) * running + momentum * now);
    };
    update(running_mean[static_cast<std::size_t>(c)], m.mean);
    update(running_var[static_cast<std::size_t>(c)], unbiased);
  }
  record(out, {&x, weight, bias}, [&] {
    return [x = x.data, weight = data_of(weight), groups, count, channels, at](const Flow& flow) {
      norm_backward(flow, x, weight, groups, count, channels, at, [](std::int64_t group, std::int64_t) { return group; });
    };
  });
  return out;
}

Result<Tensor> instance_norm(const Tensor& x, const Tensor* weight, const Tensor* bias, float eps) {
  if (const auto fits = checked_channels("nn.instance_norm", x, {weight, bias}); !fits.ok()) return fits.error();
  return normalize_channels(x, {weight, bias}, false, [&](std::int64_t, const float* values, std::int64_t count) {
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
  record(out.value(), {&x}, [&] {
    return [x = x.data, norms = out.value().data, p, count, inner](const Flow& flow) {
      float* dx = flow.to(0);
      for (std::size_t i = 0; i < norms.size(); ++i) {
        const double norm = norms[i];
        if (norm == 0) continue;  // torch's choice of a slope
        const std::int64_t first = static_cast<std::int64_t>(i) / inner * count * inner + static_cast<std::int64_t>(i) % inner;
        const auto at = [&](std::int64_t j) { return static_cast<double>(x[static_cast<std::size_t>(first + j * inner)]); };
        double equal = 0;  // numbers of the largest size share the gradient
        for (std::int64_t j = 0; std::isinf(p) && j < count; ++j) equal += std::abs(at(j)) == norm;
        for (std::int64_t j = 0; j < count; ++j) {
          const double size = std::abs(at(j)), sign = at(j) > 0 ? 1 : -1;
          if (size == 0) continue;
          const double slope = std::isinf(p) ? (size == norm) / equal
                               : p == 2      ? size / norm
                               : p == 1      ? 1
                                             : pow64(size / norm, p - 1);
          dx[first + j * inner] += static_cast<float>(flow.dy[i] * sign * slope);
        }
      }
    };
  });
  return out;
}

Result<Tensor> normalize(const Tensor& x, double p, std::int64_t dim, float eps) {
  const auto norms = vector_norm(x, p, dim, true);
  if (!norms.ok()) return norms;
  return div(x, clamp(norms.value(), eps, std::numeric_limits<double>::infinity()));
}

}  // namespace wattn::nn
