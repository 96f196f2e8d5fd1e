// What the forward and the backward pass of attention share: blocks of queries, their scores and probabilities.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "kernels/pack.h"
#include "ops/attention.h"

namespace wattn::attention_blocks {

// Queries scored at a time, so that the full score matrix of a long sequence never exists.
constexpr std::int64_t kQueryBlock = 48;
constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

inline std::int64_t whole_panels(std::int64_t tokens) { return (tokens + kPanelWidth - 1) / kPanelWidth * kPanelWidth; }

struct Range {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t size() const { return end - begin; }
};

struct Call {
  const Kernels& kernels;
  const AttentionShape& shape;
  const ScoreTerms& terms;
  const AttentionInput& input;
  float* context;
};

// One sequence of the batch.
struct Sequence {
  std::int64_t index;
  std::int64_t begin;  // of its queries in the batch
  std::int64_t queries;
  std::int64_t position;  // of the first query
  std::int64_t keys;      // stored in the slot and new
  KvRows fresh;           // new keys and values, all kv heads
};

Sequence sequence_at(const AttentionInput& input, std::int64_t i);

// Rows of scores computed together: consecutive queries of one head, or one query of several heads.
struct Block {
  std::int64_t head;
  std::int64_t head_step;  // 1: row i belongs to head + i; 0: all rows belong to head
  std::int64_t query;      // of the first row, counted within the sequence
  std::int64_t rows;
  Range keys{};
  float* scores;  // [rows, keys.size()]

  std::int64_t head_at(std::int64_t row) const { return head + row * head_step; }
  std::int64_t query_at(std::int64_t row) const { return query + row * (1 - head_step); }
  float* scores_at(std::int64_t row) const { return scores + row * keys.size(); }
};

// Scores and probabilities of one sequence, [heads, queries, keys] each, collected for taps.
struct Captured {
  std::vector<float> scores, probs;
  Captured(std::int64_t heads, const Sequence& sequence)
      : scores(static_cast<std::size_t>(heads * sequence.queries * sequence.keys), kMinusInfinity), probs(scores.size()) {}
};

// The keys a query attends to.
Range keys_of(const ScoreTerms& terms, const Sequence& sequence, std::int64_t query);

// score = f(score, element of the mask)
template <class F>
void apply_mask(const BroadcastMask& mask, const Sequence& sequence, const Block& block, const F& f) {
  for (std::int64_t i = 0; i < block.rows; ++i) {
    const float* row = mask.data + sequence.index * mask.sequence + block.head_at(i) * mask.head + block.query_at(i) * mask.query;
    float* score = block.scores_at(i);
    for (std::int64_t key = block.keys.begin; key < block.keys.end; ++key, ++score) *score = f(*score, row[key * mask.key]);
  }
}

// The products of a block's queries with its keys, scaled and capped: [rows, keys].
void products(const Call& call, const Sequence& sequence, const Block& block, const float* keys, float* out);

// Computes a block's scores and turns them into probabilities in place.
void score(const Call& call, const Sequence& sequence, const Block& block, const KvHead& kv, const RelativeHead* relative,
           Captured* captured);

// Factors of a block's probabilities, to themselves or to their gradients.
void drop_block(const Call& call, const Sequence& sequence, const Block& block, float* values);

RelativeHead relative_head(const Call& call, std::int64_t head, const DisentangledScratch& scratch);

}  // namespace wattn::attention_blocks
