// Normalizers change the text before it is split: lowercase, accents, normal forms.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <memory>
#include <string_view>

#include "core/json.h"
#include "core/result.h"
#include "tokenizer/normalized_text.h"

namespace wattn {

inline constexpr std::uint8_t kAsciiRemoved = 0xFF;
using AsciiMap = std::array<std::uint8_t, 128>;  // ASCII characters, or kAsciiRemoved
using AsciiSet = std::bitset<128>;

class Normalizer {
 public:
  virtual ~Normalizer() = default;
  virtual void normalize(NormalizedText& text) const = 0;
  // What each ASCII character becomes, if nothing else affects it, so that a text may be cut after any of them and normalized in
  // parts; otherwise nullptr.
  virtual const AsciiMap* ascii_map() const { return nullptr; }
  // Whether this text in UTF-8, and every part of it, surely stays as it is.
  virtual bool keeps(std::string_view) const { return false; }
  // Whether a text may be cut before runs of ASCII whitespace. Then what becomes of each part depends on nothing but the characters
  // on the other side of its cuts, and on whether it is the first or the last. tied: receives the ASCII characters that change with
  // others of ASCII, not each by itself.
  virtual bool is_local(AsciiSet&) const { return false; }
};

using NormalizerResult = Result<std::unique_ptr<Normalizer>>;

// json: the "normalizer" of a tokenizer.json, not null. depth counts enclosing Sequences.
NormalizerResult read_normalizer(JsonRef json, int depth = 0);

// One reader per normalizer; normalizer.cpp lists them by "type".
NormalizerResult read_bert_normalizer(JsonRef json, int depth);  // bert.cpp
NormalizerResult read_nfd(JsonRef json, int depth);              // simple.cpp
NormalizerResult read_nfc(JsonRef json, int depth);
NormalizerResult read_nfkd(JsonRef json, int depth);
NormalizerResult read_nfkc(JsonRef json, int depth);
NormalizerResult read_lowercase(JsonRef json, int depth);
NormalizerResult read_strip_accents(JsonRef json, int depth);
NormalizerResult read_strip(JsonRef json, int depth);
NormalizerResult read_prepend(JsonRef json, int depth);
NormalizerResult read_nmt(JsonRef json, int depth);
NormalizerResult read_replace(JsonRef json, int depth);      // replace.cpp
NormalizerResult read_precompiled(JsonRef json, int depth);  // precompiled.cpp
NormalizerResult read_sentencepiece_normalizer(JsonRef json, int depth);
NormalizerResult read_byte_level_normalizer(JsonRef json, int depth);  // pre_tokenizers/byte_level.cpp

}  // namespace wattn
