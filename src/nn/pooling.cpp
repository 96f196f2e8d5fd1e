#include "nn/pooling.h"

#include <algorithm>
#include <limits>
#include <string>

#include "ops/pooling.h"

namespace wattn::nn {
namespace {

// A window, clipped to the image, for one number of the result.
struct Clipped {
  std::int64_t first;  // offset of its first number
  std::int64_t rows, columns;
  std::int64_t stride;  // of rows

  // Calls f(offset) for each number.
  template <class F>
  void each(const F& f) const {
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < columns; ++j) f(first + i * stride + j);
    }
  }
};

// Each number is f(window).
template <class F>
Result<Tensor> over_windows(std::string_view where, const Tensor& x, const Window& window, std::vector<Clipped>& windows,
                            const F& f) {
  if (x.rank() < 2) return wrong_shape(where, "the input", "[..., height, width]", x.dims);
  Shape dims = x.dims;
  for (std::size_t i = 0; i < 2; ++i) {
    std::int64_t& dim = dims[dims.size() - 2 + i];
    if (window.kernel[i] < 1 || window.stride[i] < 1)
      return input_error(std::string(where) + ": expected a kernel and a stride of at least 1");
    if (window.padding[i] < 0 || 2 * window.padding[i] > window.kernel[i]) {
      return input_error(std::string(where) + ": expected a padding of at most half the kernel, found " +
                         std::to_string(window.padding[i]) + " for " + std::to_string(window.kernel[i]));
    }
    if (dim + 2 * window.padding[i] < window.kernel[i]) {
      return input_error(std::string(where) + ": the kernel of " + std::to_string(window.kernel[i]) +
                         " is larger than the image's " + std::to_string(dim));
    }
    dim = (dim + 2 * window.padding[i] - window.kernel[i]) / window.stride[i] + 1;
  }
  auto out = Tensor::zeros(dims);
  if (!out.ok()) return out;
  const std::int64_t height = x.dim(-2), width = x.dim(-1);
  const std::int64_t rows = dims[dims.size() - 2], columns = dims.back();
  for (std::int64_t i = 0; i < out.value().size(); ++i) {
    const std::int64_t image = i / (rows * columns);
    const std::int64_t top = i / columns % rows * window.stride[0] - window.padding[0];
    const std::int64_t left = i % columns * window.stride[1] - window.padding[1];
    const std::int64_t y0 = std::max<std::int64_t>(top, 0), y1 = std::min(top + window.kernel[0], height);
    const std::int64_t x0 = std::max<std::int64_t>(left, 0), x1 = std::min(left + window.kernel[1], width);
    windows.push_back({(image * height + y0) * width + x0, y1 - y0, x1 - x0, width});
    *out.value().at(i) = f(windows.back());
  }
  return out;
}

}  // namespace

Window read_window(Options& options) {
  const auto pair = [&](std::string_view name, std::array<std::int64_t, 2> fallback, std::int64_t least) {
    if (!options.has(name)) return fallback;
    const auto numbers = options.wholes(name, least);
    if (numbers.empty() || numbers.size() > 2)
      options.fail("option '" + std::string(name) + "': expected one or two whole numbers");
    return numbers.empty() ? fallback : std::array<std::int64_t, 2>{numbers.front(), numbers.back()};
  };
  if (!options.has("kernel_size")) options.fail("option 'kernel_size' is missing: expected one or two whole numbers");
  Window window;
  window.kernel = pair("kernel_size", {1, 1}, 1);
  window.stride = pair("stride", window.kernel, 1);
  window.padding = pair("padding", {0, 0}, 0);
  return window;
}

Result<Tensor> avg_pool2d(const Tensor& x, const Window& window) {
  const double count = static_cast<double>(window.kernel[0] * window.kernel[1]);
  std::vector<Clipped> windows;
  auto out = over_windows("nn.avg_pool2d", x, window, windows, [&](const Clipped& each) {
    double sum = 0;
    each.each([&](std::int64_t at) { sum += *x.at(at); });
    return static_cast<float>(sum / count);
  });
  if (!out.ok()) return out;
  record(out.value(), {&x}, [&] {
    return [windows, count](const Flow& flow) {
      float* dx = flow.to(0);
      for (std::size_t i = 0; i < windows.size(); ++i) {
        windows[i].each([&](std::int64_t at) { dx[at] += static_cast<float>(flow.dy[i] / count); });
      }
    };
  });
  return out;
}

