// Pre-tokenizers split the normalized text into the pieces that the model tokenizes one by one.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>

#include "core/json.h"
#include "core/result.h"
#include "tokenizer/pre_tokenized_text.h"

namespace wattn {

enum class CharClass : std::uint8_t { kLetter, kSpace, kPunctuation };  // part of a word; dropped; a word by itself
using AsciiClasses = std::array<CharClass, 128>;

// What a chain of pre-tokenizers does, if it is a pattern over bytes.
struct ByteSplit {
  std::string_view regex{};  // whose matches, and what is between them, are the words; empty: none yet
  bool digits_first = false;
  bool writes_bytes = false;
};

// Where a text may be cut before runs of spaces: nowhere that is sure, anywhere, or anywhere and words end there. What becomes of
// each part must depend on nothing but the characters on the other side of its cuts, and on whether it is the first.
enum class SpaceCuts : std::uint8_t { kNone, kLocal, kDivide };

class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;
  virtual void pre_tokenize(PreTokenizedText& text) const = 0;
  // The class of each ASCII character, if words are what lies between spaces and punctuation and nothing else matters; otherwise
  // nullptr.
  virtual const AsciiClasses* ascii_classes() const { return nullptr; }
  // Appends a description of what it does; false if there is no such description.
  virtual bool describe(ByteSplit&) const { return false; }
  virtual SpaceCuts space_cuts() const { return SpaceCuts::kNone; }
};

using PreTokenizerResult = Result<std::unique_ptr<PreTokenizer>>;

// json: the "pre_tokenizer" of a tokenizer.json, not null. depth counts enclosing Sequences.
PreTokenizerResult read_pre_tokenizer(JsonRef json, int depth = 0);

// One reader per pre-tokenizer; pre_tokenizer.cpp lists them by "type".
PreTokenizerResult read_bert_pre_tokenizer(JsonRef json, int depth);  // bert.cpp
PreTokenizerResult read_split(JsonRef json, int depth);               // split.cpp
PreTokenizerResult read_char_delimiter_split(JsonRef json, int depth);
PreTokenizerResult read_punctuation(JsonRef json, int depth);
PreTokenizerResult read_digits(JsonRef json, int depth);
PreTokenizerResult read_whitespace_split(JsonRef json, int depth);
PreTokenizerResult read_whitespace(JsonRef json, int depth);
PreTokenizerResult read_fixed_length(JsonRef json, int depth);
PreTokenizerResult read_byte_level(JsonRef json, int depth);       // byte_level.cpp
PreTokenizerResult read_metaspace(JsonRef json, int depth);        // metaspace.cpp
PreTokenizerResult read_unicode_scripts(JsonRef json, int depth);  // unicode_scripts.cpp

}  // namespace wattn
