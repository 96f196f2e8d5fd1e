#include "constraints/code_points.h"

#include <algorithm>
#include <array>

#include "constraints/sort.h"
#include "core/utf.h"

namespace wattn {
namespace {

RegexId byte(Regexes& regexes, unsigned first, unsigned last) {
  return regexes.range(static_cast<std::uint8_t>(first), static_cast<std::uint8_t>(last));
}

// The code points of a range whose last `left` bytes continue a character. Bits above those are given by the caller's byte.
RegexId continuation(Regexes& regexes, char32_t first, char32_t last, int left) {
  if (left == 0) return Regexes::kEmpty;
  const int shift = 6 * (left - 1);
  const char32_t mask = (char32_t{1} << shift) - 1;
  const char32_t low = first >> shift & 0x3F, high = last >> shift & 0x3F;
  const auto part = [&](char32_t from, char32_t to, char32_t begin, char32_t end) {
    return regexes.concat(byte(regexes, 0x80 | from, 0x80 | to), continuation(regexes, begin & mask, end & mask, left - 1));
  };
  if (low == high) return part(low, high, first, last);
  std::vector<RegexId> parts{part(low, low, first, mask), part(high, high, 0, last)};
  if (low + 1 < high) parts.push_back(part(low + 1, high - 1, 0, mask));
  return regexes.either(std::move(parts));
}

// UTF-8 of a range without surrogates.
void add_utf8(Regexes& regexes, char32_t first, char32_t last, std::vector<RegexId>& out) {
  constexpr struct {
    char32_t first, last;
    unsigned lead;
  } kLengths[] = {{0, 0x7F, 0}, {0x80, 0x7FF, 0xC0}, {0x800, 0xFFFF, 0xE0}, {0x10000, 0x10FFFF, 0xF0}};
  for (int left = 0; left < 4; ++left) {
    const auto& [from, to, lead] = kLengths[left];
    const char32_t begin = std::max(first, from), end = std::min(last, to);
    if (begin > end) continue;
    const int shift = 6 * left;
    const char32_t mask = (char32_t{1} << shift) - 1;
    for (char32_t top = begin >> shift; top <= end >> shift;) {
      const bool is_first = top == begin >> shift && (begin & mask) != 0;
      // The whole ones in the middle have one expression.
      char32_t until = is_first ? top : (end >> shift) - ((end & mask) == mask ? 0 : 1);
      if (until < top) until = top;
      const char32_t low = is_first ? begin & mask : 0;
      const char32_t high = until == end >> shift ? end & mask : mask;
      out.push_back(regexes.concat(byte(regexes, lead | top, lead | until), continuation(regexes, low, high, left)));
      top = until + 1;
    }
  }
}

constexpr std::string_view kShort = "\"\"\\\\\bb\ff\nn\rr\tt";  // pairs of a character and its letter after a backslash

}  // namespace

CodePoints CodePoints::of(std::string_view ascii) {
  CodePoints out;
  for (const char c : ascii) out.add(static_cast<unsigned char>(c), static_cast<unsigned char>(c));
  return out;
}

void CodePoints::tidy() {
  sort_small(ranges_);
  std::vector<std::pair<char32_t, char32_t>> out;
  for (const auto& [first, last] : ranges_) {
    if (!out.empty() && first <= out.back().second + 1)
      out.back().second = std::max(out.back().second, last);
    else
      out.emplace_back(first, last);
  }
  ranges_ = std::move(out);
}

CodePoints CodePoints::inverse() const {
  CodePoints sorted = *this, out;
  sorted.tidy();
  char32_t next = 0;
  for (const auto& [first, last] : sorted.ranges_) {
    if (first > next) out.add(next, first - 1);
    next = last + 1;
  }
  if (next <= 0x10FFFF) out.add(next, 0x10FFFF);
  return out;
}

bool CodePoints::has(char32_t c) const {
  return std::any_of(ranges_.begin(), ranges_.end(), [&](const auto& range) { return range.first <= c && c <= range.second; });
}

RegexId to_regex(Regexes& regexes, const CodePoints& set, Writing writing) {
  CodePoints sorted = set.inverse();
  sorted.add(0xD800, 0xDFFF);
  if (writing == Writing::kJson) {
    sorted.add(0, 0x1F);
    for (std::size_t i = 0; i < kShort.size(); i += 2)
      sorted.add(static_cast<unsigned char>(kShort[i]), static_cast<unsigned char>(kShort[i]));
  }
  std::vector<RegexId> parts;
  const CodePoints plain = sorted.inverse();
  for (const auto& [first, last] : plain.ranges()) add_utf8(regexes, first, last, parts);
  if (writing == Writing::kJson) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    for (char32_t c = 0; c < 0x80; ++c) {
      if (!set.has(c)) continue;
      std::size_t at = 0;
      while (at < kShort.size() && static_cast<unsigned char>(kShort[at]) != c) at += 2;
      if (at < kShort.size())
        parts.push_back(regexes.text(std::string{'\\', kShort[at + 1]}));
      else if (c < 0x20)
        parts.push_back(regexes.text(std::string("\\u00") + kDigits[c >> 4] + kDigits[c & 15]));
    }
  }
  return regexes.either(std::move(parts));
}

RegexId to_regex(Regexes& regexes, std::string_view text, Writing writing) {
  std::vector<RegexId> parts;
  for (std::size_t at = 0; at < text.size();) {
    const char32_t c = next_code_point(text, at);
    parts.push_back(to_regex(regexes, CodePoints(c, c), writing));
  }
  RegexId out = Regexes::kEmpty;
  for (std::size_t i = parts.size(); i-- > 0;) out = regexes.concat(parts[i], out);
  return out;
}

RegexId any_character(Regexes& regexes, Writing writing) { return to_regex(regexes, CodePoints::all(), writing); }

}  // namespace wattn
