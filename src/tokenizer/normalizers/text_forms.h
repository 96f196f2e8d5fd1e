// Whole-text transformations that several normalizers share.
#pragma once

#include <string_view>

#include "tokenizer/normalized_text.h"

namespace wattn {

enum class NormalForm { kNfd, kNfc, kNfkd, kNfkc };

// Unicode normal forms as of Unicode 9.0. Linear except for sorting runs of combining marks.
void apply_normal_form(NormalizedText& text, NormalForm form);

// Whether every part of a text in UTF-8 has the form: false if a character may change another.
bool surely_has_normal_form(std::string_view text, NormalForm form);

// Full lowercase, one code point at a time, so without final sigma, as in the reference.
void apply_lowercase(NormalizedText& text);

}  // namespace wattn
