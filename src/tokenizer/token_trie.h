// A set of strings to find in a text, the longest match first. The time per position is bounded by the longest string.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace wattn {

class TokenTrie {
 public:
  static constexpr std::int32_t kNone = -1;

  TokenTrie() = default;
  // Strings with their values (not negative); the last of equal strings wins, and empty ones are ignored.
  explicit TokenTrie(const std::vector<std::pair<std::u32string, std::int32_t>>& strings);

  bool empty() const { return nodes_.empty(); }

  struct Match {
    std::int32_t value = kNone;
    std::size_t length = 0;
  };
  // The longest string that begins at text[position].
  Match longest_at(std::u32string_view text, std::size_t position) const;
  // Whether any string begins at text[position].
  bool any_at(std::u16string_view text, std::size_t position) const { return any_from(text, position); }
  bool any_at(std::string_view utf8, std::size_t position) const { return any_from(utf8, position); }
  // Whether any string is in a text.
  bool any_in(std::string_view utf8) const;
  // The first place from `at` on of a character that a string may begin with.
  std::size_t find_begin(std::string_view utf8, std::size_t at) const;
  // Whether any string begins with this character: a quick check that rules out most of a text.
  bool may_begin(char32_t c) const { return c < 128 ? begins_ascii_[c] : begins_beyond_ascii_; }

 private:
  struct Node {
    std::int32_t value = kNone;
    std::uint32_t first_edge = 0;
    std::uint32_t num_edges = 0;
  };
  struct Edge {
    char32_t c;
    std::uint32_t node;
  };
  template <class Text>
  bool any_from(Text text, std::size_t position) const;
  const Node* child(const Node& node, char32_t c) const;  // nullptr: none

  std::vector<Node> nodes_;  // [0] is the root
  std::vector<Edge> edges_;  // contiguous for each node, sorted by c
  std::array<bool, 128> begins_ascii_{};
  bool begins_beyond_ascii_ = false;
  std::string only_begin_;  // the character that all strings begin with, if it is one of ASCII
};

}  // namespace wattn
