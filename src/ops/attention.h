// Scaled dot-product attention over packed sequences: softmax(scale * q k^T + terms) v, arXiv 1706.03762, with grouped queries
// (arXiv 2305.13245). Keys and values come from the batch itself (an encoder), from a growing cache slot (a decoder) or from a slot
// filled from an encoder's states (cross attention). Where they come from changes no bit of the result.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/arena.h"
#include "core/taps.h"
#include "ops/attention_disentangled.h"
#include "ops/compute.h"
#include "ops/dropout.h"
#include "ops/position.h"

namespace wattn {

struct AttentionShape {
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;    // equal to heads: no grouped queries
  std::int64_t head_dim = 0;    // of queries and keys
  std::int64_t value_dim = -1;  // of values and context; -1: head_dim

  std::int64_t group() const { return heads / kv_heads; }
  std::int64_t value_size() const { return value_dim >= 0 ? value_dim : head_dim; }
  std::int64_t query_width() const { return heads * head_dim; }
  std::int64_t kv_width() const { return kv_heads * head_dim; }
  std::int64_t qkv_width() const { return query_width() + kv_width() + kv_heads * value_size(); }
  std::int64_t context_width() const { return heads * value_size(); }
  bool operator==(const AttentionShape&) const = default;
};

// Keys and values of one kv head in kernel layout; length is a multiple of 8. Of a cache in 8 bits, Q8Rows says what is there.
struct KvHead {
  float* keys = nullptr;    // [length / 8][head_dim][8]
  float* values = nullptr;  // [ceil(value_dim / 8)][length][8]
  std::int64_t length = 0;
};

// Numbers of a KvHead in 8 bits: each is a whole one from -127 to 127 times a scale, which 32 numbers of a token's head share.
struct Q8Rows {
  float* scales = nullptr;         // [length / 8][groups][8]
  std::int8_t* numbers = nullptr;  // as KvHead has floats
  std::int64_t groups = 0;

  static constexpr std::int64_t kGroup = 32;
  static std::int64_t groups_of(std::int64_t width) { return (width + kGroup - 1) / kGroup; }
  // rows: the keys or values of a head, width wide.
  Q8Rows(float* rows, std::int64_t length, std::int64_t width)
      : scales(rows), numbers(reinterpret_cast<std::int8_t*>(rows + groups_of(width) * length)), groups(groups_of(width)) {}
  // Floats of memory. stored: width, padded.
  static std::int64_t size(std::int64_t length, std::int64_t width, std::int64_t stored) {
    return groups_of(width) * length + stored * length / 4;
  }
};

// Keys and values in slots of up to length tokens each; length is rounded up to a multiple of 8.
struct KvCache {
  std::int64_t slots = 0;
  std::int64_t length = 0;
  std::int64_t layers = 0;
  AttentionShape shape;
  float* data = nullptr;  // [slots][layers][kv_heads][head_size()]: the keys of a head, then its values
  // Beside them, what short convolutions have multiplied (ops/short_convolution.h). All rows stay, so a sequence may be cut
  // anywhere.
  std::int64_t product_width = 0, product_layers = 0;
  float* products = nullptr;  // [slots][product_layers][length][product_width]
  bool q8 = false;            // keys and values are in 8 bits
  // Recurrent states (ops/gated_delta.h), which belong to all that a slot has read: a sequence with one cannot be cut.
  std::int64_t state_size = 0, state_layers = 0;
  float* states = nullptr;  // [slots][state_layers][state_size]

