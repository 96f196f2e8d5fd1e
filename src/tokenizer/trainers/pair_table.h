// Pairs of neighbouring symbols: their counts, the words that contain them, and the most frequent one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace wattn {

class PairTable {
 public:
  struct Best {
    std::uint64_t pair;
    std::uint64_t count;
    std::vector<std::uint32_t> words;  // may contain it; some no longer do
  };

  // Adds count, which may be negative, to the count of a pair in a word.
  void add_count(std::uint64_t pair, std::int64_t count, std::uint32_t word);
  // Queues every pair that became more frequent since the last call, with the words where it did. A pair can be queued more than
  // once; the reference does the same, and its order of merges depends on it.
  void queue_touched();
  // The most frequent pair, the smallest of equal ones; nothing if the queue is empty.
  std::optional<Best> pop_best();

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  struct Entry {
    std::uint64_t pair;
    std::int64_t count;
    std::uint32_t list;  // index in lists_ of its words since the last queue_touched, or kNone
  };
  struct Queued {
    std::int64_t count;  // when it was queued
    std::uint64_t pair;
    std::uint32_t entry;
    std::uint32_t list;
  };

  static bool is_worse(const Queued& a, const Queued& b) { return a.count != b.count ? a.count < b.count : a.pair > b.pair; }
  static std::size_t hash_of(std::uint64_t pair) {
    pair *= 0x9E3779B97F4A7C15;
    return static_cast<std::size_t>(pair ^ (pair >> 32));
  }
  std::uint32_t entry_of(std::uint64_t pair);
  void push(Queued queued);

  std::vector<Entry> entries_;
  std::vector<std::uint32_t> slots_ = std::vector<std::uint32_t>(1024, kNone);  // into entries_; a power of two, at most half full
  std::vector<std::uint32_t> touched_;                                          // entries with a list
  std::vector<std::vector<std::uint32_t>> lists_;
  std::vector<std::uint32_t> free_lists_;
  std::vector<Queued> queue_;  // a heap
};

}  // namespace wattn
