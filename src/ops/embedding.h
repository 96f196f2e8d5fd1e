// Embedding tables: one row for each id, as torch.nn.Embedding.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "core/arena.h"
#include "kernels/kernels.h"

namespace wattn {

struct Embedding {
  std::int64_t rows = 0;
  std::int64_t hidden = 0;
  float* table = nullptr;  // [rows, hidden]
};

inline Embedding take_embedding(Arena& arena, std::int64_t rows, std::int64_t hidden) {
  return {rows, hidden, arena.take<float>(rows * hidden)};
}

// out[i, :] = table[ids[i], :]; ids were checked to be in [0, rows).
inline void embed_rows(const Embedding& embedding, std::span<const std::int32_t> ids, float* out) {
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const float* row = embedding.table + ids[i] * embedding.hidden;
    std::copy(row, row + embedding.hidden, out + i * embedding.hidden);
  }
}

// out[i, :] += table[ids[i], :].
inline void add_embedding_rows(const Kernels& kernels, const Embedding& embedding, std::span<const std::int32_t> ids, float* out) {
  for (std::size_t i = 0; i < ids.size(); ++i) {
    kernels.axpy(1.0f, embedding.table + ids[i] * embedding.hidden, out + i * embedding.hidden, embedding.hidden);
  }
}

}  // namespace wattn
