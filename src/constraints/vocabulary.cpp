#include "constraints/vocabulary.h"
#include "constraints/sort.h"

#include <algorithm>
#include <numeric>

namespace wattn {

Vocabulary::Vocabulary(std::span<const std::int32_t> lengths, std::string_view bytes)
    : bytes_(bytes.begin(), bytes.end()), lengths_(lengths.begin(), lengths.end()), same_(lengths.size(), -1) {
  constexpr std::size_t kLongest = 0xFFFF;
  begins_.reserve(lengths.size());
  std::uint32_t at = 0;
  std::vector<std::int32_t> order;
  order.reserve(lengths.size());
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    begins_.push_back(at);
    if (lengths[i] <= 0) continue;
    at += static_cast<std::uint32_t>(lengths[i]);
    if (static_cast<std::size_t>(lengths[i]) <= kLongest) order.push_back(static_cast<std::int32_t>(i));
  }
  sort_small(order, [&](std::int32_t a, std::int32_t b) {
    const int compared = this->bytes(a).compare(this->bytes(b));
    return compared != 0 ? compared < 0 : a < b;
  });
  std::vector<std::int32_t> path{0};  // the nodes of the last token's bytes
  const auto close = [&](std::size_t depth) {
    for (; path.size() > depth + 1; path.pop_back())
      nodes_[static_cast<std::size_t>(path.back())].end = static_cast<std::int32_t>(nodes_.size());
  };
  std::string_view last;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::string_view own = this->bytes(order[i]);
    if (i > 0 && own == last) {
      same_[static_cast<std::size_t>(order[i - 1])] = order[i];
      continue;
    }
    const auto common =
        static_cast<std::size_t>(std::mismatch(last.begin(), last.end(), own.begin(), own.end()).first - last.begin());
    close(common);
    for (std::size_t depth = common; depth < own.size(); ++depth) {
      path.push_back(static_cast<std::int32_t>(nodes_.size()));
      nodes_.push_back({.depth = static_cast<std::uint16_t>(depth + 1), .byte = static_cast<std::uint8_t>(own[depth])});
    }
    nodes_.back().token = order[i];
    max_depth_ = std::max(max_depth_, own.size());
    last = own;
  }
  close(0);
  nodes_[0].end = static_cast<std::int32_t>(nodes_.size());
}

std::string_view Vocabulary::bytes(std::int32_t token) const {
  const auto at = static_cast<std::size_t>(token);
  return {bytes_.data() + begins_[at], static_cast<std::size_t>(std::max(lengths_[at], 0))};
}

std::int32_t Vocabulary::find(std::int32_t node, std::string_view bytes) const {
  for (const char byte : bytes) {
    const std::int32_t end = nodes_[static_cast<std::size_t>(node)].end;
    std::int32_t child = node + 1;
    while (child < end && nodes_[static_cast<std::size_t>(child)].byte != static_cast<std::uint8_t>(byte))
      child = nodes_[static_cast<std::size_t>(child)].end;
    if (child >= end) return -1;
    node = child;
  }
  return node;
}

}  // namespace wattn
