// The alphabet of byte-level tokenizers (GPT-2's): every byte is a visible character. Bytes that are visible in Latin-1 stand for
// themselves, the others are numbered from U+0100; a space is U+0120.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "tokenizer/normalized_text.h"

namespace wattn {

inline constexpr char32_t kByteSpace = 0x120;

constexpr bool is_visible_byte(unsigned byte) { return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte != 0xAD); }

inline constexpr auto kByteChars = [] {  // [byte]
  std::array<std::uint16_t, 256> chars{};
  std::uint16_t next = 0x100;
  for (unsigned byte = 0; byte < 256; ++byte) chars[byte] = is_visible_byte(byte) ? static_cast<std::uint16_t>(byte) : next++;
  return chars;
}();

// Appends the UTF-8 bytes of the characters [begin, end) of a text, each as a visible character with its source's span.
void append_byte_chars(const NormalizedText& text, std::size_t begin, std::size_t end, NormalizedText& out);

// The byte that a character stands for, or -1. The numbered bytes are 0 to 0x20, 0x7F to 0xA0 and 0xAD.
constexpr int byte_of_char(char32_t c) {
  if (c < 0x100) return is_visible_byte(c) ? static_cast<int>(c) : -1;
  if (c <= 0x120) return static_cast<int>(c - 0x100);
  if (c <= 0x142) return static_cast<int>(c - 0x121 + 0x7F);
  return c == 0x143 ? 0xAD : -1;
}
static_assert([] {
  for (unsigned byte = 0; byte < 256; ++byte) {
    if (byte_of_char(kByteChars[byte]) != static_cast<int>(byte)) return false;
  }
  return true;
}());

}  // namespace wattn
