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

  struct Match {
    std::size_t length;  // bytes of the key
    std::string_view replacement;
  };
  // The longest or the shortest prefix of the key in the table. (The reference takes the shortest for the whole key.)
  std::optional<Match> find(std::string_view key, bool longest) const;

 private:
  std::vector<std::uint32_t> units_;
  std::string strings_;
};

// Reads the base64 string of a file; null is an empty table.
Result<Charsmap> read_charsmap(JsonRef json);

}  // namespace wattn
