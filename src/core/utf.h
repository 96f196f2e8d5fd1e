// UTF-8, UTF-16 and code points. Text inside the core is code points (char32_t); JS strings come in as UTF-16 units.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace wattn {

inline constexpr char32_t kReplacementCharacter = 0xFFFD;

// Reads one code point at text[position] and moves position past it. A lone surrogate reads as U+FFFD (one unit).
char32_t next_code_point(std::u16string_view text, std::size_t& position);

// Reads one code point at text[position] and moves position past it. Invalid UTF-8 reads as one U+FFFD per invalid byte.
char32_t next_code_point(std::string_view text, std::size_t& position);

// Writes the one to four bytes of a code point (at most U+10FFFF) and returns their number.
std::size_t write_utf8(char32_t code_point, char out[4]);
void append_utf8(char32_t code_point, std::string& out);
std::size_t write_utf16(char32_t code_point, char16_t out[2]);  // the same in one or two units
std::string to_utf8(std::u32string_view text);
std::string to_utf8(std::u16string_view text);  // lone surrogates become U+FFFD
std::u16string to_utf16(std::string_view utf8);
std::u32string to_utf32(std::string_view utf8);
int hex_digit(char32_t c);  // its value, or -1
bool is_utf8(std::string_view bytes);
// Each maximal part of an invalid sequence becomes one U+FFFD, as in the Encoding Standard and Rust.
std::string replace_invalid_utf8(std::string_view bytes);

}  // namespace wattn
