// build: -Os
#include "ops/attention_disentangled.h"

#include <algorithm>

#include "kernels/pack.h"
#include "ops/position.h"

namespace wattn {

DistanceBuckets take_distance_buckets(Arena& arena, std::int64_t span, std::int64_t num_buckets, std::int64_t max_distance) {
  const DistanceBuckets out{span, arena.take<std::int32_t>(2 * span - 1)};
  if (arena.measuring()) return out;
  const std::int64_t half = num_buckets > 0 ? num_buckets : max_distance;  // rows of the table for one direction
  for (std::int64_t d = 1 - span; d < span; ++d) {
    const std::int64_t bucket = num_buckets > 0 ? log_bucket(d, num_buckets, max_distance) : d;
    out.buckets[d + span - 1] = static_cast<std::int32_t>(std::clamp<std::int64_t>(bucket + half, 0, 2 * half - 1));
  }
  return out;
}

DisentangledScratch take_disentangled_scratch(Arena& arena, std::int64_t head_dim, std::int64_t max_seq, std::int64_t buckets,
                                              std::int64_t query_block) {
  DisentangledScratch scratch;
  scratch.packed = arena.take<float>(2 * packed_size(buckets, head_dim));
  scratch.by_key = arena.take<float>(max_seq * buckets);
  scratch.by_query = arena.take<float>(query_block * buckets);
  return scratch;
}

void prepare_relative(const Kernels& kernels, const RelativeHead& head, const float* keys, std::int64_t stride,
                      std::int64_t count) {
  const Disentangled& terms = *head.terms;
  float* packed = head.scratch.packed;
  pack_rows(packed, terms.queries_and_keys + head.query_column, terms.count, head.head_dim, head.width);
  pack_rows(packed + packed_size(terms.count, head.head_dim), terms.queries_and_keys + head.key_column, terms.count, head.head_dim,
            head.width);
  kernels.gemm_f32({.a = keys,
                    .a_stride = stride,
                    .b = packed,
                    .c = head.scratch.by_key,
                    .c_stride = terms.count,
                    .m = count,
                    .n = terms.count,
                    .k = head.head_dim,
                    .scale = head.scale});
}

void add_relative(const Kernels& kernels, const RelativeHead& head, const RelativeBlock& block) {
  const std::int64_t buckets = head.terms->count;
  kernels.gemm_f32({.a = block.queries,
                    .a_stride = block.query_stride,
                    .b = head.scratch.packed + packed_size(buckets, head.head_dim),
                    .c = head.scratch.by_query,
                    .c_stride = buckets,
                    .m = block.rows,
                    .n = buckets,
                    .k = head.head_dim,
                    .scale = head.scale});
  float* score = block.scores;
  for (std::int64_t i = 0; i < block.rows; ++i) {
    for (std::int64_t key = block.first_key; key < block.first_key + block.keys; ++key) {
      const std::int64_t bucket = head.terms->distances->of(block.row + i - key) - head.terms->first;
      *score++ += head.scratch.by_query[i * buckets + bucket] + head.scratch.by_key[key * buckets + bucket];
    }
  }
}

namespace {

// With w = weights[row, bucket]: to[row] += scale w rows[bucket], and d_rows[bucket] += scale w from[row].
struct BucketSums {
  const float* weights;  // [count, buckets]
  std::int64_t count;
  const float* from;  // [count, head_dim], like to, rows stride apart
  float* to;
  std::int64_t stride;
  std::int64_t column;  // of the rows of queries_and_keys
};

void add_bucket_sums(const Kernels& kernels, const RelativeHead& head, const BucketSums& sums, float* d_relative) {
  const std::int64_t buckets = head.terms->count;
  for (std::int64_t row = 0; row < sums.count; ++row) {
    for (std::int64_t bucket = 0; bucket < buckets; ++bucket) {
      const float weight = head.scale * sums.weights[row * buckets + bucket];
      if (weight == 0.0f) continue;
      const std::int64_t at = bucket * head.width + sums.column;
      kernels.axpy(weight, head.terms->queries_and_keys + at, sums.to + row * sums.stride, head.head_dim);
      if (d_relative) kernels.axpy(weight, sums.from + row * sums.stride, d_relative + at, head.head_dim);
    }
  }
}

}  // namespace

void relative_backward(const Kernels& kernels, const RelativeHead& head, const RelativeBlock& block,
                       const RelativeGradient& gradient) {
  const std::int64_t buckets = head.terms->count;
  std::fill_n(gradient.of_queries, block.rows * buckets, 0.0f);
  std::fill_n(gradient.of_keys, block.keys * buckets, 0.0f);
  const float* d = gradient.d_scores;
  for (std::int64_t i = 0; i < block.rows; ++i) {
    for (std::int64_t key = 0; key < block.keys; ++key, ++d) {
      const std::int64_t bucket = head.terms->distances->of(block.row + i - block.first_key - key) - head.terms->first;
      gradient.of_queries[i * buckets + bucket] += *d;
      gradient.of_keys[key * buckets + bucket] += *d;
    }
  }
  add_bucket_sums(kernels, head,
                  {gradient.of_queries, block.rows, block.queries, gradient.d_queries, block.query_stride, head.key_column},
                  gradient.d_relative);
  const std::int64_t first = block.first_key * gradient.key_stride;
  add_bucket_sums(
      kernels, head,
      {gradient.of_keys, block.keys, gradient.keys + first, gradient.d_keys + first, gradient.key_stride, head.query_column},
      gradient.d_relative);
}

}  // namespace wattn
