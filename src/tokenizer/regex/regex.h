// Regular expressions as in tokenizer files (Oniguruma's syntax), in linear time.
//
// A text is read twice. Backwards: an automaton, built as texts need it, determines at every position which characters of the
// pattern can still lead to a match. Forwards: the matcher always takes the first of the pattern's choices that can lead to a
// match. That is exactly the match that a backtracking engine would find, without ever backtracking. So time is linear in the text
// for every pattern (Frisch and Cardelli, "Greedy regular expression matching", 2004), and lookaheads are free.
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
  // Errors name the problem and the character of the pattern, but not the file.
  static Result<Regex> compile(std::u32string_view pattern);

  Regex(Regex&&) noexcept;
  Regex& operator=(Regex&&) noexcept;
  ~Regex();

  // Appends all matches from left to right, without overlaps; an empty match never directly follows another match.
  // Not thread-safe: the automaton grows with the texts that it reads.
  void find_all(std::u32string_view text, std::vector<TextMatch>& out) const;

 private:
  class Matcher;
  explicit Regex(std::unique_ptr<Matcher> matcher);
  std::unique_ptr<Matcher> matcher_;
};

}  // namespace wattn
