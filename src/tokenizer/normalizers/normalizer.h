// Normalizers change the text before it is cut: lowercase, accents, normal forms.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "core/json.h"
#include "core/result.h"
#include "tokenizer/normalized_text.h"

namespace wattn {

inline constexpr std::uint8_t kAsciiRemoved = 0xFF;
using AsciiMap = std::array<std::uint8_t, 128>;  // ASCII characters, or kAsciiRemoved

class Normalizer {
 public:
  virtual ~Normalizer() = default;
  virtual void normalize(NormalizedText& text) const = 0;
  // What each ASCII character becomes, when that is all there is to it: a text may be cut behind any of them and normalized in
  // parts. nullptr: more than the character decides.
  virtual const AsciiMap* ascii_map() const { return nullptr; }
};

// json: the "normalizer" of a tokenizer.json, not null. depth counts enclosing Sequences.
Result<std::unique_ptr<Normalizer>> read_normalizer(JsonRef json, int depth = 0);

// The normalizer that transformers uses: for a tokenizer_class of the BERT family it makes the BertNormalizer anew from
// tokenizer_config.json (do_lower_case, strip_accents, tokenize_chinese_chars, each with its default) and passes over what
// tokenizer.json says. tokenizer_config may be absent.
Result<std::unique_ptr<Normalizer>> read_normalizer_of_class(JsonRef json, JsonRef tokenizer_config);

}  // namespace wattn