  std::int64_t key_size() const { return q8 ? Q8Rows::size(length, shape.head_dim, shape.head_dim) : length * shape.head_dim; }
  std::int64_t head_size() const {
    const std::int64_t width = shape.value_size(), stored = (width + 7) / 8 * 8;
    return key_size() + (q8 ? Q8Rows::size(length, width, stored) : stored * length);
  }
  std::int64_t slot_size() const { return layers * shape.kv_heads * head_size(); }
  KvHead at(std::int64_t slot, std::int64_t layer, std::int64_t kv_head) const {
    float* keys = data + slot * slot_size() + (layer * shape.kv_heads + kv_head) * head_size();
    return {keys, keys + key_size(), length};
  }
  float* products_at(std::int64_t slot, std::int64_t layer) const {
    return products + (slot * product_layers + layer) * length * product_width;
  }
  float* states_at(std::int64_t slot, std::int64_t layer) const { return states + (slot * state_layers + layer) * state_size; }
};
KvCache take_kv_cache(Arena& arena, const AttentionShape& shape, std::int64_t layers, std::int64_t slots, std::int64_t length,
                      bool q8 = false);
// Some tokens of a slot, from position `begin` on, which is a multiple of 8.
struct SlotTokens {
  const KvCache& cache;
  std::int64_t slot = 0, begin = 0;
};
// Copies that many tokens to another slot of the same cache, or of one that has the same layers and shape. Nothing else changes
// there, but recurrent states, which are copied as they are if both have some.
void copy_tokens(const SlotTokens& from, const SlotTokens& to, std::int64_t tokens);
// Copies the first tokens of slot `from` to slot `to` of the same cache, or of target, which has the same layers and shape.
inline void copy_slot(const KvCache& cache, std::int64_t from, std::int64_t to, std::int64_t tokens,
                      const KvCache* target = nullptr) {
  copy_tokens({cache, from}, {target ? *target : cache, to}, tokens);
}

// Keys and values of sources: an encoder's states as projected by each layer's cross attention, one slot per source.
struct CrossKv {
  KvCache cache;
  std::vector<std::int32_t> lengths;  // [slots] tokens of each source
};

// Keys and values of consecutive tokens: token i starts at keys + i * stride, kv heads side by side.
struct KvRows {
  const float* keys = nullptr;
  const float* values = nullptr;
  std::int64_t stride = 0;
  std::int64_t tokens = 0;
  std::int64_t value_stride = 0;  // 0: stride
};
// Writes the rows to positions position, position + 1, ... of a slot.
void store_kv(const KvCache& cache, std::int64_t slot, std::int64_t layer, std::int64_t position, const KvRows& rows);

// A tensor broadcast to the scores, as strides of its indices; 0 repeats an element.
struct BroadcastMask {
  const float* data = nullptr;
  std::int64_t sequence = 0, head = 0, query = 0, key = 0;  // strides
};

// Applied in this order: scale, softcap, multiply, bias, relative, add, hidden keys, softmax, head_mask, dropout.
struct ScoreTerms {
  float scale = 1;                            // of the query-key products
  float softcap = 0;                          // c: scores become c * tanh(score / c), arXiv 2408.00118; 0: they stay
  bool causal = false;                        // hides the keys after a query's own position
  std::int64_t window_before = -1;            // hides keys further than this before the query; -1: no limit
  std::int64_t window_after = -1;             // hides keys further than this after the query; -1: no limit
  const DistanceBias* bias = nullptr;         // added
  const Disentangled* relative = nullptr;     // added, times scale; only without a cache
  const float* head_mask = nullptr;           // [heads], multiplies the probabilities
  std::span<const BroadcastMask> multiply{};  // multiply the scores
  std::span<const BroadcastMask> add{};       // added; -inf hides a key. A query with every key hidden gets zeros
  const ProbabilityDropout* dropout = nullptr;
};

// Queries and the location of their keys and values.
struct AttentionInput {
  const float* queries = nullptr;  // token i starts at queries + i * query_stride, heads side by side
  std::int64_t query_stride = 0;
  const float* keys = nullptr;    // of new tokens, as in KvRows; null: all keys are in the slots (cross attention)
  const float* values = nullptr;  // likewise
  std::int64_t kv_stride = 0;
  std::span<const std::int32_t> seq_start{};  // [batch + 1] of the queries
  const KvCache* cache = nullptr;             // null: keys and values are used once
  std::int64_t layer = 0;                     // of the cache
  std::span<const std::int32_t> slots{};      // [batch] of the cache
  // [tokens] positions of the queries among the keys, consecutive in each sequence; in a slot they continue after the stored
  // tokens. Unused without a cache when queries and keys are the same tokens.
  std::span<const std::int32_t> position_ids{};
  std::span<const std::int32_t> lengths{};    // [slots of the cache] tokens of each source; cross attention only
  std::span<const std::int32_t> key_start{};  // [batch + 1] of the new keys; empty: seq_start
  std::int64_t value_stride = 0;              // 0: kv_stride
};

// Memory of one thread.
struct AttentionScratch {
  float* kv = nullptr;      // keys, then values of one kv head of one sequence
  float* scores = nullptr;  // [rows of a block, keys]
  DisentangledScratch relative{};
};
// max_seq: most keys of a sequence without a cache, or with one in 8 bits (0: always with one in floats). max_keys: most keys of
// any sequence. buckets: of Disentangled, or 0.
AttentionScratch take_attention_scratch(Arena& arena, const AttentionShape& shape, std::int64_t max_seq, std::int64_t max_keys,
                                        std::int64_t buckets);

// For each sequence, shows "NAME.scores" (before the softmax, -inf for hidden keys; only without a cache) and "NAME.probs", each
// [heads, queries, keys].
struct AttentionTap {
  Taps* taps = nullptr;
  int layer = -1;
  std::string_view name = "attention";
};

// context: [tokens, context_width()]. Stores new keys and values in the cache first, if there is one. scratch: one per thread.
void attention(const Compute& compute, const AttentionShape& shape, const ScoreTerms& terms, const AttentionInput& input,
               std::span<const AttentionScratch> scratch, float* context, const AttentionTap& tap);

// Where the gradients of attention() go. Queries, keys and values are laid out as in its input, and added to.
struct AttentionGradient {
  const float* d_context = nullptr;  // [tokens, context_width()]
  float* d_queries = nullptr;
  float* d_keys = nullptr;
  float* d_values = nullptr;
  DistanceBias* d_bias = nullptr;  // of terms.bias, added to; null: not wanted
  float* d_relative = nullptr;     // of terms.relative->queries_and_keys, likewise
};

// Floats of scratch for attention_backward(), for each thread. max_tokens: queries or keys of any sequence; buckets: of
// Disentangled, or 0.
std::int64_t attention_backward_scratch(const AttentionShape& shape, std::int64_t max_tokens, std::int64_t buckets);

// The derivative of attention() without a cache, whose probabilities it computes again. scratch: one per thread, of
// attention_backward_scratch() floats.
void attention_backward(const Compute& compute, const AttentionShape& shape, const ScoreTerms& terms, const AttentionInput& input,
                        std::span<float* const> scratch, const AttentionGradient& gradient);

}  // namespace wattn
