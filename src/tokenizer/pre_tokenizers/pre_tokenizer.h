// Pre-tokenizers split the normalized text into the pieces that the model tokenizes one by one.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "core/json.h"
#include "core/result.h"
#include "tokenizer/pre_tokenized_text.h"

namespace wattn {

enum class CharClass : std::uint8_t { kLetter, kSpace, kPunctuation };  // part of a word; dropped; a word by itself
using AsciiClasses = std::array<CharClass, 128>;

class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;
  virtual void pre_tokenize(PreTokenizedText& text) const = 0;
  // The class of each ASCII character, if words are what lies between spaces and punctuation and nothing else matters; otherwise
  // nullptr.
  virtual const AsciiClasses* ascii_classes() const { return nullptr; }
};

// json: the "pre_tokenizer" of a tokenizer.json, not null. depth counts enclosing Sequences.
Result<std::unique_ptr<PreTokenizer>> read_pre_tokenizer(JsonRef json, int depth = 0);

}  // namespace wattn
