// build: -Oz
// Copies of tokens between slots. Sequences are copied once a call, so this is built for size.
#include <algorithm>

#include "core/part.h"
#include "ops/attention.h"
#include "ops/kv_copy.h"
#include "ops/kv_q8.h"

namespace wattn {

void copy_tokens(const SlotTokens& from, const SlotTokens& to, std::int64_t tokens) {
  const AttentionShape& shape = from.cache.shape;
  const std::int64_t key_dim = shape.head_dim, value_dim = shape.value_size();
  for (std::int64_t i = 0; i < from.cache.layers * shape.kv_heads; ++i) {  // the heads of all layers are contiguous
    const KvHead source = from.cache.at(from.slot, 0, i), copy = to.cache.at(to.slot, 0, i);
    if (from.cache.q8) {
      Part<Q8Cache>::get()->copy(shape, {source, from.begin}, {copy, to.begin}, tokens);
      continue;
    }
    copy_panels(source.keys + from.begin * key_dim, copy.keys + to.begin * key_dim, key_dim, tokens);
    copy_columns(source.values + from.begin * kPanelWidth, source.length, copy.values + to.begin * kPanelWidth, copy.length,
                 value_dim, tokens);
  }
  const std::int64_t width = from.cache.product_width;
  for (std::int64_t i = 0; i < from.cache.product_layers; ++i) {
    std::copy_n(from.cache.products_at(from.slot, i) + from.begin * width, tokens * width,
                to.cache.products_at(to.slot, i) + to.begin * width);
  }
  const std::int64_t states = std::min(from.cache.state_layers, to.cache.state_layers) * from.cache.state_size;
  std::copy_n(from.cache.states_at(from.slot, 0), states, to.cache.states_at(to.slot, 0));
}

}  // namespace wattn
