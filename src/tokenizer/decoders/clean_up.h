// Python's two ways of removing the spaces that tokenization inserted.
#pragma once

#include <string>
#include <string_view>

namespace wattn {

// Replaces every occurrence, left to right, like Python's str.replace; from is not empty.
void replace_all(std::string& text, std::string_view from, std::string_view to);

// tokenizers' WordPiece decoder with cleanup, applied to each token.
void clean_up_wordpiece(std::string& text);
// Whether it could change the text: false for most, after one look at it.
bool may_need_clean_up(std::string_view text);

// transformers' clean_up_tokenization, applied to the whole text. It keeps " do not".
void clean_up_tokenization(std::string& text);

}  // namespace wattn
