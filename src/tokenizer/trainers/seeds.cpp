// build: -Os
#include "tokenizer/trainers/seeds.h"

#include <algorithm>
#include <span>
#include <utility>

#include "tokenizer/heap_sort.h"

namespace wattn {
namespace {

// The suffixes of words, compared up to `longest` characters. They are sorted character by character (a three-way quicksort), in
// place and nearly in linear time, as the compared parts are short.
class Suffixes {
 public:
  Suffixes(const WordTexts& words, std::size_t longest) : chars_(words.chars), longest_(longest), ends_(words.chars.size()) {
    for (std::size_t word = 0; word < words.size(); ++word) {
      std::fill(ends_.begin() + words.begins[word], ends_.begin() + words.begins[word + 1], words.begins[word + 1]);
    }
    order_.resize(chars_.size());
    for (std::uint32_t i = 0; i < order_.size(); ++i) order_[i] = i;
    sort(0, order_.size(), 0);
  }

  const std::vector<std::uint32_t>& order() const { return order_; }

  bool ends_at(std::uint32_t suffix, std::size_t length) const { return suffix + length == ends_[suffix]; }
  // The number of characters at the beginning that two suffixes have in common.
  std::size_t common(std::uint32_t a, std::uint32_t b) const {
    const std::size_t most = std::min({longest_, std::size_t{ends_[a]} - a, std::size_t{ends_[b]} - b});
    std::size_t n = 0;
    while (n < most && chars_[a + n] == chars_[b + n]) ++n;
    return n;
  }

 private:
  // 0 past the end, so that a suffix comes before those that it is a prefix of.
  std::uint32_t key(std::uint32_t suffix, std::size_t depth) const {
    return suffix + depth < ends_[suffix] ? static_cast<std::uint32_t>(chars_[suffix + depth]) + 1 : 0;
  }

  // Loops over the largest part and recurses into the smaller ones, so the depth of recursion is below log2 of the size.
  void sort(std::size_t begin, std::size_t end, std::size_t depth) {
    while (end - begin > 1 && depth < longest_) {
      seed_ = seed_ * 1664525 + 1013904223;  // a random pivot: no order of the input is a bad one
      const std::uint32_t pivot = key(order_[begin + seed_ % (end - begin)], depth);
      std::size_t less = begin, greater = end;
      for (std::size_t i = begin; i < greater;) {
        const std::uint32_t here = key(order_[i], depth);
        if (here < pivot) {
          std::swap(order_[less++], order_[i++]);
        } else if (here > pivot) {
          std::swap(order_[i], order_[--greater]);
        } else {
          ++i;
        }
      }
      struct Part {
        std::size_t begin, end, depth;
      } parts[] = {{begin, less, depth}, {less, greater, pivot == 0 ? longest_ : depth + 1}, {greater, end, depth}};
      std::size_t largest = 0;
      for (std::size_t i = 1; i < 3; ++i) {
        if (parts[i].end - parts[i].begin > parts[largest].end - parts[largest].begin) largest = i;
      }
      for (std::size_t i = 0; i < 3; ++i) {
        if (i != largest) sort(parts[i].begin, parts[i].end, parts[i].depth);
      }
      begin = parts[largest].begin;
      end = parts[largest].end;
      depth = parts[largest].depth;
    }
  }

