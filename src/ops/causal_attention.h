// Scaled dot-product attention of new tokens over all that their sequences have read before and themselves, grouped queries
// (arXiv 2305.13245) included. Keys and values are kept as the kernel wants them, so that a step packs nothing but its own.
#pragma once

#include <cstdint>
#include <span>

#include "core/arena.h"
#include "core/taps.h"
#include "ops/compute.h"
#include "ops/position.h"

namespace wattn {

struct CausalShape {
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t group() const { return heads / kv_heads; }
  std::int64_t row() const { return (heads + 2 * kv_heads) * head_dim; }  // of query, key and value, heads side by side
};

// Keys and values of places that hold up to length tokens. One head of one layer of one place: keys [length / 8][head_dim][8], then
// values [ceil(head_dim / 8)][length][8]; length is rounded up to whole eights.
struct Cache {
  std::int64_t places = 0;
  std::int64_t length = 0;
  std::int64_t layers = 0;
  CausalShape shape;
  float* data = nullptr;  // [places][layers][kv_heads][head_size()]

  std::int64_t key_size() const { return length * shape.head_dim; }
  std::int64_t head_size() const { return key_size() + (shape.head_dim + 7) / 8 * 8 * length; }
  std::int64_t place_size() const { return layers * shape.kv_heads * head_size(); }
  float* at(std::int64_t place, std::int64_t layer, std::int64_t head) const {
    return data + place * place_size() + (layer * shape.kv_heads + head) * head_size();
  }
};
Cache take_cache(Arena& arena, const CausalShape& shape, std::int64_t layers, std::int64_t places, std::int64_t length);
// The first tokens tokens of place from are copied to place to.
void copy_place(const Cache& cache, std::int64_t from, std::int64_t to, std::int64_t tokens);

struct CausalScratch {
  float* scores = nullptr;  // [rows of queries at a time, length]
};
CausalScratch take_causal_scratch(Arena& arena, const CausalShape& shape, std::int64_t length);

// New tokens of some sequences.
struct CausalTokens {
  std::span<const std::int32_t> seq_start;     // [batch + 1]
  std::span<const std::int32_t> position_ids;  // [tokens]
  std::span<const std::int32_t> places;        // [batch]
};

struct CausalTerms {
  std::int64_t window = -1;            // keys: the last so many, the query's own counted; -1: all
  const float* head_mask = nullptr;    // [heads], times the probabilities
  const DistanceBias* bias = nullptr;  // added to the scores
  bool scaled = true;                  // scores are divided by the root of head_dim
};

// qkv: [tokens, shape.row()]. Its keys and values go into the cache at their positions; context: [tokens, heads * head_dim]. taps
// sees "attention.probs", [heads, new tokens, position of the last + 1], of each sequence. scratch: one for each thread.
void causal_attention(const Compute& compute, const Cache& cache, const CausalTerms& terms, const CausalTokens& tokens,
                      const float* qkv, int layer, std::span<const CausalScratch> scratch, float* context, Taps* taps);

}  // namespace wattn
