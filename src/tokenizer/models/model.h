// Models turn one pre-token into tokens of their vocabulary.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "core/json.h"
#include "core/result.h"

namespace wattn {

struct Token {
  std::int32_t id;
  std::uint32_t begin;  // [begin, end) in characters of the pre-token
  std::uint32_t end;
  bool shows_text = false;  // an unknown token whose string is the text that it stands for (Unigram)
};

class Merges;
class Vocabulary;

// A BPE whose words are byte-level characters. vocabulary is null if it is none.
struct ByteModel {
  const Vocabulary* vocabulary = nullptr;
  const Merges* merges = nullptr;
  bool whole_words = false;  // a word in the vocabulary becomes that token, whatever the merges are
};

class TokenModel {
 public:
  virtual ~TokenModel() = default;
  // Appends the tokens of a pre-token, which must not be empty. Time is linear in its length (O(n log n) for BPE). Returns false if
  // part of it is unknown and the model has no unknown token.
  virtual bool tokenize(std::u32string_view word, std::vector<Token>& out) const = 0;
  virtual ByteModel byte_model() const { return {}; }
  // Whether a word may be tokenized in parts, cut before runs of this character.
  virtual bool divides_before(char32_t) const { return false; }
  virtual std::optional<std::int32_t> token_to_id(std::string_view token) const = 0;
  virtual std::optional<std::string_view> id_to_token(std::int32_t id) const = 0;
  virtual std::int32_t num_tokens() const = 0;
  virtual std::int32_t unknown_id() const = 0;  // the unknown token, or -1
  virtual std::int32_t num_ids() const = 0;     // 1 + the largest id; more than num_tokens() if ids have gaps
};

using ModelResult = Result<std::unique_ptr<TokenModel>>;

// json: the "model" of a tokenizer.json. options: members that take precedence over those of json; may be absent.
ModelResult read_model(JsonRef json, JsonRef options = {});
// Its "type"; what its fields tell, if it names none.
Result<std::string_view> type_of_model(JsonRef json);
// A WordPiece with the given tokens, by id, instead of its "vocab".
ModelResult wordpiece_with_tokens(JsonRef json, JsonRef options, const std::vector<std::string_view>& tokens);

inline JsonRef option_of(JsonRef json, JsonRef options, std::string_view key) {
  return options[key].exists() ? options[key] : json[key];
}

// The model without the tokens from json's num_known on: they only affect how text is split, and become the unknown token
// (known.cpp).
struct KnownTokenModels {
  ModelResult (*read)(std::unique_ptr<TokenModel> model, JsonRef json);
};
extern const KnownTokenModels kKnownTokenModels;

// One reader per model; model.cpp lists them by "type".
ModelResult read_wordpiece(JsonRef json, JsonRef options);   // wordpiece.cpp
ModelResult read_bpe(JsonRef json, JsonRef options);         // bpe.cpp
ModelResult read_unigram(JsonRef json, JsonRef options);     // unigram.cpp
ModelResult read_word_level(JsonRef json, JsonRef options);  // word_level.cpp

}  // namespace wattn
