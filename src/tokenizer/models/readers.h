// One reader per model; model.cpp lists them by "type".
#pragma once

#include "tokenizer/models/model.h"

namespace wattn {

using ModelResult = Result<std::unique_ptr<Model>>;

ModelResult read_wordpiece(JsonRef json, int depth);   // wordpiece.cpp
ModelResult read_bpe(JsonRef json, int depth);         // bpe.cpp
ModelResult read_unigram(JsonRef json, int depth);     // unigram.cpp
ModelResult read_word_level(JsonRef json, int depth);  // word_level.cpp

}  // namespace wattn