Result<Tensor> max_pool2d(const Tensor& x, const Window& window) {
  std::vector<Clipped> windows;
  std::vector<std::int64_t> from;  // where each maximum is
  auto out = over_windows("nn.max_pool2d", x, window, windows, [&](const Clipped& each) {
    float most = -std::numeric_limits<float>::infinity();
    std::int64_t best = each.first;
    each.each([&](std::int64_t at) {
      if (*x.at(at) <= most) return;  // keeps NaN, as torch
      most = *x.at(at);
      best = at;
    });
    from.push_back(best);
    return most;
  });
  if (!out.ok()) return out;
  record(out.value(), {&x}, [&] {
    return [from](const Flow& flow) {
      float* dx = flow.to(0);
      for (std::size_t i = 0; i < from.size(); ++i) dx[from[i]] += flow.dy[i];
    };
  });
  return out;
}

std::string read_pooling(Options& options, std::string_view name) {
  const std::vector<std::string_view> modes{"mean", "max", "cls", "last", "mean_sqrt_len_tokens", "weightedmean"};
  return std::string(modes[static_cast<std::size_t>(options.choice(name, modes))]);
}

Result<Tensor> pool_unpadded(const Tensor& x, std::string_view mode, const Tensor* key_padding_mask) {
  if (!key_padding_mask) return pool_sequence(x, mode, nullptr);
  Tensor kept = *key_padding_mask;
  for (float& value : kept.data) value = value == 0 ? 1.0f : 0.0f;
  return pool_sequence(x, mode, &kept);
}

Result<Tensor> pool_sequence(const Tensor& x, std::string_view mode, const Tensor* mask) {
  if (x.rank() != 3) return wrong_shape("nn.pool_sequence", "the input", "[batch, seq, hidden]", x.dims);
  const auto pooling = pooling_mode_from_name(mode == "last" ? "last_token" : mode);
  if (!pooling) {
    return input_error("nn.pool_sequence: expected a mode of mean, max, cls, last, mean_sqrt_len_tokens, weightedmean, found '" +
                       std::string(mode) + "'");
  }
  const std::int64_t batch = x.dim(0), seq = x.dim(1), hidden = x.dim(2);
  if (mask && mask->dims != Shape{batch, seq})
    return wrong_shape("nn.pool_sequence", "mask", to_string(Shape{batch, seq}), mask->dims);
  auto out = Tensor::zeros({batch, hidden});
  if (!out.ok()) return out;
  std::vector<float> kept(static_cast<std::size_t>(seq * hidden));
  for (std::int64_t b = 0; b < batch; ++b) {
    std::int64_t tokens = 0;
    for (std::int64_t i = 0; i < seq; ++i) {
      if (mask && *mask->at(b * seq + i) == 0) continue;
      std::copy_n(x.at((b * seq + i) * hidden), hidden, kept.data() + tokens++ * hidden);
    }
    const PoolingMode modes[] = {*pooling};
    pool(compute().kernels, modes, kept.data(), tokens, hidden, 0, out.value().at(b * hidden));
  }
  record(out.value(), {&x}, [&] {
    return [x = x.data, keeps = mask ? mask->data : std::vector<float>(), mode = *pooling, batch, seq, hidden](const Flow& flow) {
      std::vector<std::int64_t> rows;
      for (std::int64_t b = 0; b < batch; ++b, rows.clear()) {
        for (std::int64_t i = b * seq; i < (b + 1) * seq; ++i) {
          if (keeps.empty() || keeps[static_cast<std::size_t>(i)] != 0) rows.push_back(i);
        }
        const auto tokens = static_cast<std::int64_t>(rows.size());
        std::vector<float> kept, gradient(static_cast<std::size_t>(tokens * hidden));
        for (const std::int64_t row : rows) kept.insert(kept.end(), x.begin() + row * hidden, x.begin() + (row + 1) * hidden);
        const PoolingMode modes[] = {mode};
        pool_backward(compute().kernels, modes, kept.data(), tokens, hidden, 0, flow.dy + b * hidden, gradient.data());
        for (std::int64_t i = 0; i < tokens; ++i) {
          compute().kernels.axpy(1.0f, gradient.data() + i * hidden, flow.to(0) + rows[static_cast<std::size_t>(i)] * hidden,
                                 hidden);
        }
      }
    };
  });
  return out;
}

}  // namespace wattn::nn
