// build: -Os
#include "ops/embedding.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/real_math.h"
#include "kernels/half.h"
#include "kernels/quant.h"
#include "ops/position.h"

namespace wattn {
namespace {

template <class T>
void quantize_row(const float* values, std::int64_t n, T* out, float& scale) {
  constexpr auto kLargestQ = static_cast<float>(std::numeric_limits<T>::max());
  const float largest = largest_magnitude(values, n);
  scale = largest / kLargestQ;
  round_all(values, finite_or_zero(kLargestQ / largest), n, out);
}

template <class T>
void add_scaled_row(const T* row, float scale, std::int64_t n, float* out) {
  if constexpr (std::is_same_v<T, std::uint16_t>) {
    widen_row(row, scale, n, 1, true, out);
  } else {
    for (std::int64_t j = 0; j < n; ++j) out[j] += static_cast<float>(row[j]) * scale;
  }
}

// f(table) with the type of its elements.
template <class F>
void with_table(const EmbeddingTable& embedding, const F& f) {
  switch (embedding.type) {
    case WeightType::kF32:
      return f(static_cast<float*>(embedding.table));
    case WeightType::kQ16:
      return f(static_cast<std::int16_t*>(embedding.table));
    case WeightType::kQ8:
    case WeightType::kQ4:
      return f(static_cast<std::int8_t*>(embedding.table));
    case WeightType::kF16:
      return f(static_cast<std::uint16_t*>(embedding.table));
  }
}

// Rows of a table widened at a time.
constexpr std::int64_t kTiedRows = 8;

}  // namespace

EmbeddingTable take_embedding(Arena& arena, WeightType type, std::int64_t rows, std::int64_t hidden) {
  EmbeddingTable embedding{rows, hidden, at_least_q8(type)};
  with_table(embedding, [&]<class T>(T*) { embedding.table = arena.take<T>(rows * hidden); });
  if (type != WeightType::kF32) embedding.scale = arena.take<float>(rows);
  return embedding;
}

void set_row(const EmbeddingTable& embedding, std::int64_t i, const float* values) {
  with_table(embedding, [&]<class T>(T* table) {
    T* row = table + i * embedding.hidden;
    if constexpr (std::is_same_v<T, float>) {
      std::copy_n(values, embedding.hidden, row);
    } else if constexpr (std::is_same_v<T, std::uint16_t>) {
      embedding.scale[i] = narrow_row(values, embedding.hidden, row, 1);
    } else {
      quantize_row(values, embedding.hidden, row, embedding.scale[i]);
    }
  });
}

bool set_row_blocks(const EmbeddingTable& embedding, std::int64_t i, const char* blocks) {
  constexpr std::int64_t kSize = kQuantGroup<std::int8_t>;
  if (embedding.type != WeightType::kQ8 || embedding.hidden % kSize != 0) return false;
  auto* row = static_cast<std::int8_t*>(embedding.table) + i * embedding.hidden;
  for (std::int64_t at = 0; at < embedding.hidden; at += kSize, blocks += sizeof(QuantBlock)) {
    QuantBlock block;
    std::memcpy(&block, blocks, sizeof block);
    if (at == 0) embedding.scale[i] = block.scale;
    if (!(block.scale == embedding.scale[i]) || block.scale > std::numeric_limits<float>::max()) return false;
    std::copy_n(block.weights, kSize, row + at);
  }
  return true;
}

void set_sinusoidal(const EmbeddingTable& embedding) {
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

void set_fairseq_sinusoidal(const EmbeddingTable& embedding, std::int64_t first, std::int64_t padding) {
  const std::int64_t half = embedding.hidden / 2;
  const auto step = static_cast<float>(log64(10000) / static_cast<double>(std::max<std::int64_t>(half - 1, 1)));
  std::vector<float> row(static_cast<std::size_t>(embedding.hidden));
  for (std::int64_t i = 0; i < embedding.rows; ++i) {
    if (i == padding) continue;
    for (std::int64_t j = 0; j < half; ++j) {
      const auto frequency = static_cast<float>(exp64(-(static_cast<float>(j) * step)));
      const float angle = static_cast<float>(first + i) * frequency;
      row[j] = static_cast<float>(sin64(angle));
      row[half + j] = static_cast<float>(cos64(angle));
    }
    set_row(embedding, i, row.data());
  }
}

void add_embedding_rows(const EmbeddingTable& embedding, std::span<const std::int32_t> ids, float* out) {
  with_table(embedding, [&](const auto* table) {
    for (const std::int32_t id : ids) {
      add_scaled_row(table + id * embedding.hidden, embedding.scale ? embedding.scale[id] : 1.0f, embedding.hidden, out);
      out += embedding.hidden;
    }
  });
}

void word_rows(const WordTable& words, std::span<const std::int32_t> ids, std::int64_t width, float* out) {
  if (words.head) {
    for (const std::int32_t id : ids) get_weight_row(*words.head, id, std::exchange(out, out + width));
    return;
  }
  std::fill(out, out + static_cast<std::int64_t>(ids.size()) * width, 0.0f);
  if (!words.token_rows && !words.token_weights) return add_embedding_rows(*words.table, ids, out);
  for (const std::int32_t id : ids) {
    const std::int32_t row = words.token_rows ? static_cast<std::int32_t>(words.token_rows[id]) : id;
    add_embedding_rows(*words.table, {&row, 1}, out);
    const float weight = words.token_weights ? words.token_weights[id] : 1.0f;
    for (std::int64_t j = 0; weight != 1.0f && j < width; ++j) out[j] *= weight;
    out += width;
  }
}

void tied_logits(const Compute& compute, const EmbeddingTable& words, const float* bias, const float* x, std::int64_t count,
                 float* logits) {
  for_parts(compute, words.rows, kTiedRows, 1024, [&](std::int64_t begin, std::int64_t end) {
    std::vector<float> table(static_cast<std::size_t>(kTiedRows * words.hidden));
    std::int32_t ids[kTiedRows];
    for (std::int64_t first = begin; first < end; first += kTiedRows) {
      const std::int64_t rows = std::min(kTiedRows, end - first);
      std::fill(table.begin(), table.end(), 0.0f);
      for (std::int64_t j = 0; j < rows; ++j) ids[j] = static_cast<std::int32_t>(first + j);
      add_embedding_rows(words, {ids, static_cast<std::size_t>(rows)}, table.data());
      for (std::int64_t i = 0; i < count; ++i) {
        float sum[kTiedRows] = {};
        for (std::int64_t k = 0; k < words.hidden; ++k) {
          for (std::int64_t j = 0; j < kTiedRows; ++j) sum[j] += x[i * words.hidden + k] * table[j * words.hidden + k];
        }
        for (std::int64_t j = 0; j < rows; ++j) logits[i * words.rows + first + j] = sum[j] + bias[first + j];
      }
    }
  });
}

void embedding_backward(std::span<const std::int32_t> ids, const float* dy, std::int64_t hidden, float* d_table) {
  for (const std::int32_t id : ids) {
    float* row = d_table + id * hidden;
    for (std::int64_t j = 0; j < hidden; ++j) row[j] += dy[j];
    dy += hidden;
  }
}

}  // namespace wattn
