// The tokens of a vocabulary as two trees of their bytes: short tokens, which are most, and long ones.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace wattn {

class Vocabulary {
 public:
  // In preorder: a node's children follow it, up to `end`. depth: bytes from the root, which is node 0.
  struct Node {
    std::int32_t end = 0;
    std::int32_t token = -1;  // the first one with these bytes; -1: none
    std::uint16_t depth = 0;
    std::uint8_t byte = 0;
  };

  // lengths: of each token, in bytes; at most 0: a token that no text has. bytes: of all, one after the other.
  Vocabulary(std::span<const std::int32_t> lengths, std::string_view bytes);

  std::int32_t size() const { return static_cast<std::int32_t>(begins_.size()); }
  std::string_view bytes(std::int32_t token) const;
  static constexpr int kTrees = 2;
  static constexpr std::int32_t kShort = 12;  // bytes of a token of the first tree, at most
  const std::vector<Node>& nodes(int tree) const { return nodes_[tree]; }
  // Another token with the same bytes, or -1.
  std::int32_t same(std::int32_t token) const { return same_[static_cast<std::size_t>(token)]; }
  std::size_t max_depth() const { return max_depth_; }
  // The bytes from the root to a node.
  std::string_view path(int tree, std::int32_t node) const;
  bool is_leaf(int tree, std::int32_t node) const { return nodes_[tree][static_cast<std::size_t>(node)].end == node + 1; }
  // The node of bytes; -1: none.
  std::int32_t find(int tree, std::string_view bytes) const;

 private:
  std::vector<char> bytes_;
  std::vector<std::uint32_t> begins_;  // of each token
  std::vector<std::int32_t> lengths_, same_;
  std::vector<Node> nodes_[kTrees];
  void make_tree(const std::vector<std::int32_t>& order, std::vector<Node>& nodes);
  std::size_t max_depth_ = 0;
};

}  // namespace wattn
