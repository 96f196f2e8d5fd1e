// build: -Os
#include "tokenizer/token_trie.h"

#include <algorithm>

#include "core/utf.h"
#include "tokenizer/heap_sort.h"

namespace wattn {

TokenTrie::TokenTrie(const std::vector<std::pair<std::u32string, std::int32_t>>& strings) {
  std::vector<std::uint32_t> order;  // indices into strings, sorted by string and then by index
  for (std::uint32_t i = 0; i < strings.size(); ++i) {
    if (!strings[i].first.empty()) order.push_back(i);
  }
  if (order.empty()) return;
  heap_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    const int compared = strings[a].first.compare(strings[b].first);
    return compared != 0 ? compared < 0 : a < b;
  });

  // Breadth first, so that a node's edges are contiguous. A node stands for the strings [begin, end), equal up to its depth.
  struct Pending {
    std::size_t begin, end, depth;
  };
  std::vector<Pending> pending = {{0, order.size(), 0}};
  nodes_.emplace_back();
  for (std::size_t node = 0; node < pending.size(); ++node) {
    auto [begin, end, depth] = pending[node];
    for (; begin < end && strings[order[begin]].first.size() == depth; ++begin) nodes_[node].value = strings[order[begin]].second;
    nodes_[node].first_edge = static_cast<std::uint32_t>(edges_.size());
    while (begin < end) {
      const char32_t c = strings[order[begin]].first[depth];
      std::size_t next = begin;
      while (next < end && strings[order[next]].first[depth] == c) ++next;
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
  if (nodes_[0].num_edges == 1 && !begins_beyond_ascii_) only_begin_ = static_cast<char>(edges_[0].c);
}

bool TokenTrie::any_in(std::string_view utf8) const {
  for (std::size_t i = 0; !empty(); ++i) {
    i = find_begin(utf8, i);
    if (i >= utf8.size()) break;
    if (any_at(utf8, i)) return true;
  }
  return false;
}

std::size_t TokenTrie::find_begin(std::string_view utf8, std::size_t at) const {
  if (!only_begin_.empty()) return std::min(utf8.find(only_begin_[0], at), utf8.size());
  for (; at < utf8.size(); ++at) {
    const auto byte = static_cast<unsigned char>(utf8[at]);
    if (may_begin(byte) && (byte & 0xC0) != 0x80) break;
  }
  return at;
}

const TokenTrie::Node* TokenTrie::child(const Node& node, char32_t c) const {
  const Edge* first = edges_.data() + node.first_edge;
  const Edge* last = first + node.num_edges;
  const Edge* edge = std::lower_bound(first, last, c, [](const Edge& e, char32_t value) { return e.c < value; });
  return edge == last || edge->c != c ? nullptr : nodes_.data() + edge->node;
}

TokenTrie::Match TokenTrie::longest_at(std::u32string_view text, std::size_t position) const {
  Match match;
  const Node* node = nodes_.data();
  for (std::size_t i = position; i < text.size(); ++i) {
    node = child(*node, text[i]);
    if (!node) break;
    if (node->value != kNone) match = {node->value, i + 1 - position};
  }
  return match;
}

template <class Text>
bool TokenTrie::any_from(Text text, std::size_t position) const {
  for (const Node* node = nodes_.data(); node && position < text.size();) {
    node = child(*node, next_code_point(text, position));
    if (node && node->value != kNone) return true;
  }
  return false;
}
template bool TokenTrie::any_from(std::u16string_view, std::size_t) const;
template bool TokenTrie::any_from(std::string_view, std::size_t) const;

}  // namespace wattn
