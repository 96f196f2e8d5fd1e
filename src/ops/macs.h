// Multiply-accumulates (MACs) of matrix products, for summaries: what a forward computes. Norms, activations and the softmax have
// none.
#pragma once

#include <algorithm>
#include <cstdint>

#include "ops/attention.h"

namespace wattn {

// Pairs of a query and a key that attention scores in one sequence. Query i is at position past + i; the keys are at 0 .. keys - 1.
inline std::int64_t scored_pairs(const ScoreTerms& terms, std::int64_t queries, std::int64_t keys, std::int64_t past = 0) {
  std::int64_t pairs = 0;
  for (std::int64_t at = past; at < past + queries; ++at) {
    const std::int64_t begin = terms.window_before < 0 ? 0 : std::max<std::int64_t>(0, at - terms.window_before);
    std::int64_t end = terms.causal ? std::min(keys, at + 1) : keys;
    if (terms.window_after >= 0) end = std::min(end, at + terms.window_after + 1);
    pairs += std::max<std::int64_t>(0, end - begin);
  }
  return pairs;
}

// q k^T and the sum over values, of all heads.
inline std::int64_t attention_macs(const AttentionShape& shape, std::int64_t pairs) {
  return pairs * (shape.query_width() + shape.context_width());
}

}  // namespace wattn
