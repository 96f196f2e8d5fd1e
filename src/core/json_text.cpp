// build: -Oz
// JSON text of strings; json.cpp has the rest of json.h.
#include "core/json.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include "core/utf.h"

namespace wattn {
namespace {

void append_escape(char32_t unit, std::string& out) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  out += "\\u";
  for (int shift = 12; shift >= 0; shift -= 4) out += kDigits[unit >> shift & 0xF];
}

// Not RapidJSON's writer, which reserves 6 or 12 times a string's length, counted in 32 bits. ascii: escape all other characters.
std::string string_text(std::string_view text, bool ascii) {
  constexpr std::string_view kShort = "\"\"\\\\\bb\ff\nn\rr\tt";  // pairs of a character and its letter after a backslash
  const std::string valid = replace_invalid_utf8(text);
  std::string out = "\"";
  for (std::size_t at = 0; at < valid.size();) {
    const std::size_t begin = at;
    const char32_t c = next_code_point(valid, at);
    const auto escaped = c < 0x80 ? kShort.find(static_cast<char>(c)) : std::string_view::npos;
    if (escaped != std::string_view::npos && escaped % 2 == 0) {
      out += {'\\', kShort[escaped + 1]};
    } else if (c < ' ' || (ascii && c >= 0x80 && c < 0x10000)) {
      append_escape(c, out);
    } else if (ascii && c >= 0x10000) {
      append_escape(0xD800 + ((c - 0x10000) >> 10), out);
      append_escape(0xDC00 + (c & 0x3FF), out);
    } else {
      out.append(valid, begin, at - begin);
    }
  }
  return out += '"';
}

}  // namespace

std::string json_text(std::string_view text) {
  // Most strings need no escapes, and a vocabulary has a hundred thousand of them.
  const auto is_plain = [](unsigned char c) { return c >= ' ' && c < 0x7F && c != '"' && c != '\\'; };
  if (!std::all_of(text.begin(), text.end(), is_plain)) return string_text(text, false);
  std::string out;
  out.reserve(text.size() + 2);
  out += '"';
  out += text;
  return out += '"';
}

std::string shown_text(std::string_view text) {
  constexpr std::size_t kLongest = 60;
  std::string out = string_text(text.substr(0, 4 * kLongest), true);  // a character has at most four bytes
  if (out.size() > kLongest) out = out.substr(0, kLongest) + "...";
  return out;
}

}  // namespace wattn
