// SentencePiece's table of replacements: a double-array trie over UTF-8 (Darts) whose values are offsets into a buffer of strings
// that end with a NUL. Bytes: the trie's size (u32), its units (u32 each, little-endian), the strings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"
#include "core/result.h"

namespace wattn {

class Charsmap {
 public:
  Charsmap() = default;  // replaces nothing
  static std::optional<Charsmap> from_bytes(std::string_view bytes);

  // The replacement of the shortest prefix of the key in the table. (The reference takes it for the whole key.)
  std::optional<std::string_view> find(std::string_view key) const;

  struct Match {
    std::size_t length;  // bytes of the key
    std::string_view replacement;
  };
  std::optional<Match> find_longest(std::string_view key) const;

 private:
  std::optional<Match> find(std::string_view key, bool longest) const;

  std::vector<std::uint32_t> units_;
  std::string strings_;
};

// Reads the base64 string of a file; null is an empty table.
Result<Charsmap> read_charsmap(JsonRef json);

}  // namespace wattn
