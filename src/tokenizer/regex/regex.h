// Regular expressions as tokenizer files use them (Oniguruma's syntax), in linear time.
//
// A text is read twice. Backwards: an automaton, built as texts need it, says at every place from which characters of the
// pattern a match can still be completed. Forwards: the matcher takes, of the pattern's choices, always the first that can be
// completed, which is the very match that a backtracking engine would find, and it never has to turn back. So time is linear in
// the text for every pattern (Frisch and Cardelli, "Greedy regular expression matching", 2004), and lookaheads cost nothing.
//
// What is not regular, or has no use in tokenizers, is an UnsupportedError that names it: back-references, atomic groups, ...
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace wattn {

struct TextMatch {
  std::uint32_t begin;
  std::uint32_t end;
};

class Regex {
 public:
  // Errors say what and at which character of the pattern, not in which file.
  static Result<Regex> compile(std::u32string_view pattern);

  Regex(Regex&&) noexcept;
  Regex& operator=(Regex&&) noexcept;
  ~Regex();

  // Appends all matches from left to right, none overlapping; an empty match does not follow the match before it at once.
  // Not from several threads at once: the automaton grows with the texts it sees.
  void find_all(std::u32string_view text, std::vector<TextMatch>& out) const;

 private:
  class Matcher;
  explicit Regex(std::unique_ptr<Matcher> matcher);
  std::unique_ptr<Matcher> matcher_;
};

}  // namespace wattn
