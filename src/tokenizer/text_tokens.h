// The tokens of one text, before truncation and before special tokens are added.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tokenizer/encoding.h"
#include "tokenizer/pre_tokenized_text.h"

namespace wattn {

// One entry per token in every vector.
struct TextTokens {
  std::vector<std::int32_t> ids;
  std::vector<TextSpan> offsets;
  std::vector<std::int32_t> word_ids;
  std::vector<SpacesAround> spaces;  // only if the post-processor trims offsets
  std::vector<std::string> texts;    // only if the tokens' strings are wanted
  std::int32_t num_words = 0;        // so far

  void reserve(std::size_t tokens) {
    ids.reserve(tokens);
    offsets.reserve(tokens);
    word_ids.reserve(tokens);
  }
  // Adds a token of the current word, whose number is num_words.
  void push(std::int32_t id, TextSpan span) {
    ids.push_back(id);
    offsets.push_back(span);
    word_ids.push_back(num_words);
  }
  void clear() {
    ids.clear();
    offsets.clear();
    word_ids.clear();
    spaces.clear();
    texts.clear();
    num_words = 0;
  }
};

}  // namespace wattn
