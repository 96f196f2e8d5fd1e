// Disentangled attention of DeBERTa, arXiv 2006.03654 and 2111.09543: adds scale * (q_i . pk[b] + k_j . pq[b]) to the score of
// query i and key j. b is the bucket of the distance i - j; pk and pq are the relative embeddings projected by the
// layer's key and query matrices.
#pragma once

#include <cstdint>

#include "core/arena.h"
#include "ops/compute.h"

namespace wattn {

// The bucket of each distance i - j: a row of the table of relative embeddings.
struct DistanceBuckets {
  std::int64_t span = 0;  // positions: |i - j| < span
  std::int32_t* buckets = nullptr;
  std::int64_t of(std::int64_t distance) const { return buckets[distance + span - 1]; }
};
// num_buckets: position_buckets; below 1: one bucket per distance. max_distance: max_relative_positions.
DistanceBuckets take_distance_buckets(Arena& arena, std::int64_t span, std::int64_t num_buckets, std::int64_t max_distance);

// Buckets [first, first + count), those that a batch needs.
struct Disentangled {
  const DistanceBuckets* distances = nullptr;
  std::int64_t first = 0;
  std::int64_t count = 0;
  const float* queries_and_keys = nullptr;  // [count, query width + kv width]: pq, then pk, heads side by side
};

struct DisentangledScratch {
  float* packed = nullptr;    // pq, then pk: [ceil(buckets / 8)][head_dim][8]
  float* by_key = nullptr;    // [keys, buckets] k . pq
  float* by_query = nullptr;  // [query block, buckets] q . pk
};
DisentangledScratch take_disentangled_scratch(Arena& arena, std::int64_t head_dim, std::int64_t max_seq, std::int64_t buckets,
                                              std::int64_t query_block);

struct RelativeHead {
  const Disentangled* terms;
  const DisentangledScratch& scratch;
  std::int64_t head_dim;
  std::int64_t query_column;  // where this head's pq begins in a row of queries_and_keys
  std::int64_t key_column;    // where its pk begins
  std::int64_t width;         // of a row of queries_and_keys
  float scale;
};

// Called once per head and sequence. keys: [count, head_dim], rows stride apart.
void prepare_relative(const Kernels& kernels, const RelativeHead& head, const float* keys, std::int64_t stride, std::int64_t count);

// Scores of queries at positions row, row + 1, ... and keys at positions first_key, first_key + 1, ...
struct RelativeBlock {
  const float* queries;  // rows query_stride apart
  std::int64_t query_stride;
  std::int64_t row, rows;
  std::int64_t first_key, keys;
  float* scores;  // [rows, keys]
};
void add_relative(const Kernels& kernels, const RelativeHead& head, const RelativeBlock& block);

// Gradients of what add_relative() read; all are added to. Rows as in RelativeBlock.
struct RelativeGradient {
  const float* d_scores;  // [rows, keys]
  const float* keys;      // of position 0, rows key_stride apart, as d_keys
  std::int64_t key_stride;
  float* d_queries;   // of the block's first row, rows query_stride apart
  float* d_keys;      // of position 0
  float* d_relative;  // as Disentangled::queries_and_keys; null: not wanted
  float* of_queries;  // scratch, [rows, buckets]
  float* of_keys;     // scratch, [keys, buckets]
};
void relative_backward(const Kernels& kernels, const RelativeHead& head, const RelativeBlock& block,
                       const RelativeGradient& gradient);

}  // namespace wattn
