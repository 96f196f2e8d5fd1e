// Writing a tokenizer.json as text.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"

namespace wattn {

struct SpecialToken {
  std::string_view content;
  std::int32_t id;
};

// The array "added_tokens" of special tokens.
std::string added_tokens_json(const std::vector<SpecialToken>& tokens);

// TemplateProcessing: pieces like "$A:0" and "<s>:1"; tokens has the ids of the special ones.
std::string template_json(std::string_view single, std::string_view pair, const std::vector<SpecialToken>& tokens);

struct TokenizerParts {
  std::string added_tokens = "[]";
  std::string normalizer = "null";
  std::string pre_tokenizer = "null";
  std::string post_processor = "null";
  std::string decoder = "null";
  std::string model;
};
std::string tokenizer_json(const TokenizerParts& parts);

// A token's name in tokenizer_config.json: a string, or an object with "content"; fallback if there is none.
std::string_view token_name(JsonRef config, std::string_view key, std::string_view fallback);

}  // namespace wattn
