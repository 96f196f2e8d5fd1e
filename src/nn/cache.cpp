#include "nn/cache.h"

#include <algorithm>
#include <numeric>
#include <string>

namespace wattn::nn {
namespace {

Result<KeyValueCache::Entry> make_entry(const AttentionShape& shape, std::int64_t batch, std::int64_t length) {
  Arena measure;
  take_kv_cache(measure, shape, 1, batch, length);
  auto arena = Arena::with_bytes(measure.used(), "nn: the cache of " + std::to_string(batch) + " examples");
  if (!arena.ok()) return arena.error();
  KeyValueCache::Entry out{.arena = std::move(arena).value()};
  out.kv = take_kv_cache(out.arena, shape, 1, batch, length);
  return out;
}

}  // namespace

Result<void> KeyValueCache::Entry::reserve(const AttentionShape& shape, std::int64_t batch, std::int64_t length) {
  constexpr std::int64_t kLeast = 16;
  if (empty()) {
    auto made = make_entry(shape, batch, std::max(length, kLeast));
    if (!made.ok()) return made.error();
    *this = std::move(made).value();
    return {};
  }
  if (batch != kv.slots) {
    return input_error("nn: expected a batch of " + std::to_string(kv.slots) + " as in the cache, found " + std::to_string(batch));
  }
  if (length <= kv.length) return {};
  std::vector<std::int64_t> same(static_cast<std::size_t>(batch));
  std::iota(same.begin(), same.end(), 0);
  return reorder(same, std::max(length, 2 * kv.length));
}

Result<void> KeyValueCache::Entry::reorder(const std::vector<std::int64_t>& order, std::int64_t length) {
  auto made = make_entry(kv.shape, static_cast<std::int64_t>(order.size()), length);
  if (!made.ok()) return made.error();
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (order[i] < 0 || order[i] >= kv.slots) {
      return input_error("nn: expected examples below " + std::to_string(kv.slots) + " of the cache, found " +
                         std::to_string(order[i]));
    }
    copy_slot(kv, order[i], static_cast<std::int64_t>(i), tokens, &made.value().kv);
  }
  made.value().tokens = tokens;
  *this = std::move(made).value();
  return {};
}

Result<void> KeyValueCache::reorder(const std::vector<std::int64_t>& order) {
  for (auto& [module, entry] : entries) {
    if (entry.empty()) continue;
    if (auto e = entry.reorder(order, entry.kv.length); !e.ok()) return e;
  }
  return {};
}

}  // namespace wattn::nn
