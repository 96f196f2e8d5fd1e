// The tree of a regular expression, and its parser.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "tokenizer/regex/char_set.h"

namespace wattn {

struct RegexNode {
  enum class Kind : std::uint8_t {
    kSequence,      // of children; empty matches the empty text
    kAlternatives,  // the first child that leads to a match
    kChar,          // one character of set
    kRepeat,        // children[0], min to max times
    kLookahead,     // the text that follows matches children[0] (negated: does not); consumes nothing
    kLookbehind,    // the character before is in set (negated: it is not, or there is none)
    kTextBegin,
    kTextEnd,
  };
  static constexpr int kNoLimit = -1;

  Kind kind = Kind::kSequence;
  bool negated = false;
  bool lazy = false;      // kRepeat: as few as possible
  std::uint16_t set = 0;  // index into RegexSyntax::sets
  int min = 0, max = 0;   // kRepeat
  std::vector<RegexNode> children = {};

  bool can_be_empty() const;
};

struct RegexSyntax {
  RegexNode root;
  std::vector<CharSet> sets;  // at most kMaxSets
  static constexpr std::size_t kMaxSets = 64;
};

Result<RegexSyntax> parse_regex(std::u32string_view pattern);

}  // namespace wattn
