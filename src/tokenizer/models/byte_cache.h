// A cache of the tokens of short words. Each set has two places, and a new word takes the first: bounded memory, nothing to evict,
// and no text that makes it slower than no cache at all.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace wattn {

template <std::size_t kWords, int kSetBits>
class ByteCache {
 public:
  static constexpr std::size_t kMostBytes = 8 * kWords - 1, kMostIds = 2 * kWords - 1;
  static constexpr std::size_t kBytesRead = 8 * kWords;  // of each word, whatever its size is

  static constexpr std::size_t kMany = kMostIds + 1;

  // The bytes of a word, its size, and a mark, below 4, that tells it from others of the same bytes.
  using Key = std::array<std::uint64_t, kWords>;
  static Key key_of(const char* word, std::size_t size, unsigned mark) {
    Key key;
    std::memcpy(key.data(), word, sizeof key);
    for (std::size_t i = 0; i < kWords; ++i) key[i] &= kMasks[size][i];
    key[kWords - 1] |= (std::uint64_t{size} | mark << 6) << 56;
    return key;
  }

  // Writes kMostIds values and one more, of which the first ones are the word's ids. Returns their number, 0 if the word is not
  // there, and kMany if it has more.
  std::size_t get(const Key& key, std::int32_t* out) const {
    const Set& set = sets_[set_of(key)];
    const bool is_second = differ(set[0].key, key);
    const Slot& slot = set[is_second ? 1 : 0];
    if (is_second && differ(slot.key, key)) return 0;
    std::memcpy(out, slot.ids.data(), sizeof slot.ids);
    return static_cast<std::size_t>(slot.ids[kMostIds]);
  }

  // count: of ids, or kMany or more, which have none.
  void put(const Key& key, const std::int32_t* ids, std::size_t count) {
    Set& set = sets_[set_of(key)];
    set[1] = set[0];
    set[0].key = key;
    for (std::size_t i = 0; count < kMany && i < count; ++i) set[0].ids[i] = ids[i];
    set[0].ids[kMostIds] = static_cast<std::int32_t>(count);
  }

 private:
  // [size] the bits of that many bytes.
  static constexpr auto kMasks = [] {
    std::array<std::array<std::uint64_t, kWords>, 8 * kWords> masks{};
    for (std::size_t size = 1; size < masks.size(); ++size) {
      masks[size] = masks[size - 1];
      masks[size][(size - 1) / 8] |= std::uint64_t{0xFF} << 8 * ((size - 1) % 8);
    }
    return masks;
  }();

  struct Slot {
    Key key{};                                     // all zero: free
    std::array<std::int32_t, kMostIds + 1> ids{};  // and last, their number
  };

  // In as few lines of the processor's cache as can be.
  struct alignas(std::min<std::size_t>(2 * sizeof(Slot), 64)) Set : std::array<Slot, 2> {};

  static bool differ(const Key& a, const Key& b) {  // == calls memcmp
    std::uint64_t bits = 0;
    for (std::size_t i = 0; i < kWords; ++i) bits |= a[i] ^ b[i];
    return bits != 0;
  }
  static std::size_t set_of(const Key& key) {
    std::uint64_t hash = 0;
    for (const std::uint64_t word : key) hash = (std::rotl(hash, 29) ^ word) * 0x9E3779B97F4A7C15;
    return static_cast<std::size_t>(hash >> (64 - kSetBits));
  }

  std::vector<Set> sets_ = std::vector<Set>(std::size_t{1} << kSetBits);
};

}  // namespace wattn
