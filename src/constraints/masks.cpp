#include "constraints/masks.h"

#include <algorithm>

#include "constraints/sort.h"

namespace wattn {

Masks::Masks(Grammar& grammar, const Vocabulary& vocabulary, std::size_t budget)
    : grammar_(grammar), vocabulary_(vocabulary), budget_(budget), stack_(vocabulary.max_depth() + 1) {}

void Masks::set(Words& words, std::int32_t token) const {
  for (; token >= 0; token = vocabulary_.same(token)) words[static_cast<std::size_t>(token) / 32] |= std::uint32_t{1} << token % 32;
}

// Drops the least recently used half.
void Masks::make_room() {
  constexpr std::size_t kMostRows = 32 << 10;
  if (grammar_.num_rows() > kMostRows) grammar_.forget_rows();
  if (bytes_ <= budget_) return;
  std::vector<std::uint64_t> times;
  times.reserve(kept_.size());
  for (const auto& [id, each] : kept_) times.push_back(each.used);
  for (const auto& tree : regular_)
    for (const auto& [id, each] : tree) times.push_back(each.used);
  sort_small(times);
  const std::uint64_t median = times[times.size() / 2];
  std::erase_if(kept_, [&](const auto& each) { return each.second.used <= median; });
  for (auto& tree : regular_) std::erase_if(tree, [&](const auto& each) { return each.second.used <= median; });
  bytes_ = 0;
  for (const auto& [id, each] : kept_) bytes_ += each.words.size() * 4;
  for (const auto& tree : regular_)
    for (const auto& [id, each] : tree) bytes_ += each.bytes();
}

const Masks::Regular& Masks::regular(int tree, RegexId id) {
  // Within the bytes of a token, greater counts are all one: so the states of a text with a maximum share what they allow.
  id = grammar_.regexes().clipped(id, tree == 0 ? Vocabulary::kShort : static_cast<std::int32_t>(vocabulary_.max_depth()));
  Regular& out = regular_[tree][id];
  out.used = now_;
  if (out.ends.capacity() > 0) return out;
  Regexes& regexes = grammar_.regexes();
  const auto& nodes = vocabulary_.nodes(tree);
  out.ends.reserve(1);
  stack_[0] = id;
  const auto count = static_cast<std::int32_t>(nodes.size());
  for (std::int32_t node = 1; node < count;) {
    const auto& [end, token, depth, byte] = nodes[static_cast<std::size_t>(node)];
    const RegexId next = regexes.after(stack_[depth - 1], byte);
    stack_[depth] = next;
    if (next == Regexes::kNothing) {
      node = end;
      continue;
    }
    if (regexes.may_end(next)) out.ends.push_back(node);
    if (token >= 0) out.tokens.push_back(token);
    node = next == Regexes::kEmpty ? end : node + 1;
  }
  constexpr std::size_t kFew = 1000;
  if (out.tokens.size() > kFew) {
    out.words.resize((static_cast<std::size_t>(vocabulary_.size()) + 31) / 32);
    for (const std::int32_t token : out.tokens) set(out.words, token);
    out.tokens = {};
  }
  out.ends.shrink_to_fit();
  if (out.ends.capacity() == 0) out.ends.reserve(1);
  bytes_ += out.bytes();
  return out;
}

// The tokens below a node, whose bytes so far lead to this state.
void Masks::add_below(int tree, std::int32_t root, StateId state, Words& out) {
  const auto& nodes = vocabulary_.nodes(tree);
  const std::int32_t until = nodes[static_cast<std::size_t>(root)].end;
  if (until == root + 1) return;
  stack_[nodes[static_cast<std::size_t>(root)].depth] = state;
  for (std::int32_t node = root + 1; node < until;) {
    const auto& [end, token, depth, byte] = nodes[static_cast<std::size_t>(node)];
    const StateId next = grammar_.after(stack_[depth - 1], byte);
    stack_[depth] = next;
    if (next == Grammar::kDead) {
      node = end;
      continue;
    }
    if (token >= 0) set(out, token);
    ++node;
  }
}

std::span<const std::uint32_t> Masks::mask(StateId state) {
  ++now_;
  make_room();
  Kept& kept = kept_[state];
  kept.used = now_;
  if (!kept.words.empty()) return kept.words;
  Words words((static_cast<std::size_t>(vocabulary_.size()) + 31) / 32);
  for (const auto& [regex, below] : grammar_.parts(state)) {
    for (int tree = 0; tree < Vocabulary::kTrees; ++tree) {
      const Regular& own = regular(tree, regex);
      for (const std::int32_t token : own.tokens) set(words, token);
      for (std::size_t i = 0; i < own.words.size(); ++i) words[i] |= own.words[i];
      if (own.ends.empty()) continue;
      const bool takes = grammar_.takes(below);
      StateId next = takes ? Grammar::kDead : grammar_.closure(below);
      if (!takes && grammar_.parts(next).empty()) continue;
      for (const std::int32_t node : own.ends) {
        if (takes && !vocabulary_.is_leaf(tree, node)) next = grammar_.closure(grammar_.taken(below, vocabulary_.path(tree, node)));
        add_below(tree, node, next, words);
      }
    }
  }
  kept.words = std::move(words);
  bytes_ += kept.words.size() * 4;
  return kept.words;
}

StateId Masks::after(StateId state, std::int32_t token) {
  if (token < 0 || token >= vocabulary_.size() || vocabulary_.bytes(token).empty()) return Grammar::kDead;
  return grammar_.after(state, vocabulary_.bytes(token));
}

std::size_t Masks::fitting(StateId state, std::string_view forced, std::span<const std::int32_t> tokens) {
  const StateId end = grammar_.after(state, forced);
  std::size_t at = 0;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const std::string_view own =
        tokens[i] >= 0 && tokens[i] < vocabulary_.size() ? vocabulary_.bytes(tokens[i]) : std::string_view();
    const std::string_view left = forced.substr(at);
    if (own.empty() || !left.starts_with(own)) return i;
    // Behind a quote a text begins, with tokens of its own.
    for (int tree = 0; tree < Vocabulary::kTrees && forced.back() != '"'; ++tree) {
      const auto& nodes = vocabulary_.nodes(tree);
      const std::int32_t node = vocabulary_.find(tree, left);
      // Its children go on: at least one of their first bytes is allowed.
      const std::int32_t until = node < 0 ? 0 : nodes[static_cast<std::size_t>(node)].end;
      for (std::int32_t child = node + 1; child < until; child = nodes[static_cast<std::size_t>(child)].end) {
        if (grammar_.after(end, nodes[static_cast<std::size_t>(child)].byte) != Grammar::kDead) return i;
      }
    }
    at += own.size();
  }
  return tokens.size();
}

}  // namespace wattn
