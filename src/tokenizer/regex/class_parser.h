// The parser of what stands for one character in a regular expression: escapes, \p{..}, [..].
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/result.h"
#include "tokenizer/regex/char_set.h"

namespace wattn {

// A pattern being read, with the first error found in it. After an error, everything reads as the end.
struct PatternReader {
  std::u32string_view pattern;
  std::size_t position = 0;
  Error error{};

  bool ok() const { return error.code == ErrorCode::kOk; }
  bool done() const { return !ok() || position >= pattern.size(); }
  char32_t peek(std::size_t ahead = 0) const { return ok() && position + ahead < pattern.size() ? pattern[position + ahead] : 0; }
  bool take(char32_t c) {
    if (done() || peek() != c) return false;
    ++position;
    return true;
  }
  bool take(std::u32string_view text) {
    if (!ok() || !pattern.substr(position).starts_with(text)) return false;
    position += text.size();
    return true;
  }
  void unsupported(const std::string& what);  // records an error at position
};

// After a '\': the characters it stands for. in_class: inside [..], where \b is a backspace.
CharSet read_escape(PatternReader& in, bool in_class);

// After a '['.
CharSet read_class(PatternReader& in, int depth = 0);

}  // namespace wattn
