#include "tokenizer/normalizers/charsmap.h"

namespace wattn {

namespace {

// A unit of the trie (darts.h, Susumu Yata): label and flags in the low bits, offset to the children above.
bool has_leaf(std::uint32_t unit) { return (unit >> 8 & 1) != 0; }
std::uint32_t label(std::uint32_t unit) { return unit & (1u << 31 | 0xFF); }
std::uint32_t offset(std::uint32_t unit) { return (unit >> 10) << ((unit & 1u << 9) >> 6); }
std::uint32_t value(std::uint32_t unit) { return unit & ~(1u << 31); }

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

std::optional<std::string_view> Charsmap::find(std::string_view key) const {
  if (units_.empty()) return std::nullopt;
  std::size_t node = offset(units_[0]);
  for (const char c : key) {
    const std::uint32_t byte = static_cast<unsigned char>(c);
    node ^= byte;
    if (byte == 0 || node >= units_.size() || label(units_[node]) != byte) return std::nullopt;
    const std::uint32_t unit = units_[node];
    node ^= offset(unit);
    if (!has_leaf(unit)) continue;
    if (node >= units_.size() || value(units_[node]) > strings_.size()) return std::nullopt;
    const std::string_view rest = std::string_view(strings_).substr(value(units_[node]));
    return rest.substr(0, rest.find('\0'));
  }
  return std::nullopt;
}

}  // namespace wattn
