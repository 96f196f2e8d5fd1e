// The merges of a BPE model: which neighbouring symbols become one, and in which order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace wattn {

class Merges {
 public:
  struct Merge {
    std::uint32_t rank = kNone;  // smaller goes first
    std::int32_t id = 0;         // the symbol that the two become
  };
  static constexpr std::uint32_t kNone = UINT32_MAX;

  explicit Merges(std::size_t count);

  // At most count times; the last of equal pairs wins.
  void add(std::int32_t left, std::int32_t right, Merge merge);

  // each(left, right, merge) in no order.
  template <class Each>
  void for_each(Each each) const {
    for (const Slot& slot : slots_) {
      if (slot.merge.rank == kNone) continue;
      each(static_cast<std::int32_t>(slot.pair >> 32), static_cast<std::int32_t>(slot.pair & UINT32_MAX), slot.merge);
    }
  }

  // rank is kNone if the two do not merge.
  Merge find(std::int32_t left, std::int32_t right) const {
    const std::uint64_t pair = pair_of(left, right);
    const std::uint64_t mixed = mix(pair);
    if (!(filter_[bit_of(mixed) >> 6] >> (bit_of(mixed) & 63) & 1)) return {};
    for (std::size_t slot = slot_of(mixed);; slot = (slot + 1) & mask_) {
      if (slots_[slot].pair == pair || slots_[slot].merge.rank == kNone) return slots_[slot].merge;
    }
  }

 private:
  struct Slot {
    std::uint64_t pair = UINT64_MAX;
    Merge merge;
  };

  static std::uint64_t pair_of(std::int32_t left, std::int32_t right) {
    return static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32 | static_cast<std::uint32_t>(right);
  }
  static std::uint64_t mix(std::uint64_t pair) { return pair * 0x9E3779B97F4A7C15; }
  std::size_t slot_of(std::uint64_t mixed) const { return static_cast<std::size_t>(mixed >> 32 ^ mixed >> 48) & mask_; }
  std::size_t bit_of(std::uint64_t mixed) const { return static_cast<std::size_t>(mixed >> 24) & (4 * mask_ + 3); }

  std::vector<Slot> slots_;  // a power of two, at most half full; free slots have no rank
  std::size_t mask_;
  std::vector<std::uint64_t> filter_;  // four bits a slot: few pairs of a text merge, and the slots are in no near memory
};

// A symbol of a word, and how much of the word it covers.
struct BpeSymbol {
  std::int32_t id;
  std::uint32_t length;
};

// Merges until nothing is left to merge: always the pair of the lowest rank, the leftmost of equal ones.
void merge_all(const Merges& merges, std::vector<BpeSymbol>& symbols);

}  // namespace wattn
