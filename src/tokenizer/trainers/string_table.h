// Distinct strings, numbered in order of their first appearance.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace wattn {

class StringTable {
 public:
  static constexpr std::uint32_t kAbsent = UINT32_MAX;

  std::uint32_t add(std::string_view text);         // the number of text, a new one if needed
  std::uint32_t find(std::string_view text) const;  // or kAbsent
  std::uint32_t size() const { return static_cast<std::uint32_t>(begins_.size() - 1); }
  std::string_view operator[](std::uint32_t number) const {
    return std::string_view(bytes_).substr(begins_[number], begins_[number + 1] - begins_[number]);
  }
  std::size_t num_bytes() const { return bytes_.size(); }

 private:
  struct Slot {
    std::uint32_t hash = 0;
    std::uint32_t number = kAbsent;
  };
  // The slot of text, or the free slot for it.
  std::size_t slot_of(std::string_view text, std::uint32_t hash) const;
  void grow();

  std::string bytes_;                                // all strings, one after the other
  std::vector<std::size_t> begins_ = {0};            // [size + 1]
  std::vector<Slot> slots_ = std::vector<Slot>(64);  // a power of two, at most half full
};

}  // namespace wattn
