// build: -Os
#include "ops/short_convolution.h"

#include <algorithm>

namespace wattn {
namespace {

// Channels that lie side by side in the memory of the filter: [ceil(width / 8)][kernel][8].
constexpr std::int64_t kLanes = 8;

// The channels of one panel.
struct Panel {
  std::int64_t first, count;
  const float* filter;  // [kernel][8]
};

class Channels {
 public:
  explicit Channels(const OpCall& call)
      : call_(call), filter_(*static_cast<const LinearWeights*>(call.weight)), width_(call.width), kernel_(filter_.in) {}

  // visit(panel), the panels divided among threads.
  template <class Visit>
  void each_panel(const Visit& visit) const {
    for_parts(*call_.pass.compute, (width_ + kLanes - 1) / kLanes, 1, 4, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        visit(Panel{i * kLanes, std::min(kLanes, width_ - i * kLanes),
                    static_cast<const float*>(filter_.weight) + i * kLanes * kernel_});
      }
    });
  }

  std::int64_t width() const { return width_; }
  std::int64_t kernel() const { return kernel_; }
  const LinearWeights& filter() const { return filter_; }
  const float* b(std::int64_t token) const { return call_.x + token * 3 * width_; }
  const float* c(std::int64_t token) const { return b(token) + width_; }
  const float* x(std::int64_t token) const { return b(token) + 2 * width_; }
  // sum: the convolution at place `at`. product(row, channel) is asked for rows from `begin` on.
  template <class Product>
  void convolve(const Panel& panel, std::int64_t at, std::int64_t begin, const Product& product, float* sum) const {
    std::fill_n(sum, kLanes, 0.0f);
    if (filter_.bias) std::copy_n(filter_.bias + panel.first, panel.count, sum);
    for (std::int64_t k = std::max<std::int64_t>(0, begin - at + kernel_ - 1); k < kernel_; ++k) {
      for (std::int64_t j = 0; j < panel.count; ++j) {
        sum[j] += panel.filter[k * kLanes + j] * product(at - kernel_ + 1 + k, panel.first + j);
      }
    }
  }

 private:
  const OpCall& call_;
  const LinearWeights& filter_;
  std::int64_t width_, kernel_;
};

}  // namespace

void short_convolution(const OpCall& call) {
  const Channels channels(call);
  const Batch& batch = *call.pass.batch;
  const KvCache* cache = call.pass.states.cache;
  const std::int64_t width = channels.width();
  channels.each_panel([&](const Panel& panel) {
    float sum[kLanes];
    const auto gate = [&](std::int64_t token) {
      const float* c = channels.c(token) + panel.first;
      float* out = call.out + token * width + panel.first;
      for (std::int64_t j = 0; j < panel.count; ++j) out[j] = c[j] * sum[j];
    };
    for (std::int64_t i = 0; i < batch.batch(); ++i) {
      const std::int64_t begin = batch.seq_start[i], end = batch.seq_start[i + 1];
      const auto product = [&](std::int64_t token, std::int64_t j) { return channels.b(token)[j] * channels.x(token)[j]; };
      if (!cache) {
        for (std::int64_t token = begin; token < end; ++token) {
          channels.convolve(panel, token, begin, product, sum);
          gate(token);
        }
        continue;
      }
      float* const rows = cache->products_at(batch.slots[i], call.state);
      for (std::int64_t token = begin; token < end; ++token) {
        const std::int64_t position = batch.position_ids[token];
        for (std::int64_t j = panel.first; j < panel.first + panel.count; ++j) rows[position * width + j] = product(token, j);
        channels.convolve(panel, position, 0, [&](std::int64_t at, std::int64_t j) { return rows[at * width + j]; }, sum);
        gate(token);
      }
    }
  });
}

void short_convolution_backward(const OpCall& call, const ShortConvolutionGradient& gradient) {
  const Channels channels(call);
  const Batch& batch = *call.pass.batch;
  const std::int64_t width = channels.width(), kernel = channels.kernel();
  channels.each_panel([&](const Panel& panel) {
    float* const d_filter = gradient.d_filter ? static_cast<float*>(gradient.d_filter->weight) + panel.first * kernel : nullptr;
    const auto product = [&](std::int64_t token, std::int64_t j) { return channels.b(token)[j] * channels.x(token)[j]; };
    // The gradient of what the filter gives.
    const auto d_sum = [&](std::int64_t token, std::int64_t j) { return gradient.d_out[token * width + j] * channels.c(token)[j]; };
    float sum[kLanes];
    for (std::int64_t i = 0; i < batch.batch(); ++i) {
      const std::int64_t begin = batch.seq_start[i], end = batch.seq_start[i + 1];
      for (std::int64_t token = begin; token < end; ++token) {
        channels.convolve(panel, token, begin, product, sum);
        for (std::int64_t lane = 0; lane < panel.count; ++lane) {
          const std::int64_t j = panel.first + lane;
          const float d = d_sum(token, j);
          for (std::int64_t k = std::max<std::int64_t>(0, begin - token + kernel - 1); d_filter && k < kernel; ++k) {
            d_filter[k * kLanes + lane] += d * product(token - kernel + 1 + k, j);
          }
          if (gradient.d_bias) gradient.d_bias[j] += d;
          if (!gradient.d_x) continue;
          float d_product = 0;
          for (std::int64_t k = std::max<std::int64_t>(0, token - end + kernel); k < kernel; ++k) {
            d_product += panel.filter[k * kLanes + lane] * d_sum(token + kernel - 1 - k, j);
          }
          float* const d_x = gradient.d_x + token * 3 * width + j;
          d_x[0] = d_product * channels.x(token)[j];
          d_x[width] = gradient.d_out[token * width + j] * sum[lane];
          d_x[2 * width] = d_product * channels.b(token)[j];
        }
      }
    }
  });
}

}  // namespace wattn
