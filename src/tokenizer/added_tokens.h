// Added tokens: strings that are found before the model sees the text. Those with normalized: false are searched for in the raw
// text, the others in the normalized text between them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/json.h"
#include "core/result.h"
#include "tokenizer/models/model.h"
#include "tokenizer/normalizers/normalizer.h"
#include "tokenizer/pre_tokenized_text.h"
#include "tokenizer/token_trie.h"

namespace wattn {

struct AddedToken {
  std::int32_t id = 0;
  std::string content;
  SpacesAround spaces;       // of the string that is searched for
  std::string shown;         // what id_to_token and decode return: the normalized content if the token is normalized
  bool single_word = false;  // must not touch a word character
  bool lstrip = false;       // includes the whitespace before it
  bool rstrip = false;       // includes the whitespace after it
  bool normalized = false;
  bool special = false;  // omitted from decoded text on request
};

class AddedTokens {
 public:
  // json: the "added_tokens" of a tokenizer.json; may be absent. normalizer may be null.
  // What is wrong with one of an array's tokens.
  static Result<void> check(JsonRef json);
  static Result<AddedTokens> from_json(JsonRef json, const TokenModel& model, const Normalizer* normalizer);
  // More tokens, searched for in the raw text, under the next ids unless they have one.
  Result<void> add_special(const std::vector<std::string>& contents, const TokenModel& model);

  // Finds added tokens and normalizes the text between them; the splits of the result are those tokens and texts.
  // leave_special: treat the strings of special tokens as ordinary text.
  PreTokenizedText extract(NormalizedText raw, const Normalizer* normalizer, bool leave_special) const;

  struct Part {
    std::size_t begin;
    std::size_t end;
    const AddedToken* token;   // null: text between tokens
    SpacesAround spaces = {};  // of the token's range
  };
  // The parts of a text that no normalizer changes, as extract() finds them.
  std::vector<Part> divide(std::u32string_view text, bool leave_special) const;

  const TokenTrie& normalized_trie() const { return normalized_trie_; }
  const TokenTrie& raw_trie() const { return raw_trie_; }
  bool are_all_raw() const { return normalized_trie_.empty(); }  // none is searched for in normalized text

  // Whether one has whitespace, or the mark of it, after another character.
  bool has_inner_spaces() const;

  const AddedToken* by_id(std::int32_t id) const;
  const AddedToken* by_content(std::string_view content) const;
  std::size_t num_beyond_model() const { return num_beyond_model_; }  // tokens that are not in the model's vocabulary
  std::int32_t num_ids() const { return by_id_.empty() ? 0 : by_id_.back().first + 1; }  // 1 + the largest id

 private:
  Result<void> add(AddedToken token, const TokenModel& model, const Normalizer* normalizer);
  void build_indices();
  std::vector<Part> find(std::u32string_view text, const TokenTrie& trie, bool leave_special) const;

  std::vector<AddedToken> tokens_;                              // in file order, each content once
  std::map<std::string, std::size_t, std::less<>> by_content_;  // index into tokens_
  std::vector<std::pair<std::int32_t, std::size_t>> by_id_;     // id and index into tokens_, sorted
  TokenTrie raw_trie_;                                          // values are indices into tokens_
  TokenTrie normalized_trie_;
  std::size_t num_beyond_model_ = 0;
};

}  // namespace wattn
