// Scaled dot-product self-attention over packed sequences: softmax(scale * q k^T + bias) v, arXiv 1706.03762.
// A sequence attends to itself only, so no padding and no mask exist.
#pragma once

#include <cstdint>
#include <span>

#include "core/arena.h"
#include "core/taps.h"
#include "ops/attention_disentangled.h"
#include "ops/compute.h"
#include "ops/position.h"

namespace wattn {

struct AttentionShape {
  std::int64_t heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t hidden() const { return heads * head_dim; }
};

// What a layer's attention does beyond the plain one.
struct AttentionTerms {
  std::int64_t window = -1;                // keys at most so many tokens away; -1: all of the sequence
  const DistanceBias* bias = nullptr;      // added to the scores
  const Disentangled* relative = nullptr;  // added to the scores, which it scales too
  const float* head_mask = nullptr;        // [heads], times the probabilities
  bool scaled = true;                      // scores are divided by the root of head_dim
};

// What one thread of self_attention needs while it runs, for sequences of at most max_seq tokens.
struct AttentionScratch {
  float* keys = nullptr;    // one head, packed: [ceil(max_seq / 8)][head_dim][8]
  float* values = nullptr;  // one head, packed: [ceil(head_dim / 8)][max_seq][8]
  float* scores = nullptr;  // [kQueryBlock, max_seq]
  DisentangledScratch relative{};
};
// buckets: of the Disentangled, 0 for none.
AttentionScratch take_attention_scratch(Arena& arena, const AttentionShape& shape, std::int64_t max_seq, std::int64_t buckets);

// qkv: [tokens, 3 * hidden], each row query, key and value, heads side by side. context: [tokens, hidden].
// seq_start: [batch + 1]. taps sees "attention.scores" (before the softmax) and "attention.probs", [heads, seq, seq], of
// each sequence; layer is only for them.
// scratch: one for each thread.
void self_attention(const Compute& compute, const AttentionShape& shape, const AttentionTerms& terms, const float* qkv,
                    std::span<const std::int32_t> seq_start, std::span<const AttentionScratch> scratch, float* context, Taps* taps,
                    int layer);

}  // namespace wattn
