// Marian's multilingual models: a text may begin with the target language, as in ">>fra<< Hello".
#pragma once

#include <cstddef>
#include <string_view>

namespace wattn {

// The number of characters of the language tag at the beginning of a text; 0 if there is none.
inline std::size_t language_length(std::u32string_view text) {
  const std::size_t end = text.starts_with(U">>") ? text.find(U"<<") : std::u32string_view::npos;
  return end == std::u32string_view::npos ? 0 : end + 2;
}

}  // namespace wattn
