// Sets of code points, and the bytes they are written as.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "constraints/byte_regex.h"

namespace wattn {

class CodePoints {
 public:
  CodePoints() = default;
  CodePoints(char32_t first, char32_t last) : ranges_{{first, last}} {}
  static CodePoints all() { return {0, 0x10FFFF}; }
  static CodePoints of(std::string_view ascii);

  void add(char32_t first, char32_t last) { ranges_.emplace_back(first, last); }
  void add(const CodePoints& other) { ranges_.insert(ranges_.end(), other.ranges_.begin(), other.ranges_.end()); }
  CodePoints inverse() const;
  bool has(char32_t c) const;
  const std::vector<std::pair<char32_t, char32_t>>& ranges() const { return ranges_; }

 private:
  void tidy();  // sorts and joins
  std::vector<std::pair<char32_t, char32_t>> ranges_{};
};

// How a text is written: as plain UTF-8, or inside a JSON string exactly as JavaScript's JSON.stringify() writes it.
enum class Writing { kPlain, kJson };

// One character of the set. Surrogates have no bytes.
RegexId to_regex(Regexes& regexes, const CodePoints& set, Writing writing);
RegexId to_regex(Regexes& regexes, std::string_view text, Writing writing);
// Any one character.
RegexId any_character(Regexes& regexes, Writing writing);

}  // namespace wattn
