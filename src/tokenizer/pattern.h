// The pattern of Split and Replace: {"String": ..} or {"Regex": ..}.
#pragma once

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

 private:
  std::u32string text_;         // the string to find if there is no regex_
  std::optional<Regex> regex_;  // may match the empty text
};

// Compiles a regex; adds the path in the file to the errors of Regex::compile.
Result<Regex> read_regex(JsonRef json);

}  // namespace wattn
