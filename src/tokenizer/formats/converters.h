// One function a format: what transformers makes of such a file, as the text of a tokenizer.json. config: tokenizer_config.json,
// or absent.
#pragma once

#include <string>
#include <string_view>

#include "core/json.h"
#include "core/result.h"

namespace wattn {

Result<std::string> from_vocab_txt(std::string_view vocab, JsonRef config);                                  // vocab_txt.cpp
Result<std::string> from_vocab_and_merges(std::string_view vocab, std::string_view merges, JsonRef config);  // merges_txt.cpp

Result<std::string> from_sentencepiece(std::string_view model, JsonRef config);                        // sentencepiece.cpp
Result<std::string> from_marian(std::string_view source_spm, std::string_view vocab, JsonRef config);  // marian.cpp
Result<std::string> from_gguf(std::string_view file);                                                  // gguf.cpp

}  // namespace wattn
