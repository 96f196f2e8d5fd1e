// Scaled dot-product attention, softmax(scale * q k^T + terms) v, arXiv 1706.03762, over packed sequences, with grouped queries
// (arXiv 2305.13245). Keys and values are those of the sequence itself, of a slot of a cache that the sequence goes on in, or of a
// source that lies in a slot (cross attention). Where they lie changes no bit of the result.
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
  std::int64_t kv_heads = 0;  // each serves group() heads of queries
  std::int64_t head_dim = 0;
  std::int64_t group() const { return heads / kv_heads; }
  std::int64_t query_width() const { return heads * head_dim; }
  std::int64_t kv_width() const { return kv_heads * head_dim; }
  std::int64_t qkv_width() const { return query_width() + 2 * kv_width(); }
};

// Keys and values of slots that hold up to length tokens each; length is rounded up to whole eights. One head of one layer of one
// slot: keys [length / 8][head_dim][8], then values [ceil(head_dim / 8)][length][8].
struct KvCache {
  std::int64_t slots = 0;
  std::int64_t length = 0;
  std::int64_t layers = 0;
  AttentionShape shape;
  float* data = nullptr;  // [slots][layers][kv_heads][head_size()]

  std::int64_t key_size() const { return length * shape.head_dim; }
  std::int64_t head_size() const { return key_size() + (shape.head_dim + 7) / 8 * 8 * length; }
  std::int64_t slot_size() const { return layers * shape.kv_heads * head_size(); }
  float* at(std::int64_t slot, std::int64_t layer, std::int64_t kv_head) const {
    return data + slot * slot_size() + (layer * shape.kv_heads + kv_head) * head_size();
  }
};
KvCache take_kv_cache(Arena& arena, const AttentionShape& shape, std::int64_t layers, std::int64_t slots, std::int64_t length);
// Copies the first tokens of slot from to slot to.
void copy_slot(const KvCache& cache, std::int64_t from, std::int64_t to, std::int64_t tokens);
// Puts the keys and values of tokens, rows stride apart and heads side by side, at positions position, position + 1, ... of a slot.
struct NewKv {
  const float* keys = nullptr;
  const float* values = nullptr;
  std::int64_t stride = 0;
  std::int64_t tokens = 0;
};
void store_kv(const KvCache& cache, std::int64_t slot, std::int64_t layer, std::int64_t position, const NewKv& kv);

// Added to the scores: data[sequence * strides[0] + head * strides[1] + query * strides[2] + key * strides[3]].
struct BroadcastMask {
  const float* data = nullptr;  // null: none
  std::int64_t strides[4] = {};
};

// What happens to the scores before the softmax, and which keys a query attends to. Positions count from the slot's beginning.
struct ScoreTerms {
  float scale = 1.0f;
  bool causal = false;                     // keys up to the query's own position
  std::int64_t window_before = -1;         // keys at most so many positions before the query's; -1: no limit
  std::int64_t window_after = -1;          // and after it
  const DistanceBias* bias = nullptr;      // added
  const Disentangled* relative = nullptr;  // added, times scale; of whole sequences without causal, window or slots
  BroadcastMask mask{};                    // added; a query whose scores are all -inf gets zeros
  const float* head_mask = nullptr;        // [heads], times the probabilities
};

// Queries, and where their keys and values come from.
struct AttentionInput {
  const float* queries = nullptr;  // [tokens, query_width], rows query_stride apart
  std::int64_t query_stride = 0;
  const float* keys = nullptr;  // [tokens, kv_width] of the same tokens; null: only what lies in the slots (cross attention)
  const float* values = nullptr;
  std::int64_t kv_stride = 0;
  std::span<const std::int32_t> seq_start;       // [batch + 1]
  const KvCache* cache = nullptr;                // null: keys and values of a sequence are forgotten after the call
  std::int64_t layer = 0;                        // of the cache
  std::span<const std::int32_t> slots{};         // [batch] of the cache
  std::span<const std::int32_t> position_ids{};  // [tokens] in the slots, which hold all before; unused without a cache
  std::span<const std::int32_t> lengths{};       // cross attention: [slots of the cache] tokens of each source
};

// What one thread of attention() needs.
struct AttentionScratch {
  float* keys = nullptr;    // one head of a sequence without a slot: [ceil(seq / 8)][head_dim][8]
  float* values = nullptr;  // [ceil(head_dim / 8)][seq][8]
  float* scores = nullptr;  // [queries at a time, keys]
  DisentangledScratch relative{};
};
// own_keys: tokens of the longest sequence without a slot. max_keys: the most keys a query attends to. buckets: of the
// Disentangled.
AttentionScratch take_attention_scratch(Arena& arena, const AttentionShape& shape, std::int64_t own_keys, std::int64_t max_keys,
                                        std::int64_t buckets);

// Where attention() shows NAME.probs, and of sequences without slots NAME.scores before the softmax: [heads, queries, keys] of each
// sequence.
struct AttentionTap {
  Taps* taps = nullptr;
  int layer = -1;
  const char* name = "attention";
};

// context: [tokens, query_width]. scratch: one for each thread.
void attention(const Compute& compute, const AttentionShape& shape, const ScoreTerms& terms, const AttentionInput& input,
               std::span<const AttentionScratch> scratch, float* context, const AttentionTap& tap);

}  // namespace wattn
