// The tokens <0x00> to <0xFF>, which stand for bytes of characters that are not in the vocabulary (byte fallback).
#pragma once

#include <array>
#include <cstdint>

#include "tokenizer/vocabulary.h"

namespace wattn {

class ByteTokens {
 public:
  explicit ByteTokens(const Vocabulary& vocabulary) {
    constexpr char kDigits[] = "0123456789ABCDEF";
    for (unsigned byte = 0; byte < 256; ++byte) {
      const char name[] = {'<', '0', 'x', kDigits[byte >> 4], kDigits[byte & 15], '>'};
      ids_[byte] = vocabulary.find(std::string_view(name, sizeof(name)));
    }
  }

  std::int32_t of(char byte) const { return ids_[static_cast<unsigned char>(byte)]; }  // or Vocabulary::kAbsent

 private:
  std::array<std::int32_t, 256> ids_;
};

}  // namespace wattn
