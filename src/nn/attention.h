// Scaled dot-product attention, arXiv 1706.03762 3.2.1: ops/attention.h over tensors with any leading dimensions.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/random.h"
#include "nn/cache.h"
#include "nn/tensor.h"

namespace wattn::nn {

// Changes to the scores q k^T * scale before the softmax, in this order. Tensors are broadcast to [..., queries, keys].
struct ScoreChanges {
  std::vector<const Tensor*> multiply{};
  std::vector<const Tensor*> add{};  // -inf hides a key
  bool causal = false;               // query i attends to keys 0 .. past + i
  std::int64_t past = 0;
  double dropout = 0;  // of the probabilities, with random
  Generator* random = nullptr;
};

// softmax(q k^T * scale) v -> output [..., queries, d_v], weights [..., queries, keys]. q: [..., queries, d_k], k: [..., keys,
// d_k], v: [..., keys, d_v]; leading dimensions are broadcast. scale: 1 / sqrt(d_k) by default. A query with every key hidden gets
// zeros, as in torch.
Result<Outputs> scaled_dot_product_attention(const Tensor& q, const Tensor& k, const Tensor& v, const ScoreChanges& changes = {},
                                             std::optional<float> scale = std::nullopt, bool need_weights = false);

// Several heads side by side: q [batch, queries, heads * d_k], k [batch, keys, heads * d_k], v [batch, keys, heads * d_v]
// -> output [batch, queries, heads * d_v], weights [batch, heads, queries, keys].
struct MultiHead {
  std::int64_t heads = 1;
  float scale = 1;
  const Tensor& q;
  const Tensor* k = nullptr;  // null: all keys and values are in the cache
  const Tensor* v = nullptr;
  KeyValueCache::Entry* cache = nullptr;  // k and v are appended; it must have room for them
};
Result<Outputs> multi_head(const MultiHead& input, const ScoreChanges& changes, bool need_weights);

// Attention without parameters: w = softmax(x x^T), y = w x; x: [..., seq, hidden].
Result<Outputs> self_attention(const Tensor& x, bool need_weights = false);

}  // namespace wattn::nn
