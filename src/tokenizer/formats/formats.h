// Loads tokenizers from all of a model's files, as transformers' AutoTokenizer (5.24) does. The files name a class (classes.h), and
// the vocabulary is that of tokenizer.json or an older format. The stages are the class's (class_stages.h), and added tokens come
// from every file that has some (special_tokens.h). Everything becomes parts of a tokenizer.json, so that there is only one way to
// load.
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

// files: those of a model; files that no tokenizer needs are ignored. vocab: see Tokenizer::from_json.
Result<Tokenizer> load_tokenizer(const std::vector<TokenizerFile>& files, const std::vector<std::string_view>& vocab = {});

}  // namespace wattn
