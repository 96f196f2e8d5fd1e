#include "tokenizer/models/merges.h"

#include <algorithm>
#include <array>
#include <bit>
#include <functional>

namespace wattn {

namespace {

constexpr std::size_t kShort = 48;  // symbols that are looked through again after every merge

// Every merge looks for the next one among all pairs: for short words nothing is faster.
void merge_short(const Merges& merges, std::vector<BpeSymbol>& symbols) {
  std::array<Merges::Merge, kShort> pairs;  // [i] what symbols i and i + 1 become
  std::size_t size = symbols.size();
  for (std::size_t i = 0; i + 1 < size; ++i) pairs[i] = merges.find(symbols[i].id, symbols[i + 1].id);
  while (size > 1) {
    std::size_t best = 0;
    for (std::size_t i = 1; i + 1 < size; ++i) {
      if (pairs[i].rank < pairs[best].rank) best = i;
    }
    if (pairs[best].rank == Merges::kNone) break;
    symbols[best] = {pairs[best].id, symbols[best].length + symbols[best + 1].length};
    --size;
    for (std::size_t i = best + 1; i < size; ++i) {
      symbols[i] = symbols[i + 1];
      pairs[i - 1] = pairs[i];
    }
    if (best > 0) pairs[best - 1] = merges.find(symbols[best - 1].id, symbols[best].id);
    if (best + 1 < size) pairs[best] = merges.find(symbols[best].id, symbols[best + 1].id);
  }
  symbols.resize(size);
}

// The pairs wait in a heap; n log n.
class LongWord {
 public:
  LongWord(const Merges& merges, std::vector<BpeSymbol>& symbols) : merges_(merges), symbols_(symbols), links_(symbols.size()) {
    for (std::uint32_t i = 0; i < links_.size(); ++i) links_[i] = {i - 1, i + 1};
  }

  void merge() {
    for (std::uint32_t i = 0; i + 1 < symbols_.size(); ++i) {
      const std::uint32_t rank = find(i).rank;
      if (rank != Merges::kNone) heap_.push_back(entry(rank, i));
    }
    std::make_heap(heap_.begin(), heap_.end(), std::greater<>());
    while (!heap_.empty()) {
      std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
      const std::uint64_t first = heap_.back();
      heap_.pop_back();
      const std::uint32_t at = static_cast<std::uint32_t>(first);
      if (symbols_[at].id == kGone) continue;
      const Merges::Merge merge = find(at);
      if (merge.rank == first >> 32) join(at, merge.id);  // else the pair has changed since
    }
    const auto gone = [](const BpeSymbol& symbol) { return symbol.id == kGone; };
    symbols_.erase(std::remove_if(symbols_.begin(), symbols_.end(), gone), symbols_.end());
  }

 private:
  static constexpr std::int32_t kGone = -1;
  struct Links {
    std::uint32_t before;  // of the first one it is out of range, as is the next of the last one
    std::uint32_t next;
  };

  static std::uint64_t entry(std::uint32_t rank, std::uint32_t at) { return std::uint64_t{rank} << 32 | at; }

  Merges::Merge find(std::uint32_t at) const {
    const std::uint32_t next = links_[at].next;
    return next < symbols_.size() ? merges_.find(symbols_[at].id, symbols_[next].id) : Merges::Merge{};
  }

  void join(std::uint32_t at, std::int32_t id) {
    const std::uint32_t gone = links_[at].next;
    symbols_[at] = {id, symbols_[at].length + symbols_[gone].length};
    symbols_[gone].id = kGone;
    links_[at].next = links_[gone].next;
    if (links_[at].next < symbols_.size()) links_[links_[at].next].before = at;
    push(at);
    if (links_[at].before < symbols_.size()) push(links_[at].before);
  }

  void push(std::uint32_t at) {
    const std::uint32_t rank = find(at).rank;
    if (rank == Merges::kNone) return;
    heap_.push_back(entry(rank, at));
    std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
  }

  const Merges& merges_;
  std::vector<BpeSymbol>& symbols_;
  std::vector<Links> links_;
  std::vector<std::uint64_t> heap_;  // rank and place, least first
};

}  // namespace

Merges::Merges(std::size_t count) : slots_(std::bit_ceil(2 * count + 2)), mask_(slots_.size() - 1) {}

void Merges::add(std::int32_t left, std::int32_t right, Merge merge) {
  const std::uint64_t pair = pair_of(left, right);
  std::size_t slot = slot_of(pair);
  while (slots_[slot].pair != pair && slots_[slot].merge.rank != kNone) slot = (slot + 1) & mask_;
  slots_[slot] = {pair, merge};
}

void merge_all(const Merges& merges, std::vector<BpeSymbol>& symbols) {
  if (symbols.size() <= kShort) {
    merge_short(merges, symbols);
  } else {
    LongWord(merges, symbols).merge();
  }
}

}  // namespace wattn
