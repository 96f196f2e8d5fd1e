// A regular expression compiled to a graph of nodes. Nodes that consume no character form no cycle.
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
      kLookahead,   // next, if other leads to a match (negated: if it does not)
      kLookbehind,  // next, if the character before is in set (negated: if it is not)
      kTextBegin,
      kTextEnd,
      kMatch,
    };
    Kind kind;
    bool negated = false;
    std::uint16_t set = 0;
    std::uint16_t next = 0;
    std::uint16_t other = 0;
    std::uint16_t slot = 0;  // kChar: its index in chars
  };

  std::vector<Node> nodes;
  std::vector<std::uint16_t> order;  // all nodes, each after those that it depends on without consuming a character
  std::vector<std::uint16_t> chars;  // [slots] the kChar nodes
  std::uint16_t start = 0;
  bool looks_behind = false;  // whether the text before a position matters
  std::vector<CharSet> sets;
};

Result<RegexProgram> compile_regex(RegexSyntax syntax);

}  // namespace wattn
