#include "ops/attention_disentangled.h"

#include <algorithm>

#include "kernels/pack.h"
#include "ops/position.h"

namespace wattn {

DistanceBuckets take_distance_buckets(Arena& arena, std::int64_t span, std::int64_t num_buckets, std::int64_t max_distance) {
  const DistanceBuckets out{span, arena.take<std::int32_t>(2 * span - 1)};
  if (arena.measuring()) return out;
  const std::int64_t half = num_buckets > 0 ? num_buckets : max_distance;  // of the table
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

void prepare_relative(const Kernels& kernels, const RelativeHead& at, const float* keys, std::int64_t stride) {
  const Disentangled& terms = *at.terms;
  const float* of_head = terms.queries_and_keys + at.head * at.head_dim;
  const std::int64_t size = packed_size(terms.count, at.head_dim);
  pack_rows(at.scratch.packed, of_head, terms.count, at.head_dim, 2 * at.hidden);
  pack_rows(at.scratch.packed + size, of_head + at.hidden, terms.count, at.head_dim, 2 * at.hidden);
  kernels.gemm_f32({.a = keys,
                    .a_stride = stride,
                    .b = at.scratch.packed,
                    .c = at.scratch.by_key,
                    .c_stride = terms.count,
                    .m = at.seq,
                    .n = terms.count,
                    .k = at.head_dim,
                    .scale = at.scale});
}

void add_relative(const Kernels& kernels, const RelativeHead& at, const float* queries, std::int64_t stride, std::int64_t row,
                  std::int64_t rows, float* scores) {
  const std::int64_t buckets = at.terms->count;
  kernels.gemm_f32({.a = queries,
                    .a_stride = stride,
                    .b = at.scratch.packed + packed_size(buckets, at.head_dim),
                    .c = at.scratch.by_query,
                    .c_stride = buckets,
                    .m = rows,
                    .n = buckets,
                    .k = at.head_dim,
                    .scale = at.scale});
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < at.seq; ++j) {
      const std::int64_t bucket = at.terms->distances->of(row + i - j) - at.terms->first;
      *scores++ += at.scratch.by_query[i * buckets + bucket] + at.scratch.by_key[j * buckets + bucket];
    }
  }
}

}  // namespace wattn