  const std::u32string& chars_;
  std::size_t longest_;
  std::vector<std::uint32_t> ends_;   // [chars] where the word of each character ends
  std::vector<std::uint32_t> order_;  // [chars]
  std::uint32_t seed_ = 1;
};

// A substring: the suffixes order[begin, end) begin with it.
struct Node {
  std::uint32_t begin;
  std::uint32_t end;
  std::uint32_t length;
  std::uint64_t weight() const { return std::uint64_t{end - begin} * length; }
};

// Suffixes with a common prefix are adjacent, and longer prefixes are nested: one pass with a stack of open nodes.
std::vector<Node> find_nodes(const Suffixes& suffixes, std::size_t max_length) {
  const std::vector<std::uint32_t>& order = suffixes.order();
  std::vector<Node> nodes;
  std::vector<Node> open = {{0, 0, 0}};
  for (std::uint32_t i = 1; i <= order.size(); ++i) {
    const auto common = i < order.size() ? static_cast<std::uint32_t>(suffixes.common(order[i - 1], order[i])) : 0;
    std::uint32_t begin = i - 1;
    while (open.back().length > common) {
      Node node = open.back();
      open.pop_back();
      node.end = i;
      begin = node.begin;
      // The end of a word counts as one more character, the same after every word, so a string that only occurs at ends is no node.
      // The reference does the same, and the vocabularies agree. Suffixes that end sort first, so the last one decides.
      const bool only_ends = suffixes.ends_at(order[i - 1], node.length);
      if (node.length >= 2 && node.length <= max_length && !only_ends) nodes.push_back(node);
    }
    if (open.back().length < common) open.push_back({begin, 0, common});
  }
  return nodes;
}

struct CharRange {
  std::uint64_t count;
  Node node;
};

// One node per character, the most frequent first.
std::vector<CharRange> find_chars(const WordTexts& words, const std::vector<std::uint64_t>& word_counts,
                                  const std::vector<std::uint32_t>& order) {
  std::vector<std::uint64_t> count_at(words.chars.size());
  for (std::size_t word = 0; word < words.size(); ++word) {
    std::fill(count_at.begin() + words.begins[word], count_at.begin() + words.begins[word + 1], word_counts[word]);
  }
  std::vector<CharRange> chars;
  for (std::uint32_t i = 0; i < order.size(); ++i) {
    if (i == 0 || words.chars[order[i]] != words.chars[order[i - 1]]) chars.push_back({0, {i, i, 1}});
    chars.back().count += count_at[order[i]];
    ++chars.back().node.end;
  }
  heap_sort(chars.begin(), chars.end(), [](const CharRange& a, const CharRange& b) {
    return a.count != b.count ? a.count > b.count : a.node.begin > b.node.begin;
  });
  return chars;
}

}  // namespace

Seeds find_seeds(const WordTexts& words, const std::vector<std::uint64_t>& word_counts, std::size_t max_length,
                 std::size_t num_pieces) {
  const Suffixes suffixes(words, max_length + 1);
  const std::vector<std::uint32_t>& order = suffixes.order();
  const std::vector<CharRange> chars = find_chars(words, word_counts, order);
  std::vector<Node> nodes = find_nodes(suffixes, max_length);
  heap_sort(nodes.begin(), nodes.end(), [](const Node& a, const Node& b) {
    if (a.weight() != b.weight()) return a.weight() > b.weight();
    return a.begin != b.begin ? a.begin > b.begin : a.length > b.length;
  });
  nodes.resize(std::min(nodes.size(), std::max(num_pieces, chars.size() + 1) - chars.size()));

  Seeds seeds;
  seeds.pieces.reserve(chars.size() + nodes.size());
  const auto add = [&](const Node& node, std::uint64_t score) {
    seeds.pieces.push_back({order[node.begin], node.length, static_cast<double>(score)});
  };
  for (const CharRange& c : chars) add(c.node, c.count);
  for (const Node& node : nodes) add(node, node.weight());

  // Counts the pieces at each position first, then lists them.
  const auto node_of = [&](std::size_t i) -> const Node& { return i < chars.size() ? chars[i].node : nodes[i - chars.size()]; };
  const auto suffixes_of = [&](std::size_t i) {
    return std::span(order).subspan(node_of(i).begin, node_of(i).end - node_of(i).begin);
  };
  seeds.match_begin.assign(words.chars.size() + 1, 0);
  for (std::size_t i = 0; i < seeds.pieces.size(); ++i) {
    for (const std::uint32_t position : suffixes_of(i)) ++seeds.match_begin[position];
  }
  std::uint32_t sum = 0;
  for (std::uint32_t& begin : seeds.match_begin) begin = sum += begin;
  seeds.matches.resize(sum);
  for (std::size_t i = seeds.pieces.size(); i-- > 0;) {
    for (const std::uint32_t position : suffixes_of(i))
      seeds.matches[--seeds.match_begin[position]] = static_cast<std::uint32_t>(i);
  }
  return seeds;
}

}  // namespace wattn
