#include "tokenizer/byte_alphabet.h"

#include <algorithm>

#include "core/utf.h"
#include "tokenizer/pre_tokenized_text.h"
#include "tokenizer/unicode.h"

namespace wattn {

void append_byte_chars(const NormalizedText& text, std::size_t begin, std::size_t end, NormalizedText& out) {
  std::size_t size = out.size();
  const std::size_t most = std::min(size + 4 * (end - begin), std::max(size, out.most));
  out.resize(most);
  for (std::size_t i = begin; i < end; ++i) {
    char bytes[4];
    const std::size_t num_bytes = write_utf8(text.chars[i], bytes);
    if (num_bytes > most - size) {
      out.is_too_long = true;
      break;
    }
    for (std::size_t k = 0; k < num_bytes; ++k, ++size) {
      out.chars[size] = kByteChars[static_cast<unsigned char>(bytes[k])];
      out.spans[size] = text.spans[i];
    }
  }
  out.resize(size);
}

SpacesAround spaces_around(std::u32string_view token) {
  const auto is_space = [](char32_t c) { return c == kByteSpace || has_flag(c, kCharWhitespace); };
  std::size_t before = 0, after = 0;
  while (before < token.size() && is_space(token[before])) ++before;
  while (after < token.size() && is_space(token[token.size() - 1 - after])) ++after;
  return {static_cast<std::int32_t>(before), static_cast<std::int32_t>(after)};
}

SpacesAround spaces_around(std::string_view token) {
  constexpr std::string_view kSpace = "\xC4\xA0";  // kByteSpace
  const auto is_plain = [](char c) { return c > 0x20 && c < 0x7F; };
  std::int32_t before = 0;
  std::string_view rest = token;
  for (; rest.starts_with(kSpace); ++before) rest.remove_prefix(kSpace.size());
  if (!rest.empty() && is_plain(rest.front()) && is_plain(rest.back())) return {before, 0};
  return spaces_around(to_utf32(token));
}

}  // namespace wattn
