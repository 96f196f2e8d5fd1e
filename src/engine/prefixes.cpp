#include "engine/prefixes.h"

#include <algorithm>
#include <utility>

#include "core/part.h"

namespace wattn {

std::uint64_t Prefixes::block_bytes(const Plan& plan) {
  Arena measure;
  take_kv_cache(measure, plan, 1, kBlockTokens, false);
  return measure.used();
}

std::uint64_t Prefixes::state_blocks(const Plan& plan) {
  const auto bytes = static_cast<std::uint64_t>(plan.keys_values.state_layers * plan.keys_values.state_size) * sizeof(float);
  return bytes > 0 ? bytes / block_bytes(plan) + 1 : 0;
}

void Prefixes::set_limit(const Plan& plan, std::uint64_t most_bytes) {
  plan_ = &plan;
  block_bytes_ = block_bytes(plan);
  most_blocks_ = most_bytes / block_bytes_;
  state_blocks_ = state_blocks(plan);
}

Prefixes::Match Prefixes::find(int kind, const Block* parent, std::span<const std::int32_t> ids) const {
  Match best;
  for (const auto& block : blocks_) {
    if (block->kind != kind || block->parent != parent) continue;
    const std::size_t most = std::min(ids.size(), block->ids.size());
    const auto end = std::mismatch(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(most), block->ids.begin()).first;
    if (end - ids.begin() > best.tokens) best = {block.get(), end - ids.begin()};
  }
  return best;
}

template <class Visit>
std::int64_t Prefixes::walk(int kind, std::span<const std::int32_t> ids, const Visit& visit) {
  ++clock_;
  std::int64_t read = 0;
  for (Match at;; visit(at, read), read += at.tokens) {
    if (at.block && at.tokens < kBlockTokens) return read;
    at = find(kind, at.block, ids.subspan(static_cast<std::size_t>(read)));
    if (!at.block) return read;
    at.block->used = clock_;
  }
}

std::int64_t Prefixes::restore(int kind, std::span<const std::int32_t> ids, const KvCache& cache, std::int64_t slot) {
  if (state_blocks_ > 0) return Part<Recurrent>::get()->restore(*this, kind, ids, cache, slot);
  return walk(kind, ids, [&](const Match& found, std::int64_t begin) {
    copy_tokens({found.block->cache}, {cache, slot, begin}, found.tokens);
  });
}

void Prefixes::keep(int kind, std::span<const std::int32_t> ids, const KvCache& cache, std::int64_t slot) {
  if (state_blocks_ > 0) return Part<Recurrent>::get()->keep(*this, kind, ids, cache, slot);
  ++clock_;
  Block* parent = nullptr;
  for (std::int64_t begin = 0; std::cmp_less(begin, ids.size()); begin += kBlockTokens) {
    const auto rest = ids.subspan(static_cast<std::size_t>(begin));
    const auto own = rest.first(std::min(rest.size(), static_cast<std::size_t>(kBlockTokens)));
    const Match found = find(kind, parent, own);
    Block* block = found.block;
    if (!block || std::cmp_less(found.tokens, own.size())) {
      // A block that ends here is extended; different tokens need a new block.
      if (!block || std::cmp_less(found.tokens, block->ids.size())) block = add(kind, parent);
      if (!block) return;
      block->ids.assign(own.begin(), own.end());
      copy_tokens({cache, slot, begin}, {block->cache}, static_cast<std::int64_t>(own.size()));
    }
    block->used = clock_;
    parent = block;
  }
}

Prefixes::Block* Prefixes::add(int kind, Block* parent) {
  std::unique_ptr<Block> block;
  if (blocks_.size() + states_ < most_blocks_) {
    auto memory = Arena::with_bytes(block_bytes_, "a prefix");
    if (memory.ok()) {
      block = std::make_unique<Block>();
      block->memory = std::move(memory).value();
      block->cache = take_kv_cache(block->memory, *plan_, 1, kBlockTokens, false);
    }
  }
  if (!block) {
    Block* oldest = nullptr;
    for (const auto& each : blocks_) {
      const bool may_go = each->children == 0 && each->holds == 0 && each.get() != parent;
      if (may_go && (!oldest || each->used < oldest->used)) oldest = each.get();
    }
    if (!oldest) return nullptr;
    block = take_out(oldest);
  }
  block->cache.state_layers = 0;
  block->kind = kind;
  block->parent = parent;
  if (parent) ++parent->children;
  return blocks_.emplace_back(std::move(block)).get();
}

std::unique_ptr<Prefixes::Block> Prefixes::take_out(Block* block) {
  if (block->parent) --block->parent->children;
  const auto at = std::ranges::find(blocks_, block, &std::unique_ptr<Block>::get);
  std::unique_ptr<Block> out = std::move(*at);
  blocks_.erase(at);
  states_ -= std::exchange(out->state_blocks, 0);
  return out;
}

std::int64_t Prefixes::hold(int number, int kind, std::span<const std::int32_t> ids) {
  if (state_blocks_ > 0) return Part<Recurrent>::get()->hold(*this, number, kind, ids);
  Block* last = nullptr;
  const std::int64_t tokens = walk(kind, ids, [&](const Match& found, std::int64_t) { last = found.block; });
  if (!last) return 0;
  ++last->holds;
  holds_.push_back({number, last});
  return tokens;
}

void Prefixes::release(int number) {
  const auto held = std::ranges::find(holds_, number, &Hold::number);
  if (held == holds_.end()) return;
  Block* block = held->block;
  holds_.erase(held);
  --block->holds;
  while (block && block->children == 0 && block->holds == 0) {
    Block* const parent = block->parent;
    take_out(block);
    block = parent;
  }
}

void Prefixes::forget(int kind) {
  std::erase_if(holds_, [&](const Hold& hold) { return hold.block->kind == kind; });
  for (std::size_t i = blocks_.size(); i > 0; --i) {  // children come after their parents
    if (Block* const block = blocks_[i - 1].get(); block->kind == kind) take_out(block);
  }
}

void Prefixes::forget() {
  holds_.clear();
  blocks_.clear();
  states_ = 0;
}

std::int64_t Prefixes::sequences() const {
  return std::ranges::count_if(blocks_, [](const auto& block) { return block->children == 0; });
}

std::int64_t Prefixes::tokens() const {
  std::int64_t out = 0;
  for (const auto& block : blocks_) out += static_cast<std::int64_t>(block->ids.size());
  return out;
}

}  // namespace wattn
