// Scaled dot-product attention over packed sequences: softmax(scale * q k^T + terms) v, arXiv 1706.03762, with grouped queries
// (arXiv 2305.13245). Keys and values lie in a sequence that is read once (an encoder's pass), in a slot that grows (a decoder's),
// or in a slot that another model has filled (cross attention). Where they lie changes no bit.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "core/arena.h"
#include "core/taps.h"
#include "ops/attention_disentangled.h"
#include "ops/compute.h"
#include "ops/position.h"

namespace wattn {

struct AttentionShape {
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;    // heads: no grouped queries
  std::int64_t head_dim = 0;    // of queries and keys
  std::int64_t value_dim = -1;  // of values and context; -1: head_dim

  std::int64_t group() const { return heads / kv_heads; }
  std::int64_t value_size() const { return value_dim >= 0 ? value_dim : head_dim; }
  std::int64_t query_width() const { return heads * head_dim; }
  std::int64_t kv_width() const { return kv_heads * head_dim; }
  std::int64_t qkv_width() const { return query_width() + kv_width() + kv_heads * value_size(); }
  std::int64_t context_width() const { return heads * value_size(); }
};

// Keys and values of one kv head, as the kernel reads them; length is a multiple of 8.
struct KvHead {
  float* keys = nullptr;    // [length / 8][head_dim][8]
  float* values = nullptr;  // [ceil(value_dim / 8)][length][8]
  std::int64_t length = 0;
};

// Keys and values of slots that hold up to length tokens each; length is rounded up to a multiple of 8.
struct KvCache {
  std::int64_t slots = 0;
  std::int64_t length = 0;
  std::int64_t layers = 0;
  AttentionShape shape;
  float* data = nullptr;  // [slots][layers][kv_heads][head_size()], of each head the keys, then the values

  std::int64_t key_size() const { return length * shape.head_dim; }
  std::int64_t head_size() const { return key_size() + (shape.value_size() + 7) / 8 * 8 * length; }
  std::int64_t slot_size() const { return layers * shape.kv_heads * head_size(); }
  KvHead at(std::int64_t slot, std::int64_t layer, std::int64_t kv_head) const {
    float* keys = data + slot * slot_size() + (layer * shape.kv_heads + kv_head) * head_size();
    return {keys, keys + key_size(), length};
  }
};
KvCache take_kv_cache(Arena& arena, const AttentionShape& shape, std::int64_t layers, std::int64_t slots, std::int64_t length);
// Copies the first tokens of a slot to another slot, of target where there is one: a cache of the same layers and shape.
void copy_slot(const KvCache& cache, std::int64_t from, std::int64_t to, std::int64_t tokens, const KvCache* target = nullptr);

// Keys and values of consecutive tokens: token i at keys + i * stride, kv heads side by side.
struct KvRows {
  const float* keys = nullptr;
  const float* values = nullptr;
  std::int64_t stride = 0;
  std::int64_t tokens = 0;
  std::int64_t value_stride = 0;  // 0: stride
};
// Writes the rows to positions position, position + 1, ... of a slot.
void store_kv(const KvCache& cache, std::int64_t slot, std::int64_t layer, std::int64_t position, const KvRows& rows);

// A tensor broadcast to the scores: the element for a score lies at the sum of its indices times these strides.
struct BroadcastMask {
  const float* data = nullptr;
  std::int64_t sequence = 0, head = 0, query = 0, key = 0;  // strides
};

// What is done to the scores and probabilities: scale, multiply, bias, relative, add, hidden keys, softmax, head_mask.
struct ScoreTerms {
  float scale = 1;                            // of the products of queries and keys
  bool causal = false;                        // hides the keys after a query's own position
  std::int64_t window_before = -1;            // hides keys more than so many tokens before the query; -1: no limit
  std::int64_t window_after = -1;             // the same after the query
  const DistanceBias* bias = nullptr;         // added
  const Disentangled* relative = nullptr;     // added, times scale; only without a cache
  const float* head_mask = nullptr;           // [heads], times the probabilities
  std::span<const BroadcastMask> multiply{};  // times the scores
  std::span<const BroadcastMask> add{};       // added; -inf hides a key. A query with every key hidden gets zeros
};

// Queries, and where their keys and values lie.
struct AttentionInput {
  const float* queries = nullptr;  // token i at queries + i * query_stride, heads side by side
  std::int64_t query_stride = 0;
  const float* keys = nullptr;    // of new tokens, as in KvRows; null: all keys and values lie in the slots (cross attention)
  const float* values = nullptr;  // likewise
  std::int64_t kv_stride = 0;
  std::span<const std::int32_t> seq_start{};  // [batch + 1] of the queries
  const KvCache* cache = nullptr;             // null: keys and values are packed into scratch and forgotten
  std::int64_t layer = 0;                     // of the cache
  std::span<const std::int32_t> slots{};      // [batch] of the cache
  // [tokens] of the queries among the keys, rising by one in each sequence; in a slot they continue after the tokens stored there.
  // Unused when queries and keys are the same tokens and there is no cache.
  std::span<const std::int32_t> position_ids{};
  std::span<const std::int32_t> lengths{};    // [slots of the cache] tokens of each source; for cross attention alone
  std::span<const std::int32_t> key_start{};  // [batch + 1] of the new keys; empty: seq_start
  std::int64_t value_stride = 0;              // 0: kv_stride
};

// What one thread needs while it runs.
struct AttentionScratch {
  float* kv = nullptr;      // keys, then values of one kv head of one sequence
  float* scores = nullptr;  // [rows at a time, keys]
  DisentangledScratch relative{};
};
// max_seq: most keys of a sequence without a cache, 0 if there is always one; max_keys: most keys of any sequence; buckets: of
// Disentangled, 0 without.
AttentionScratch take_attention_scratch(Arena& arena, const AttentionShape& shape, std::int64_t max_seq, std::int64_t max_keys,
                                        std::int64_t buckets);

// Shows "NAME.scores" (before the softmax, -inf where no query attends; only without a cache) and "NAME.probs", each
// [heads, queries, keys], for each sequence.
struct AttentionTap {
  Taps* taps = nullptr;
  int layer = -1;
  std::string_view name = "attention";
};

// context: [tokens, context_width()]. With a cache, stores new keys and values in the slots first. scratch: one for each thread.
void attention(const Compute& compute, const AttentionShape& shape, const ScoreTerms& terms, const AttentionInput& input,
               std::span<const AttentionScratch> scratch, float* context, const AttentionTap& tap);

}  // namespace wattn
