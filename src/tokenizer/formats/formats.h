// Loads tokenizers from a model's files. tokenizer.json takes precedence. The other formats (vocab.txt, vocab.json with merges.txt,
// SentencePiece's .model, GGUF) are first converted to the tokenizer.json that transformers would make of them, so that there is
// only one way to load.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "tokenizer/tokenizer.h"

namespace wattn {

struct TokenizerFile {
  std::string_view name;  // "tokenizer.json", "tokenizer_config.json", "vocab.txt", ..., without the folder
  std::string_view bytes;
};

// files: those of a model; files that no tokenizer needs are ignored.
Result<Tokenizer> load_tokenizer(const std::vector<TokenizerFile>& files);

}  // namespace wattn
