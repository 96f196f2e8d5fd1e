// One reader per pre-tokenizer; pre_tokenizer.cpp lists them by "type".
#pragma once

#include "tokenizer/pre_tokenizers/pre_tokenizer.h"

namespace wattn {

using PreTokenizerResult = Result<std::unique_ptr<PreTokenizer>>;

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
