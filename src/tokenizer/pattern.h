// The pattern of Split and Replace: {"String": ..} or {"Regex": ..}.
#pragma once

#include <bitset>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"
#include "core/result.h"
#include "tokenizer/regex/regex.h"

namespace wattn {

class Pattern {
 public:
  Pattern() = default;
  static Result<Pattern> from_json(JsonRef json);

  // Appends all matches from left to right, none overlapping.
  void find_all(std::u32string_view text, std::vector<TextMatch>& out) const;

  // Whether no match continues with whitespace after another character; false may be wrong. tied: receives the ASCII characters
  // that match only with others.
  bool is_local(std::bitset<128>& tied) const;

 private:
  std::u32string text_;         // the string to find if there is no regex_
  std::optional<Regex> regex_;  // may match the empty text
  bool matches_space_ = false;  // regex_ is one that matches nothing else, or one line feed
};

// Compiles a regex; adds the path in the file to the errors of Regex::compile.
Result<Regex> read_regex(JsonRef json);

}  // namespace wattn
