// build: -Os
#include "tokenizer/trainers/pair_table.h"

#include <algorithm>
#include <utility>

namespace wattn {

std::uint32_t PairTable::entry_of(std::uint64_t pair) {
  std::size_t mask = slots_.size() - 1;
  std::size_t slot = hash_of(pair) & mask;
  for (; slots_[slot] != kNone; slot = (slot + 1) & mask) {
    if (entries_[slots_[slot]].pair == pair) return slots_[slot];
  }
  const auto number = static_cast<std::uint32_t>(entries_.size());
  slots_[slot] = number;
  entries_.push_back({pair, 0, kNone});
  if (2 * entries_.size() > slots_.size()) {
    slots_.assign(2 * slots_.size(), kNone);
    mask = slots_.size() - 1;
    for (std::uint32_t i = 0; i < entries_.size(); ++i) {
      slot = hash_of(entries_[i].pair) & mask;
      while (slots_[slot] != kNone) slot = (slot + 1) & mask;
      slots_[slot] = i;
    }
  }
  return number;
}

void PairTable::add_count(std::uint64_t pair, std::int64_t count, std::uint32_t word) {
  const std::uint32_t number = entry_of(pair);
  Entry& entry = entries_[number];
  entry.count += count;
  if (count <= 0) return;
  if (entry.list == kNone) {
    touched_.push_back(number);
    if (free_lists_.empty()) {
      entry.list = static_cast<std::uint32_t>(lists_.size());
      lists_.emplace_back();
    } else {
      entry.list = free_lists_.back();
      free_lists_.pop_back();
    }
  }
  std::vector<std::uint32_t>& words = lists_[entry.list];
  if (words.empty() || words.back() != word) words.push_back(word);
}

void PairTable::push(Queued queued) {
  queue_.push_back(queued);
  std::push_heap(queue_.begin(), queue_.end(), is_worse);
}

void PairTable::queue_touched() {
  for (const std::uint32_t number : touched_) {
    Entry& entry = entries_[number];
    const std::uint32_t list = std::exchange(entry.list, kNone);
    if (entry.count > 0) {
      push({entry.count, entry.pair, number, list});
    } else {
      lists_[list].clear();
      free_lists_.push_back(list);
    }
  }
  touched_.clear();
}

std::optional<PairTable::Best> PairTable::pop_best() {
  while (!queue_.empty()) {
    std::pop_heap(queue_.begin(), queue_.end(), is_worse);
    Queued top = queue_.back();
    queue_.pop_back();
    // Counts can fall after a pair was queued; then it is queued again with its current count.
    const std::int64_t count = entries_[top.entry].count;
    if (top.count != count) {
      top.count = count;
      push(top);
      continue;
    }
    free_lists_.push_back(top.list);
    return Best{top.pair, static_cast<std::uint64_t>(std::max<std::int64_t>(count, 0)), std::exchange(lists_[top.list], {})};
  }
  return std::nullopt;
}

}  // namespace wattn
