// Which tokens may come next in each state of a grammar.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>

#include <vector>

#include "constraints/grammar.h"
#include "constraints/vocabulary.h"

namespace wattn {

class Masks {
 public:
  // Both must outlive it. budget: bytes of masks to keep; the least recently used ones are dropped first.
  Masks(Grammar& grammar, const Vocabulary& vocabulary, std::size_t budget = std::size_t{48} << 20);

  // A bit for each token, valid until the next call.
  std::span<const std::uint32_t> mask(StateId state);
  // The state after a token; Grammar::kDead if it is not allowed.
  StateId after(StateId state, std::int32_t token);
  // How many of these tokens, which spell the beginning of forced bytes, can be taken without a choice. No longer token that the
  // grammar allows may begin in one of them and go beyond the forced bytes; that matters where they do not end with a quote.
  std::size_t fitting(StateId state, std::string_view forced, std::span<const std::int32_t> tokens);

 private:
  using Words = std::vector<std::uint32_t>;
  // What a regular expression allows on its own: tokens inside one match, and nodes where a match may have ended.
  struct Regular {
    std::vector<std::int32_t> tokens{};  // if there are few
    Words words{};                       // else
    std::vector<std::int32_t> ends{};
    std::uint64_t used = 0;
    std::size_t bytes() const { return sizeof(*this) + tokens.size() * 4 + words.size() * 4 + ends.size() * 4; }
  };
  struct Kept {
    Words words{};
    std::uint64_t used = 0;
  };

  const Regular& regular(int tree, RegexId id);
  void add_below(int tree, std::int32_t node, StateId state, Words& out);
  void set(Words& words, std::int32_t token) const;
  void make_room();

  Grammar& grammar_;
  const Vocabulary& vocabulary_;
  std::size_t budget_, bytes_ = 0;
  std::uint64_t now_ = 0;
  std::map<StateId, Kept> kept_;
  std::map<RegexId, Regular> regular_[Vocabulary::kTrees];
  std::vector<std::int32_t> stack_;  // [depth] states or expressions
};

}  // namespace wattn
