// Lists of numbers with ids: equal lists have one id, so that nodes, cells and states are compared as numbers.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace wattn {

class Interner {
 public:
  // The id of a list: the next free one, from 0 on, if it is new.
  std::int32_t id(std::span<const std::int32_t> words);
  // Valid until the next call of id().
  std::span<const std::int32_t> words(std::int32_t id) const {
    const auto at = static_cast<std::size_t>(id);
    return {words_.data() + begins_[at], words_.data() + begins_[at + 1]};
  }
  std::int32_t size() const { return static_cast<std::int32_t>(begins_.size()) - 1; }

 private:
  std::vector<std::int32_t> words_{};
  std::vector<std::uint32_t> begins_{0};
  std::vector<std::int32_t> places_{};  // an open hash table of ids; -1: free
};

}  // namespace wattn
