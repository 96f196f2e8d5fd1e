#include "tokenizer/models/merges.h"

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <utility>

#include "tokenizer/heap_sort.h"

namespace wattn {
namespace {

constexpr std::size_t kShort = 48;  // symbols; longer words are not searched again after every merge

// Searches all pairs for each merge, which is the fastest way for short words.
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

// The initial pairs, which are most of all, are sorted by rank once; later ones wait in a heap. O(n log n).
class LongWord {
 public:
  LongWord(const Merges& merges, std::vector<BpeSymbol>& symbols)
      : merges_(merges), symbols_(symbols), links_(symbols.size()), pairs_(symbols.size()) {
    for (std::uint32_t i = 0; i < links_.size(); ++i) links_[i] = {i - 1, i + 1};
  }

  void merge() {
    for (std::uint32_t i = 0; i + 1 < symbols_.size(); ++i) {
      pairs_[i] = merges_.find(symbols_[i].id, symbols_[i + 1].id);
      if (pairs_[i].rank != Merges::kNone) first_.push_back(entry(pairs_[i].rank, i));
    }
    sort_by_rank(first_);
    for (std::size_t taken = 0; taken < first_.size() || !later_.empty();) {
      std::uint64_t next;
      if (later_.empty() || (taken < first_.size() && first_[taken] < later_.front())) {
        next = first_[taken++];
      } else {
        next = later_.front();
        std::pop_heap(later_.begin(), later_.end(), std::greater<>());
        later_.pop_back();
      }
      const std::uint32_t at = static_cast<std::uint32_t>(next);
      if (pairs_[at].rank == next >> 32) join(at);  // otherwise the pair has changed since
    }
    const auto gone = [](const BpeSymbol& symbol) { return symbol.length == 0; };
    symbols_.erase(std::remove_if(symbols_.begin(), symbols_.end(), gone), symbols_.end());
  }

 private:
  struct Links {
    std::uint32_t before;  // out of range for the first symbol, as next is for the last one
    std::uint32_t next;
  };

  static std::uint64_t entry(std::uint32_t rank, std::uint32_t at) { return std::uint64_t{rank} << 32 | at; }

  // A stable radix sort: two passes over 16 bits of the rank each. For a few entries its tables are not worth it.
  static void sort_by_rank(std::vector<std::uint64_t>& entries) {
    if (entries.size() < 1 << 13) return heap_sort(entries.begin(), entries.end(), std::less<>());
    std::vector<std::uint64_t> sorted(entries.size());
    std::vector<std::uint32_t> begins(1 << 16);
    for (const int shift : {32, 48}) {
      std::fill(begins.begin(), begins.end(), 0);
      for (const std::uint64_t each : entries) ++begins[each >> shift & 0xFFFF];
      std::uint32_t begin = 0;
      for (std::uint32_t& count : begins) begin += std::exchange(count, begin);
      for (const std::uint64_t each : entries) sorted[begins[each >> shift & 0xFFFF]++] = each;
      entries.swap(sorted);
    }
  }

  void join(std::uint32_t at) {
    const std::uint32_t gone = links_[at].next;
    symbols_[at] = {pairs_[at].id, symbols_[at].length + symbols_[gone].length};
    symbols_[gone].length = 0;
    pairs_[gone] = {};
    links_[at].next = links_[gone].next;
    if (links_[at].next < symbols_.size()) links_[links_[at].next].before = at;
    update_pair(at);
    if (links_[at].before < symbols_.size()) update_pair(links_[at].before);
  }

  void update_pair(std::uint32_t at) {
    const std::uint32_t next = links_[at].next;
    pairs_[at] = next < symbols_.size() ? merges_.find(symbols_[at].id, symbols_[next].id) : Merges::Merge{};
    if (pairs_[at].rank == Merges::kNone) return;
    later_.push_back(entry(pairs_[at].rank, at));
    std::push_heap(later_.begin(), later_.end(), std::greater<>());
  }

  const Merges& merges_;
  std::vector<BpeSymbol>& symbols_;   // those of length 0 were merged into one before them
  std::vector<Links> links_;          // [symbols]
  std::vector<Merges::Merge> pairs_;  // [symbols] the merge of each with the next one
  std::vector<std::uint64_t> first_;  // rank and position, sorted
  std::vector<std::uint64_t> later_;  // the same, a heap with the smallest in front
};

}  // namespace

Merges::Merges(std::size_t count)
    : slots_(std::bit_ceil(2 * count + 2)), mask_(slots_.size() - 1), filter_(slots_.size() / 16 + 1) {}

void Merges::add(std::int32_t left, std::int32_t right, Merge merge) {
  const std::uint64_t pair = pair_of(left, right);
  const std::uint64_t mixed = mix(pair);
  filter_[bit_of(mixed) >> 6] |= std::uint64_t{1} << (bit_of(mixed) & 63);
  std::size_t slot = slot_of(mixed);
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
