// Converters: each writes a tokenizer.json of its format. Those of vocabularies write the model alone: the stages are the class's
// (class_stages.h). config: tokenizer_config.json.
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
  std::string assumed{};      // the class whose stages these tokens need, where no file names one
};

// A WordPiece whose tokens are passed by id.
inline constexpr std::string_view kWordPieceJson =
    R"({"model": {"type": "WordPiece", "unk_token": "", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100, "vocab": {}}})";

// What a folder without a class means by its vocabulary: Python refuses such a folder.
bool has_capitals(const std::vector<std::string_view>& tokens);
Result<std::string_view> class_of_vocab(std::string_view vocab);

Result<Converted> from_vocab_txt(std::string_view vocab);                                              // vocab_txt.cpp
Result<Converted> from_vocab_and_merges(std::string_view vocab, std::string_view merges);              // merges_txt.cpp
Result<std::string> from_marian(std::string_view source_spm, std::string_view vocab, JsonRef config);  // marian.cpp
Result<std::string> from_m2m_100(std::string_view model, std::string_view vocab, JsonRef config);      // m2m_100.cpp
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
