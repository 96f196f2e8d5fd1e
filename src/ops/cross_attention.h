// Attention of a decoder's tokens over all of a source that an encoder has read (arXiv 1706.03762): the source's keys and values
// are made once and stay in a cache, a place for each source.
#pragma once

#include <cstdint>
#include <span>

#include "core/taps.h"
#include "ops/causal_attention.h"

namespace wattn {

// kv: [tokens, 2 * heads * head_dim], each row keys and values, heads side by side; they become places 0 .. tokens of the cache's
// place.
void store_source(const Cache& cache, std::int64_t place, std::int64_t layer, const float* kv, std::int64_t tokens);

// New tokens of some sequences, and what each looks at.
struct CrossTokens {
  std::span<const std::int32_t> seq_start;  // [batch + 1]
  std::span<const std::int32_t> sources;    // [batch] places in the cache
  std::span<const std::int32_t> lengths;    // [places] tokens of each source
};

// queries, context: [tokens, heads * head_dim]. Of terms the window and the bias mean nothing here. taps sees
// "cross_attention.probs", [heads, new tokens, length of the source], of each sequence. scratch: one for each thread.
void cross_attention(const Compute& compute, const Cache& cache, const CausalTerms& terms, const CrossTokens& tokens,
                     const float* queries, int layer, std::span<const CausalScratch> scratch, float* context, Taps* taps);

}  // namespace wattn
