// Writing a tokenizer.json as text.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"

namespace wattn {

inline std::string_view json_bool(bool value) { return value ? "true" : "false"; }

// The texts one after the other. Smaller code than operator+.
std::string concat(std::initializer_list<std::string_view> parts);

// The next of the words between spaces, which is taken from them; empty if there is none.
std::string_view next_word(std::string_view& words);
bool has_word(std::string_view words, std::string_view wanted);

struct SpecialToken {
  std::string content;
  std::int32_t id;
  bool special = true;  // false: a user-defined token
};

// The array "added_tokens".
std::string added_tokens_json(const std::vector<SpecialToken>& tokens);

// A template of one text, "$A" or "$B", between two special tokens; an empty one is left out. All have this type.
std::string text_template(std::string_view before, std::string_view text, std::string_view after, char type = '0');

// TemplateProcessing: pieces like "$A:0" and "<s>:1"; tokens has the ids of the special ones.
std::string template_json(std::string_view single, std::string_view pair, const std::vector<SpecialToken>& tokens);

// {"token":id, ...} of tokens in the order of their ids.
template <class Tokens>
std::string vocab_json(const Tokens& tokens) {
  std::string out = "{";
  for (std::uint32_t id = 0; id < tokens.size(); ++id) {
    if (id > 0) out += ',';
    out += json_text(tokens[id]) + ':' + std::to_string(id);
  }
  return out + "}";
}

struct BpeParts {
  std::string vocab;   // an object
  std::string merges;  // an array
  std::optional<std::string> unk_token{};
  std::optional<std::string> continuing_subword_prefix{};
  std::optional<std::string> end_of_word_suffix{};
  bool fuse_unk = false, byte_fallback = false, ignore_merges = false;
  std::int32_t num_known = -1;  // as in PieceModel
};
std::string bpe_json(const BpeParts& parts);

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
