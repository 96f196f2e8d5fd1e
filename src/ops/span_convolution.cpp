// build: -Os
#include "ops/span_convolution.h"

#include <algorithm>
#include <array>

namespace wattn {
namespace {

// Columns that lie side by side in the memory of the filter: [ceil(width / 8)][kernel][8].
constexpr std::int64_t kLanes = 8;

// visit(token, k, row): of each token the rows of its sequence that it reads.
template <class Visit>
void each_read(const Batch& batch, std::int64_t token, std::int64_t sequence, std::int64_t kernel, const Visit& visit) {
  const std::int64_t begin = batch.seq_start[static_cast<std::size_t>(sequence)];
  const std::int64_t end = batch.seq_start[static_cast<std::size_t>(sequence) + 1], first = token - kernel / 2;
  const std::int64_t last = std::min(kernel, end - first);
  for (std::int64_t k = std::max<std::int64_t>(0, begin - first); k < last; ++k) visit(k, first + k);
}

// visit(token, number of its sequence).
template <class Visit>
void each_token(const Batch& batch, const Visit& visit) {
  for (std::int64_t i = 0; i < batch.batch(); ++i) {
    const std::int64_t end = batch.seq_start[static_cast<std::size_t>(i) + 1];
    for (std::int64_t token = batch.seq_start[static_cast<std::size_t>(i)]; token < end; ++token) visit(token, i);
  }
}

// The columns of one panel of the filter.
struct Panel {
  std::int64_t first, count;
  std::int64_t at;  // of its weights, [kernel][8]
};

// visit(panel), the panels divided among threads.
template <class Visit>
void each_panel(const OpCall& call, const Visit& visit) {
  const std::int64_t width = call.width, kernel = static_cast<const LinearWeights*>(call.weight)->in;
  for_parts(*call.pass.compute, (width + kLanes - 1) / kLanes, 1, 4, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      visit(Panel{i * kLanes, std::min(kLanes, width - i * kLanes), i * kLanes * kernel});
    }
  });
}

const float* weights_of(const LinearWeights& filter) { return static_cast<const float*>(filter.weight); }

// The weights of one token and head, and the columns that they are for.
struct Head {
  std::int64_t number, first, columns, kernel;
  std::array<float, kMostSpan> weights;
};

// visit(head, token, number of its sequence), the heads divided among threads.
template <class Visit>
void each_head(const OpCall& call, const Visit& visit) {
  const std::int64_t heads = call.attention->shape.heads, columns = call.width / heads;
  const auto kernel = static_cast<std::int64_t>(call.factor);
  for_parts(*call.pass.compute, heads, 1, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t number = begin; number < end; ++number) {
      Head head{number, number * columns, columns, kernel, {}};
      each_token(*call.pass.batch, [&](std::int64_t token, std::int64_t sequence) {
        std::copy_n(call.other + (token * heads + number) * kernel, kernel, head.weights.begin());
        call.pass.compute->kernels.softmax_rows(head.weights.data(), 1, kernel, kernel);
        visit(head, token, sequence);
      });
    }
  });
}

float product(const float* a, const float* b, std::int64_t count) {
  float sum = 0;
  for (std::int64_t i = 0; i < count; ++i) sum += a[i] * b[i];
  return sum;
}

}  // namespace

void depthwise_convolution(const OpCall& call) {
  const auto& filter = *static_cast<const LinearWeights*>(call.weight);
  const Batch& batch = *call.pass.batch;
  each_panel(call, [&](const Panel& panel) {
    each_token(batch, [&](std::int64_t token, std::int64_t sequence) {
      std::array<float, kLanes> sum{};
      each_read(batch, token, sequence, filter.in, [&](std::int64_t k, std::int64_t row) {
        const float* x = call.x + row * call.width + panel.first;
        const float* weights = weights_of(filter) + panel.at + k * kLanes;
        for (std::int64_t j = 0; j < panel.count; ++j) sum[static_cast<std::size_t>(j)] += weights[j] * x[j];
      });
      std::copy_n(sum.begin(), panel.count, call.out + token * call.width + panel.first);
    });
  });
}

void depthwise_convolution_backward(const OpCall& call, const float* d_out, float* d_x, const LinearWeights* d_filter) {
  const auto& filter = *static_cast<const LinearWeights*>(call.weight);
  const Batch& batch = *call.pass.batch;
  each_panel(call, [&](const Panel& panel) {
    float* const d_weights = d_filter ? static_cast<float*>(d_filter->weight) + panel.at : nullptr;
    const auto zero = [&](std::int64_t token, std::int64_t) {
      std::fill_n(d_x + token * call.width + panel.first, panel.count, 0.0f);
    };
    if (d_x) each_token(batch, zero);
    each_token(batch, [&](std::int64_t token, std::int64_t sequence) {
      const float* d = d_out + token * call.width + panel.first;
      each_read(batch, token, sequence, filter.in, [&](std::int64_t k, std::int64_t row) {
        const std::int64_t at = row * call.width + panel.first;
        const float* weights = weights_of(filter) + panel.at + k * kLanes;
        for (std::int64_t j = 0; j < panel.count; ++j) {
          if (d_x) d_x[at + j] += weights[j] * d[j];
          if (d_weights) d_weights[k * kLanes + j] += call.x[at + j] * d[j];
        }
      });
    });
  });
}

void dynamic_convolution(const OpCall& call) {
  const Batch& batch = *call.pass.batch;
  each_head(call, [&](const Head& head, std::int64_t token, std::int64_t sequence) {
    float* out = call.out + token * call.width + head.first;
    std::fill_n(out, head.columns, 0.0f);
    each_read(batch, token, sequence, head.kernel, [&](std::int64_t k, std::int64_t row) {
      call.pass.compute->kernels.axpy(head.weights[static_cast<std::size_t>(k)], call.x + row * call.width + head.first, out,
                                      head.columns);
    });
  });
}

void dynamic_convolution_backward(const OpCall& call, const float* d_out, float* d_x, float* d_logits) {
  const Batch& batch = *call.pass.batch;
  const std::int64_t heads = call.attention->shape.heads;
  each_head(call, [&](const Head& head, std::int64_t token, std::int64_t sequence) {
    const float* d = d_out + token * call.width + head.first;
    std::array<float, kMostSpan> d_weights{};  // 0 for tokens outside of the sequence
    each_read(batch, token, sequence, head.kernel, [&](std::int64_t k, std::int64_t row) {
      const std::int64_t at = row * call.width + head.first;
      d_weights[static_cast<std::size_t>(k)] = product(d, call.x + at, head.columns);
      if (d_x) call.pass.compute->kernels.axpy(head.weights[static_cast<std::size_t>(k)], d, d_x + at, head.columns);
    });
    if (!d_logits) return;
    const float mean = product(head.weights.data(), d_weights.data(), head.kernel);
    float* to = d_logits + (token * heads + head.number) * head.kernel;
    for (std::int64_t k = 0; k < head.kernel; ++k) {
      const auto i = static_cast<std::size_t>(k);
      to[k] += head.weights[i] * (d_weights[i] - mean);
    }
  });
}

}  // namespace wattn
