// Converters: each writes the tokenizer.json that transformers would make of its format. config: tokenizer_config.json, or absent.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"
#include "core/result.h"

namespace wattn {

// The tokens of a WordPiece are passed by id, not as JSON that would be parsed again; model.vocab is then empty.
struct Converted {
  std::string json;
  std::vector<std::string_view> vocab{};
  std::vector<char> bytes{};  // of the tokens that differ from the file's
};

Result<Converted> from_vocab_txt(std::string_view vocab, JsonRef config);                                    // vocab_txt.cpp
Result<std::string> from_wordpiece_tokens(const std::vector<std::string_view>& tokens, JsonRef config);      // vocab_txt.cpp
Result<std::string> from_vocab_and_merges(std::string_view vocab, std::string_view merges, JsonRef config);  // merges_txt.cpp

Result<std::string> from_sentencepiece(std::string_view model, JsonRef config);                        // sentencepiece.cpp
Result<std::string> from_marian(std::string_view source_spm, std::string_view vocab, JsonRef config);  // marian.cpp
Result<std::string> from_m2m_100(std::string_view model, std::string_view vocab, JsonRef config);      // m2m_100.cpp
Result<std::string> from_deberta(std::string_view spm_model, JsonRef config);                          // deberta.cpp
Result<Converted> from_gguf(std::string_view file);                                                    // gguf.cpp

// tokenizer.ggml.pre: the pre-tokenizer of byte-level text, by llama.cpp's names (gguf_pre.cpp).
struct GgufPre {
  std::string pre_tokenizer;  // as in tokenizer.json
  bool ignore_merges = false;
  bool add_bos = false;  // the default
};

// An unknown name is an UnsupportedError that lists the known ones.
Result<GgufPre> gguf_pre(std::string_view name);

}  // namespace wattn
