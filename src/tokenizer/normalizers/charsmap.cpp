#include "tokenizer/normalizers/charsmap.h"

namespace wattn {
namespace {

// A unit of the trie (darts.h, Susumu Yata): label and flags in the low bits, offset of the children above.
bool has_leaf(std::uint32_t unit) { return (unit >> 8 & 1) != 0; }
std::uint32_t label(std::uint32_t unit) { return unit & (1u << 31 | 0xFF); }
std::uint32_t offset(std::uint32_t unit) { return (unit >> 10) << ((unit & 1u << 9) >> 6); }
std::uint32_t value(std::uint32_t unit) { return unit & ~(1u << 31); }

// RFC 4648 with padding; nothing if the text is malformed.
std::optional<std::string> decode_base64(std::string_view text) {
  std::string out;
  std::uint32_t bits = 0;
  int count = 0;
  while (text.ends_with('=') && text.size() % 4 != 1) text.remove_suffix(1);
  for (const char c : text) {
    const int value = c >= 'A' && c <= 'Z'   ? c - 'A'
                      : c >= 'a' && c <= 'z' ? c - 'a' + 26
                      : c >= '0' && c <= '9' ? c - '0' + 52
                      : c == '+'             ? 62
                      : c == '/'             ? 63
                                             : -1;
    if (value < 0) return std::nullopt;
    bits = bits << 6 | static_cast<std::uint32_t>(value);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    out.push_back(static_cast<char>(bits >> count));
  }
  return out;
}

}  // namespace

std::optional<Charsmap> Charsmap::from_bytes(std::string_view bytes) {
  if (bytes.empty()) return Charsmap();
  const auto read = [&](std::size_t at) {
    std::uint32_t number = 0;
    for (std::size_t i = 0; i < 4; ++i) number |= static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[at + i])) << (8 * i);
    return number;
  };
  if (bytes.size() < 4 || read(0) > bytes.size() - 4 || read(0) < 4) return std::nullopt;
  Charsmap charsmap;
  charsmap.units_.resize(read(0) / 4);
  for (std::size_t i = 0; i < charsmap.units_.size(); ++i) charsmap.units_[i] = read(4 + 4 * i);
  charsmap.strings_ = bytes.substr(4 + 4 * charsmap.units_.size());
  return charsmap;
}

std::optional<Charsmap::Match> Charsmap::find(std::string_view key, bool longest) const {
  std::optional<Match> found;
  if (units_.empty()) return found;
  std::size_t node = offset(units_[0]);
  for (std::size_t i = 0; i < key.size() && (longest || !found); ++i) {
    const std::uint32_t byte = static_cast<unsigned char>(key[i]);
    node ^= byte;
    if (byte == 0 || node >= units_.size() || label(units_[node]) != byte) return found;
    const std::uint32_t unit = units_[node];
    node ^= offset(unit);
    if (!has_leaf(unit)) continue;
    if (node >= units_.size() || value(units_[node]) > strings_.size()) return found;
    const std::string_view rest = std::string_view(strings_).substr(value(units_[node]));
    found = Match{i + 1, rest.substr(0, rest.find('\0'))};
  }
  return found;
}

Result<Charsmap> read_charsmap(JsonRef json) {
  if (json.is_null()) return Charsmap();
  const Result<std::string_view> text = json.as_string();
  if (!text.ok()) return text.error();
  const std::optional<std::string> bytes = decode_base64(text.value());
  if (!bytes) return json.mismatch("base64");
  std::optional<Charsmap> charsmap = Charsmap::from_bytes(*bytes);
  if (!charsmap) return json.mismatch("a trie and its strings, in base64");
  return std::move(*charsmap);
}

}  // namespace wattn
