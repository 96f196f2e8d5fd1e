// A text cut into splits: pre-tokens that the model will look at one by one, and added tokens that are done already.
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
  std::int32_t token = kNoToken;  // id of an added token; such a split is cut no further
};

struct PreTokenizedText {
  NormalizedText text;
  std::vector<Split> splits;  // in the order of the text; their indices are the word ids

  std::u32string_view chars_of(const Split& split) const {
    return std::u32string_view(text.chars).substr(split.begin, split.end - split.begin);
  }
};

// Replaces every split that is no added token by what cut(split, out) appends to out. Empty splits are left out.
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

}  // namespace wattn
