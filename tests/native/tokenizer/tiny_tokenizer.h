// Tokenizers of a few tokens, written inline, and helpers to inspect their results.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/json.h"
#include "core/utf.h"
#include "native/support/files.h"
#include "tokenizer/formats/formats.h"
#include "tokenizer/tokenizer.h"

namespace wattn::test {

// {"a": 0, "b": 1, ...} in the order given.
inline std::string vocab_json(const std::vector<std::string>& tokens) {
  std::string out = "{";
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    out += (i ? ", \"" : "\"") + tokens[i] + "\": " + std::to_string(i);
  }
  return out + "}";
}

inline std::string added_token_json(const std::string& content, std::initializer_list<std::string_view> on = {}) {
  std::string out = R"({"id": 0, "content": ")" + content + "\"";
  for (const std::string_view key : {"single_word", "lstrip", "rstrip", "normalized", "special"}) {
    bool value = false;
    for (const std::string_view name : on) value = value || name == key;
    out += ", \"" + std::string(key) + "\": " + (value ? "true" : "false");
  }
  return out + "}";
}

inline constexpr const char* kBertNormalizer =
    R"({"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "strip_accents": null, "lowercase": true})";
inline constexpr const char* kBertTemplate = R"({"type": "TemplateProcessing",
  "single": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}},
             {"SpecialToken": {"id": "[SEP]", "type_id": 0}}],
  "pair": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}},
           {"SpecialToken": {"id": "[SEP]", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}},
           {"SpecialToken": {"id": "[SEP]", "type_id": 1}}],
  "special_tokens": {"[CLS]": {"id": "[CLS]", "ids": [1], "tokens": ["[CLS]"]},
                     "[SEP]": {"id": "[SEP]", "ids": [2], "tokens": ["[SEP]"]}}})";
inline constexpr const char* kWordPieceDecoder = R"({"type": "WordPiece", "prefix": "##", "cleanup": true})";

struct TinyTokenizer {
  std::string normalizer = "null";
  std::string pre_tokenizer = R"({"type": "BertPreTokenizer"})";
  std::string post_processor = "null";
  std::string decoder = "null";
  std::vector<std::string> added = {};  // objects
  std::vector<std::string> vocab = {"[UNK]", "[CLS]", "[SEP]", "a",  "b",      "c", "##a", "##b",
                                    "##c",   "ab",    "##bc",  "un", "##able", ",", "."};
  std::string max_input_chars = "100";
  std::string model = "";  // instead of a WordPiece with vocab

  std::string json() const {
    std::string tokens;
    for (const std::string& token : added) tokens += (tokens.empty() ? "" : ", ") + token;
    const std::string wordpiece = R"({"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
      "max_input_chars_per_word": )" +
                                  max_input_chars + R"(, "vocab": )" + vocab_json(vocab) + "}";
    return R"({"version": "1.0", "truncation": null, "padding": null, "added_tokens": [)" + tokens + R"(], "normalizer": )" +
           normalizer + R"(, "pre_tokenizer": )" + pre_tokenizer + R"(, "post_processor": )" + post_processor + R"(, "decoder": )" +
           decoder + R"(, "model": )" + (model.empty() ? wordpiece : model) + "}";
  }
};

inline Result<Tokenizer> load_text(const std::string& tokenizer_json, const std::string& config_json = "{}") {
  return load_tokenizer({{"tokenizer.json", tokenizer_json}, {"tokenizer_config.json", config_json}});
}

// For tokenizers that are meant to load.
inline Tokenizer make(const TinyTokenizer& tiny) {
  Result<Tokenizer> tokenizer = load_text(tiny.json());
  if (!tokenizer.ok()) {
    ADD_FAILURE() << tokenizer.error().message;
    std::exit(1);
  }
  return std::move(tokenizer).value();
}

inline Encoding encode(const Tokenizer& tokenizer, std::u16string_view text, const EncodeOptions& options = {}) {
  Result<Encoding> encoding = tokenizer.encode(text, options);
  EXPECT_TRUE(encoding.ok()) << encoding.error().message;
  return encoding.ok() ? std::move(encoding).value() : Encoding{};
}

using Tokens = std::vector<std::string>;

inline Tokens tokens_of(const Tokenizer& tokenizer, const Encoding& encoding) {
  Tokens out;
  for (const std::int32_t id : encoding.ids) out.emplace_back(tokenizer.id_to_token(id));
  return out;
}

// text.slice(begin, end) for every token.
inline std::vector<std::u16string> slices_of(std::u16string_view text, const Encoding& encoding) {
  std::vector<std::u16string> out;
  for (const TextSpan& span : encoding.offsets) out.emplace_back(text.substr(span.begin, span.end - span.begin));
  return out;
}

// A folder of real data beside the repository (read in place, never copied), or "" when there is none.
inline std::string shared_data() {
  const char* from_environment = std::getenv("WATTN_SHARED_DATA");
  const std::string folder = from_environment ? from_environment : std::string(WATTN_TEST_DATA) + "/../../shared/data";
  return has_file(folder + "/MANIFEST.json") ? folder + "/" : "";
}

}  // namespace wattn::test
