// A text cut into splits: pre-tokens, which the model tokenizes one by one, and added tokens, which have their ids already.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "tokenizer/normalized_text.h"

namespace wattn {

struct Split {
  static constexpr std::int32_t kNoToken = -1;

  std::uint32_t begin = 0;  // [begin, end) of PreTokenizedText::text, never empty
  std::uint32_t end = 0;
  std::int32_t token = kNoToken;  // id of an added token, which is not split further
};

// Numbers of whitespace characters at the ends of a token's string (including byte-level spaces).
struct SpacesAround {
  std::int32_t before = 0;
  std::int32_t after = 0;
};
SpacesAround spaces_around(std::u32string_view token);  // byte_alphabet.cpp
SpacesAround spaces_around(std::string_view token);

struct PreTokenizedText {
  NormalizedText text;
  std::vector<Split> splits;               // in text order; their indices are the word ids
  std::vector<SpacesAround> token_spaces;  // [added tokens] of the ranges that they cover, in order

  std::u32string_view chars_of(const Split& split) const {
    return std::u32string_view(text.chars).substr(split.begin, split.end - split.begin);
  }
};

// Replaces every split except added tokens with the splits that cut(split, out) appends to out, which must not be empty.
template <class Cut>
void resplit(PreTokenizedText& text, Cut cut) {
  std::vector<Split> out;
  out.reserve(text.splits.size() + text.text.size() / 4);
  for (const Split& split : text.splits) {
    if (split.token != Split::kNoToken) {
      out.push_back(split);
    } else {
      cut(split, out);
    }
  }
  text.splits = std::move(out);
}

// Rewrites the text: rewrite(split, out) appends the new text of a split. Added tokens stay unchanged.
template <class Rewrite>
void rewrite_splits(PreTokenizedText& text, Rewrite rewrite) {
  NormalizedText out = text.text.next();
  out.reserve(text.text.size() + text.text.size() / 4);
  for (Split& split : text.splits) {
    const std::size_t begin = out.size();
    if (split.token != Split::kNoToken) {
      out.append(text.text, split.begin, split.end);
    } else {
      rewrite(split, out);
    }
    split.begin = static_cast<std::uint32_t>(begin);
    split.end = static_cast<std::uint32_t>(out.size());
  }
  text.text = std::move(out);
  if (text.text.is_too_long) text.splits.clear();  // no split is empty
}

// Inserts a prefix before every split for which wants_it(split) holds, with the span of the split's first character.
template <class WantsIt>
void prepend_to_splits(PreTokenizedText& text, std::u32string_view prefix, WantsIt wants_it) {
  rewrite_splits(text, [&](const Split& split, NormalizedText& out) {
    if (wants_it(split)) {
      for (const char32_t c : prefix) out.push(c, text.text.spans[split.begin]);
    }
    out.append(text.text, split.begin, split.end);
  });
}

}  // namespace wattn
