// build: -Os
#include "ops/pooling.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace wattn {
namespace {

constexpr std::pair<std::string_view, PoolingMode> kModeNames[] = {
#define WIRE_OF_POOLING
#define WIRE_ENUM(Name)
#define WIRE_WORD(enumerator, word) {word, PoolingMode::enumerator},
#define WIRE_ENUM_END
#include "core/wire.def"
};

// x: the rows of a part that are pooled, at least one.
void pool_one(const Kernels& kernels, PoolingMode mode, const float* x, const PooledRows& rows, std::int64_t hidden, float* out) {
  const std::int64_t first = std::max(rows.begin, rows.skip), end = rows.begin + rows.count;
  const std::int64_t count = end - first;
  const bool is_first = first == rows.skip, is_last = end == rows.tokens;
  // out = sum of weight_of(i) x_i / divisor.
  const auto weighted_sum = [&](const auto& weight_of, float divisor) {
    if (is_first) std::fill(out, out + hidden, 0.0f);
    for (std::int64_t i = 0; i < count; ++i) kernels.axpy(weight_of(first + i), x + i * hidden, out, hidden);
    for (std::int64_t j = 0; is_last && j < hidden; ++j) out[j] /= divisor;
  };
  const auto one = [](std::int64_t) { return 1.0f; };
  const auto position_of = [](std::int64_t i) { return static_cast<float>(i + 1); };
  const auto n = static_cast<float>(rows.tokens - rows.skip);
  switch (mode) {
    case PoolingMode::kCls:
      if (is_first) std::copy(x, x + hidden, out);
      break;
    case PoolingMode::kLastToken:
      if (is_last) std::copy(x + (count - 1) * hidden, x + count * hidden, out);
      break;
    case PoolingMode::kMax:
      if (is_first) std::fill(out, out + hidden, -std::numeric_limits<float>::infinity());
      for (std::int64_t i = 0; i < count; ++i) kernels.max_into(x + i * hidden, out, hidden);
      break;
    case PoolingMode::kMean:
      weighted_sum(one, n);
      break;
    case PoolingMode::kMeanSqrtLen:
      weighted_sum(one, std::sqrt(n));
      break;
    case PoolingMode::kWeightedMean:
      weighted_sum(position_of, n * (position_of(rows.skip) + position_of(rows.tokens - 1)) / 2.0f);
      break;
  }
}

}  // namespace

std::optional<PoolingMode> pooling_mode_from_name(std::string_view name) {
  for (const auto& [known, mode] : kModeNames) {
    if (known == name) return mode;
  }
  return std::nullopt;
}

void pool_part(const Kernels& kernels, std::span<const PoolingMode> modes, const float* x, const PooledRows& rows,
               std::int64_t hidden, float* out) {
  const std::int64_t left_out = std::clamp<std::int64_t>(rows.skip - rows.begin, 0, rows.count);
  for (const PoolingMode mode : modes) {
    if (rows.skip >= rows.tokens) {
      std::fill(out, out + hidden, 0.0f);
    } else if (left_out < rows.count) {
      pool_one(kernels, mode, x + left_out * hidden, rows, hidden, out);
    }
    out += hidden;
  }
}

void pool(const Kernels& kernels, std::span<const PoolingMode> modes, const float* x, std::int64_t tokens, std::int64_t hidden,
          std::int64_t skip, float* out) {
  pool_part(kernels, modes, x, {.count = tokens, .skip = skip, .tokens = tokens}, hidden, out);
}

namespace {

void pool_one_backward(const Kernels& kernels, PoolingMode mode, const float* x, std::int64_t tokens, std::int64_t hidden,
                       std::int64_t position, const float* dy, float* dx) {
  const auto add_to_all = [&](const auto& weight_of) {
    for (std::int64_t i = 0; i < tokens; ++i) kernels.axpy(weight_of(i), dy, dx + i * hidden, hidden);
  };
  const auto n = static_cast<float>(tokens);
  const auto position_of = [&](std::int64_t i) { return static_cast<float>(position + i + 1); };
  switch (mode) {
    case PoolingMode::kCls:
      kernels.axpy(1.0f, dy, dx, hidden);
      break;
    case PoolingMode::kLastToken:
      kernels.axpy(1.0f, dy, dx + (tokens - 1) * hidden, hidden);
      break;
    case PoolingMode::kMax:
      for (std::int64_t j = 0; j < hidden; ++j) {
        std::int64_t best = 0;
        for (std::int64_t i = 1; i < tokens; ++i) best = x[i * hidden + j] > x[best * hidden + j] ? i : best;
        dx[best * hidden + j] += dy[j];
      }
      break;
    case PoolingMode::kMean:
      add_to_all([&](std::int64_t) { return 1.0f / n; });
      break;
    case PoolingMode::kMeanSqrtLen:
      add_to_all([&](std::int64_t) { return 1.0f / std::sqrt(n); });
      break;
    case PoolingMode::kWeightedMean: {
      const float divisor = n * (position_of(0) + position_of(tokens - 1)) / 2.0f;
      add_to_all([&](std::int64_t i) { return position_of(i) / divisor; });
      break;
    }
  }
}

}  // namespace

void pool_backward(const Kernels& kernels, std::span<const PoolingMode> modes, const float* x, std::int64_t tokens,
                   std::int64_t hidden, std::int64_t skip, const float* dy, float* dx) {
  const std::int64_t first = std::min(skip, tokens);
  for (const PoolingMode mode : modes) {
    if (first < tokens) {
      pool_one_backward(kernels, mode, x + first * hidden, tokens - first, hidden, first, dy, dx + first * hidden);
    }
    dy += hidden;
  }
}

}  // namespace wattn
