// Marian's models of many languages: a text may begin with the language that is wanted, like ">>fra<< Hello".
#pragma once

#include <cstddef>
#include <string_view>

namespace wattn {

// Characters of the language at the beginning of a text; 0 without one.
inline std::size_t language_length(std::u32string_view text) {
  const std::size_t end = text.starts_with(U">>") ? text.find(U"<<") : std::u32string_view::npos;
  return end == std::u32string_view::npos ? 0 : end + 2;
}

}  // namespace wattn
