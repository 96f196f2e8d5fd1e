#include "constraints/vocabulary.h"
#include "constraints/sort.h"

#include <algorithm>
#include <numeric>

namespace wattn {

Vocabulary::Vocabulary(std::span<const std::int32_t> lengths, std::string_view bytes)
    : bytes_(bytes.begin(), bytes.end()), lengths_(lengths.begin(), lengths.end()), same_(lengths.size(), -1) {
  constexpr std::int32_t kLongest = 0xFFFF;
  begins_.reserve(lengths.size());
  // Sorted by two bytes at first: what is left to compare lies together.
  constexpr std::size_t kBuckets = 256 * 257;
  std::vector<std::int32_t> ends(kBuckets + 1), lists[kTrees];
  const auto bucket = [&](std::int32_t token) {
    const std::string_view own = this->bytes(token);
    return 257 * static_cast<std::size_t>(static_cast<unsigned char>(own[0])) +
           (own.size() < 2 ? 0 : 1 + static_cast<std::size_t>(static_cast<unsigned char>(own[1])));
  };
  std::uint32_t at = 0;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    begins_.push_back(at);
    const std::int32_t length = lengths_[i];
    if (length <= 0) continue;
    at += static_cast<std::uint32_t>(length);
    if (length <= kLongest) lists[length <= kShort ? 0 : 1].push_back(static_cast<std::int32_t>(i));
  }
  for (int tree = 0; tree < kTrees; ++tree) {
    const auto& list = lists[tree];
    ends.assign(kBuckets + 1, 0);
    for (const std::int32_t token : list) ++ends[bucket(token) + 1];
    std::partial_sum(ends.begin(), ends.end(), ends.begin());
    std::vector<std::int32_t> order(list.size());
    for (const std::int32_t token : list) order[static_cast<std::size_t>(ends[bucket(token)]++)] = token;
    // Each end is now where the next bucket begins.
    for (std::size_t i = 0; i < kBuckets; ++i) {
      const auto begin = static_cast<std::size_t>(i == 0 ? 0 : ends[i - 1]);
      std::span part(order.data() + begin, static_cast<std::size_t>(ends[i]) - begin);
      sort_small(part, [&](std::int32_t a, std::int32_t b) {
        const int compared = this->bytes(a).compare(this->bytes(b));
        return compared != 0 ? compared < 0 : a < b;
      });
    }
    make_tree(order, nodes_[tree]);
  }
}

void Vocabulary::make_tree(const std::vector<std::int32_t>& order, std::vector<Node>& nodes) {
  nodes.push_back({});
  std::vector<std::int32_t> path{0};  // the nodes of the last token's bytes
  const auto close = [&](std::size_t depth) {
    for (; path.size() > depth + 1; path.pop_back())
      nodes[static_cast<std::size_t>(path.back())].end = static_cast<std::int32_t>(nodes.size());
  };
  std::string_view last;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::string_view own = bytes(order[i]);
    if (i > 0 && own == last) {
      same_[static_cast<std::size_t>(order[i - 1])] = order[i];
      continue;
    }
    const auto common =
        static_cast<std::size_t>(std::mismatch(last.begin(), last.end(), own.begin(), own.end()).first - last.begin());
    close(common);
    for (std::size_t depth = common; depth < own.size(); ++depth) {
      path.push_back(static_cast<std::int32_t>(nodes.size()));
      nodes.push_back({.depth = static_cast<std::uint16_t>(depth + 1), .byte = static_cast<std::uint8_t>(own[depth])});
    }
    nodes.back().token = order[i];
    max_depth_ = std::max(max_depth_, own.size());
    last = own;
  }
  close(0);
  nodes[0].end = static_cast<std::int32_t>(nodes.size());
}

std::string_view Vocabulary::bytes(std::int32_t token) const {
  const auto at = static_cast<std::size_t>(token);
  return {bytes_.data() + begins_[at], static_cast<std::size_t>(std::max(lengths_[at], 0))};
}

std::string_view Vocabulary::path(int tree, std::int32_t node) const {
  const std::vector<Node>& nodes = nodes_[tree];
  auto at = static_cast<std::size_t>(node);
  const std::size_t depth = nodes[at].depth;
  while (nodes[at].token < 0) ++at;  // one below it has them, too
  return bytes(nodes[at].token).substr(0, depth);
}

std::int32_t Vocabulary::find(int tree, std::string_view bytes) const {
  const std::vector<Node>& nodes = nodes_[tree];
  std::int32_t node = 0;
  for (const char byte : bytes) {
    const std::int32_t end = nodes[static_cast<std::size_t>(node)].end;
    std::int32_t child = node + 1;
    while (child < end && nodes[static_cast<std::size_t>(child)].byte != static_cast<std::uint8_t>(byte))
      child = nodes[static_cast<std::size_t>(child)].end;
    if (child >= end) return -1;
    node = child;
  }
  return node;
}

}  // namespace wattn
