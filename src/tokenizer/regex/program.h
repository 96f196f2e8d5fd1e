// A regular expression compiled to a graph of nodes. Nodes that take no character form no circle.
#pragma once

#include <cstdint>
#include <vector>

#include "core/result.h"
#include "tokenizer/regex/syntax.h"

namespace wattn {

struct RegexProgram {
  struct Node {
    enum class Kind : std::uint8_t {
      kChar,        // one character of set, then next
      kSplit,       // next, or else other
      kLookahead,   // if other leads to a match (or not: negated), next
      kLookbehind,  // if the character before is of set (or not), next
      kTextBegin,
      kTextEnd,
      kMatch,
    };
    Kind kind;
    bool negated = false;
    std::uint16_t set = 0;
    std::uint16_t next = 0;
    std::uint16_t other = 0;
    std::uint16_t slot = 0;  // kChar: its number among those
  };

  std::vector<Node> nodes;
  std::vector<std::uint16_t> order;  // all nodes, each after those that it asks about without taking a character
  std::vector<std::uint16_t> chars;  // [slots] the kChar nodes
  std::uint16_t start = 0;
  bool looks_behind = false;  // whether what stands before a place matters there
  std::vector<CharSet> sets;
};

Result<RegexProgram> compile_regex(RegexSyntax syntax);

}  // namespace wattn
