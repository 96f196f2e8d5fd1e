#include "core/utf.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/unicode.h"

namespace wattn {
namespace {

// \w of Python: str.isalnum() and the underscore.
bool is_word(char32_t c) {
  const auto category = static_cast<std::size_t>(category_of(c));
  const char group = kCategoryNames[2 * category];
  return c == U'_' || group == 'L' || group == 'N';
}
// \s of Python: str.isspace().
bool is_space(char32_t c) { return has_flag(c, kCharWhitespace) || (c >= 0x1C && c <= 0x1F); }

}  // namespace

std::vector<TextSpan> split_words(std::u16string_view text) {
  std::vector<TextSpan> words;
  const auto word_at = [&](std::size_t& position) { return position < text.size() && is_word(next_code_point(text, position)); };
  for (std::size_t begin = 0, end = 0; begin < text.size(); begin = end) {
    const char32_t first = next_code_point(text, end);
    if (is_space(first)) continue;
    if (is_word(first)) {
      // A - or _ joins words; the underscore is one of their characters too.
      for (std::size_t next = end;; next = end) {
        if (next < text.size() && text[next] == u'-') ++next;
        if (!word_at(next)) break;
        end = next;
      }
    }
    words.push_back({static_cast<std::int32_t>(begin), static_cast<std::int32_t>(end)});
  }
  return words;
}

}  // namespace wattn
