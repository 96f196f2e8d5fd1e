// Embedding tables: one row per id, as torch.nn.Embedding. Stored as f32, or as integers or f16 with one scale per row.
#pragma once

#include <cstdint>
#include <span>

#include "core/arena.h"
#include "kernels/kernels.h"
#include "ops/linear.h"

namespace wattn {

struct EmbeddingTable {
  std::int64_t rows = 0;
  std::int64_t hidden = 0;
  WeightType type = WeightType::kF32;
  void* table = nullptr;   // [rows, hidden] of float, int16, int8 or f16
  float* scale = nullptr;  // [rows]; none for f32
};

EmbeddingTable take_embedding(Arena& arena, WeightType type, std::int64_t rows, std::int64_t hidden);

// Sets row i from values [hidden].
void set_row(const EmbeddingTable& embedding, std::int64_t i, const float* values);
// The same from W8 blocks of one scale. False: the table has another type, or they are not of one scale.
bool set_row_blocks(const EmbeddingTable& embedding, std::int64_t i, const char* blocks);

// Sines in the first half of each row, cosines in the second: row p has the angles p / 10000^(2j / hidden) (arXiv 1706.03762, in
// Marian's layout).
void set_sinusoidal(const EmbeddingTable& embedding);
// fairseq's: row i has the sines, then the cosines of (first + i) * 10000^(-j / (hidden / 2 - 1)), rounded as PyTorch rounds them;
// the row of padding stays zero.
void set_fairseq_sinusoidal(const EmbeddingTable& embedding, std::int64_t first, std::int64_t padding);

// out[i, :] += table[ids[i], :]; ids are in [0, rows).
void add_embedding_rows(const EmbeddingTable& embedding, std::span<const std::int32_t> ids, float* out);

// Word embeddings: a row of the table for each token, or the row that token_rows names, times the token's weight. A head over the
// vocabulary that is tied to them has them in its place.
struct WordTable {
  const EmbeddingTable* table = nullptr;
  const float* token_rows = nullptr;     // [vocab] whole numbers, or null
  const float* token_weights = nullptr;  // [vocab], or null
  const LinearWeights* head = nullptr;   // [vocab, width] in place of the table, or null
  std::int32_t padding = -1;             // the token whose row does not learn (torch's padding_idx); -1: none

  // By which adapters know it.
  const void* key() const { return head ? head->weight : table->table; }
};
// out: [ids.size(), width], written.
void word_rows(const WordTable& words, std::span<const std::int32_t> ids, std::int64_t width, float* out);

// logits [count, vocab] = x [count, width] times the table's rows, plus bias [vocab]. Each row of the table is widened once; each
// logit is a sum over ascending k.
void tied_logits(const Compute& compute, const EmbeddingTable& words, const float* bias, const float* x, std::int64_t count,
                 float* logits);

// d_table[ids[i], :] += dy[i, :], in rising order of i; dy: [ids.size(), hidden], d_table: [rows, hidden].
void embedding_backward(std::span<const std::int32_t> ids, const float* dy, std::int64_t hidden, float* d_table);

}  // namespace wattn
