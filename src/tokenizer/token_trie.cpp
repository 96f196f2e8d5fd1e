#include "tokenizer/token_trie.h"

#include <algorithm>

namespace wattn {

TokenTrie::TokenTrie(std::vector<std::pair<std::u32string, std::int32_t>> strings) {
  std::erase_if(strings, [](const auto& entry) { return entry.first.empty(); });
  if (strings.empty()) return;
  std::sort(strings.begin(), strings.end());

  // Breadth first, so that a node's edges lie together. A node stands for the strings [begin, end), equal up to its depth.
  struct Pending {
    std::size_t begin, end, depth;
  };
  std::vector<Pending> pending = {{0, strings.size(), 0}};
  nodes_.emplace_back();
  for (std::size_t node = 0; node < pending.size(); ++node) {
    auto [begin, end, depth] = pending[node];
    for (; begin < end && strings[begin].first.size() == depth; ++begin) nodes_[node].value = strings[begin].second;
    nodes_[node].first_edge = static_cast<std::uint32_t>(edges_.size());
    while (begin < end) {
      const char32_t c = strings[begin].first[depth];
      std::size_t next = begin;
      while (next < end && strings[next].first[depth] == c) ++next;
      edges_.push_back({c, static_cast<std::uint32_t>(nodes_.size())});
      nodes_.emplace_back();
      pending.push_back({begin, next, depth + 1});
      begin = next;
    }
    nodes_[node].num_edges = static_cast<std::uint32_t>(edges_.size()) - nodes_[node].first_edge;
  }
  for (std::uint32_t i = 0; i < nodes_[0].num_edges; ++i) {
    const char32_t c = edges_[i].c;
    if (c < begins_ascii_.size()) {
      begins_ascii_[c] = true;
    } else {
      begins_beyond_ascii_ = true;
    }
  }
}

TokenTrie::Match TokenTrie::longest_at(std::u32string_view text, std::size_t position) const {
  Match match;
  const Node* node = nodes_.data();
  for (std::size_t i = position; i < text.size(); ++i) {
    const Edge* first = edges_.data() + node->first_edge;
    const Edge* last = first + node->num_edges;
    const Edge* edge = std::lower_bound(first, last, text[i], [](const Edge& e, char32_t c) { return e.c < c; });
    if (edge == last || edge->c != text[i]) break;
    node = nodes_.data() + edge->node;
    if (node->value != kNone) match = {node->value, i + 1 - position};
  }
  return match;
}

}  // namespace wattn
