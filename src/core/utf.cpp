#include "core/utf.h"

#include <cstdint>
#include <cstring>

namespace wattn {

char32_t next_code_point(std::u16string_view text, std::size_t& position) {
  const char32_t unit = text[position++];
  if (unit < 0xD800 || unit > 0xDFFF) return unit;
  if (unit > 0xDBFF || position == text.size()) return kReplacementCharacter;
  const char32_t low = text[position];
  if (low < 0xDC00 || low > 0xDFFF) return kReplacementCharacter;
  ++position;
  return 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
}

char32_t next_code_point(std::string_view text, std::size_t& position) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const char32_t lead = byte(position);
  if (lead < 0x80) {
    ++position;
    return lead;
  }
  const int length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  constexpr char32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};  // anything below is an overlong form
  bool valid = lead >= 0xC2 && lead <= 0xF4 && position + length <= text.size();
  char32_t code_point = lead & (0x7F >> length);
  for (int i = 1; valid && i < length; ++i) {
    valid = (byte(position + i) & 0xC0) == 0x80;
    code_point = (code_point << 6) | (byte(position + i) & 0x3F);
  }
  valid = valid && code_point >= kSmallest[length] && code_point <= 0x10FFFF && (code_point < 0xD800 || code_point > 0xDFFF);
  position += valid ? length : 1;
  return valid ? code_point : kReplacementCharacter;
}

std::size_t write_utf8(char32_t code_point, char out[4]) {
  const auto continuation = [](char32_t bits) { return static_cast<char>(0x80 | (bits & 0x3F)); };
  if (code_point < 0x80) {
    out[0] = static_cast<char>(code_point);
    return 1;
  }
  if (code_point < 0x800) {
    out[0] = static_cast<char>(0xC0 | (code_point >> 6));
    out[1] = continuation(code_point);
    return 2;
  }
  if (code_point < 0x10000) {
    out[0] = static_cast<char>(0xE0 | (code_point >> 12));
    out[1] = continuation(code_point >> 6);
    out[2] = continuation(code_point);
    return 3;
  }
  out[0] = static_cast<char>(0xF0 | (code_point >> 18));
  out[1] = continuation(code_point >> 12);
  out[2] = continuation(code_point >> 6);
  out[3] = continuation(code_point);
  return 4;
}

void append_utf8(char32_t code_point, std::string& out) {
  char bytes[4];
  out.append(bytes, write_utf8(code_point, bytes));
}

int hex_digit(char32_t c) {
  if (c >= U'0' && c <= U'9') return static_cast<int>(c - U'0');
  if ((c | 0x20) >= U'a' && (c | 0x20) <= U'f') return static_cast<int>((c | 0x20) - U'a' + 10);
  return -1;
}

bool is_utf8(std::string_view bytes) {
  for (std::size_t position = 0; position < bytes.size();) {
    if (bytes.size() - position >= 8) {
      std::uint64_t eight;
      std::memcpy(&eight, bytes.data() + position, 8);
      if ((eight & 0x8080808080808080) == 0) {
        position += 8;
        continue;
      }
    }
    const std::size_t begin = position;
    if (next_code_point(bytes, position) == kReplacementCharacter && position == begin + 1) return false;
  }
  return true;
}

std::string replace_invalid_utf8(std::string_view bytes) {
  const auto byte = [&](std::size_t i) { return i < bytes.size() ? static_cast<unsigned char>(bytes[i]) : 0u; };
  std::string out;
  out.reserve(bytes.size());
  for (std::size_t position = 0; position < bytes.size();) {
    const std::size_t begin = position;
    const char32_t code_point = next_code_point(bytes, position);
    append_utf8(code_point, out);
    const unsigned lead = byte(begin);
    if (code_point != kReplacementCharacter || position != begin + 1 || lead < 0xC2 || lead > 0xF4) continue;
    // A truncated character: skip those of its continuation bytes that are valid.
    const unsigned least = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
    const unsigned most = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
    if (lead < 0xE0 || byte(position) < least || byte(position) > most) continue;
    ++position;
    if (lead >= 0xF0 && (byte(position) & 0xC0) == 0x80) ++position;
  }
  return out;
}

std::string to_utf8(std::u32string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char32_t code_point : text) append_utf8(code_point, out);
  return out;
}

std::string to_utf8(std::u16string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t position = 0; position < text.size();) append_utf8(next_code_point(text, position), out);
  return out;
}

std::size_t write_utf16(char32_t code_point, char16_t out[2]) {
  if (code_point < 0x10000) {
    out[0] = static_cast<char16_t>(code_point);
    return 1;
  }
  out[0] = static_cast<char16_t>(0xD7C0 + (code_point >> 10));
  out[1] = static_cast<char16_t>(0xDC00 + (code_point & 0x3FF));
  return 2;
}

std::u16string to_utf16(std::string_view utf8) {
  std::u16string out(utf8.size(), u'\0');  // never more units than bytes
  std::size_t size = 0;
  for (std::size_t position = 0; position < utf8.size();) {
    for (std::uint64_t eight; position + 8 <= utf8.size(); position += 8, size += 8) {
      std::memcpy(&eight, utf8.data() + position, 8);
      if (eight & 0x8080808080808080) break;
      for (std::size_t i = 0; i < 8; ++i) out[size + i] = static_cast<unsigned char>(utf8[position + i]);
    }
    if (position == utf8.size()) break;
    const char32_t code_point = next_code_point(utf8, position);
    size += write_utf16(code_point, &out[size]);
  }
  out.resize(size);
  return out;
}

std::u32string to_utf32(std::string_view utf8) {
  std::u32string out;
  out.reserve(utf8.size());
  for (std::size_t position = 0; position < utf8.size();) out.push_back(next_code_point(utf8, position));
  return out;
}

}  // namespace wattn
