#include "ops/embedding.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/real_math.h"
#include "kernels/quant.h"
#include "ops/position.h"

namespace wattn {
namespace {

constexpr float kLargestInt16 = 32767;
constexpr float kLargestInt8 = 127;

template <class T>
void quantize_row(float largest_q, const float* values, std::int64_t n, T* out, float& scale) {
  const float largest = largest_magnitude(values, n);
  scale = largest / largest_q;
  round_all(values, finite_or_zero(largest_q / largest), n, out);
}

template <class T>
void add_scaled_row(const T* row, float scale, std::int64_t n, float* out) {
  for (std::int64_t j = 0; j < n; ++j) out[j] += static_cast<float>(row[j]) * scale;
}

}  // namespace

Embedding take_embedding(Arena& arena, WeightType type, std::int64_t rows, std::int64_t hidden) {
  Embedding embedding{rows, hidden, at_least_q8(type)};
  switch (embedding.type) {
    case WeightType::kF32:
      embedding.table = arena.take<float>(rows * hidden);
      return embedding;
    case WeightType::kQ16:
      embedding.table = arena.take<std::int16_t>(rows * hidden);
      break;
    case WeightType::kQ8:
    case WeightType::kQ4:
      embedding.table = arena.take<std::int8_t>(rows * hidden);
      break;
  }
  embedding.scale = arena.take<float>(rows);
  return embedding;
}

void set_row(const Embedding& embedding, std::int64_t i, const float* values) {
  const std::int64_t at = i * embedding.hidden;
  switch (embedding.type) {
    case WeightType::kF32:
      std::copy(values, values + embedding.hidden, static_cast<float*>(embedding.table) + at);
      break;
    case WeightType::kQ16:
      quantize_row(kLargestInt16, values, embedding.hidden, static_cast<std::int16_t*>(embedding.table) + at, embedding.scale[i]);
      break;
    case WeightType::kQ8:
    case WeightType::kQ4:
      quantize_row(kLargestInt8, values, embedding.hidden, static_cast<std::int8_t*>(embedding.table) + at, embedding.scale[i]);
      break;
  }
}

void set_sinusoidal(const Embedding& embedding) {
  const std::int64_t half = (embedding.hidden + 1) / 2;
  std::vector<float> row(static_cast<std::size_t>(embedding.hidden));
  for (std::int64_t p = 0; p < embedding.rows; ++p) {
    for (std::int64_t j = 0; j < half; ++j) {
      const double angle = sinusoidal_angle(p, 2 * j, embedding.hidden, 10000);
      row[j] = static_cast<float>(sin64(angle));
      if (half + j < embedding.hidden) row[half + j] = static_cast<float>(cos64(angle));
    }
    set_row(embedding, p, row.data());
  }
}

void add_embedding_rows(const Embedding& embedding, std::span<const std::int32_t> ids, float* out) {
  for (std::size_t i = 0; i < ids.size(); ++i, out += embedding.hidden) {
    const std::int64_t at = ids[i] * embedding.hidden;
    switch (embedding.type) {
      case WeightType::kF32:
        add_scaled_row(static_cast<const float*>(embedding.table) + at, 1.0f, embedding.hidden, out);
        break;
      case WeightType::kQ16:
        add_scaled_row(static_cast<const std::int16_t*>(embedding.table) + at, embedding.scale[ids[i]], embedding.hidden, out);
        break;
      case WeightType::kQ8:
      case WeightType::kQ4:
        add_scaled_row(static_cast<const std::int8_t*>(embedding.table) + at, embedding.scale[ids[i]], embedding.hidden, out);
        break;
    }
  }
}

}  // namespace wattn
