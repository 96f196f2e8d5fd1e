// Tokenizers by the files they come in. tokenizer.json rules where it is there; the other formats (vocab.txt, vocab.json with
// merges.txt, SentencePiece's .model, GGUF) are written as a tokenizer.json first, the very one that transformers would make of
// them, so that everything after is one way.
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

// Of the files of a model those that a tokenizer is made of; the others are passed over.
Result<Tokenizer> load_tokenizer(const std::vector<TokenizerFile>& files);

}  // namespace wattn
