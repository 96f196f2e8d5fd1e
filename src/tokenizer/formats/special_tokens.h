// The special and added tokens of a folder, from all of its files, in the order and with the flags of transformers (5.24).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/json.h"
#include "core/result.h"

namespace wattn {

// In the order of transformers' SPECIAL_TOKENS_ATTRIBUTES.
inline constexpr std::array<std::string_view, 7> kRoles = {"bos_token", "eos_token", "unk_token", "sep_token",
                                                           "pad_token", "cls_token", "mask_token"};
enum Role : std::size_t { kBos, kEos, kUnk, kSep, kPad, kCls, kMask };

// A token as a file or a class gives it: a string, or an AddedToken.
struct GivenToken {
  std::string content;
  bool is_text = true;  // a string: the flags do not count yet
  bool single_word = false, lstrip = false, rstrip = false, special = false;
  std::optional<bool> normalized{};  // none: unless it is special

  bool is_normalized() const { return normalized.value_or(!special); }
  std::int64_t id = -1;     // that the file gives it; -1: none
  bool is_unnamed = false;  // an object of tokenizer_config.json, whose text Python does not know when it reads added_tokens.json
};

// As Python compares two: strings, or AddedTokens with all flags.
bool is_same(const GivenToken& a, const GivenToken& b);

struct TokenFiles {
  JsonRef settings;  // tokenizer_config.json
  JsonRef map;       // special_tokens_map.json
  JsonRef added;     // added_tokens.json
  JsonRef file;      // tokenizer.json
};

class SpecialTokens {
 public:
  static Result<SpecialTokens> read(const TokenFiles& files);

  // A role that no file names gets the class's token; a string becomes what the class makes of it. defaults: ClassRules::tokens.
  void complete(std::string_view defaults);

  // Declared tokens are searched for in the raw text, whatever the files say.
  void search_raw() {
    for (GivenToken& token : decoder_) token.normalized = false;
  }

  // Empty if there is none.
  const std::string& content(Role role) const { return named_[role].content; }
  // Whether a file names this role's token.
  bool is_named(Role role) const { return given_[role]; }

  // extra_special_tokens, or else additional_special_tokens. A class adds its own to the latter, which count only if there are none
  // of the former.
  bool has_extra() const { return has_extra_; }
  bool has_additional() const { return has_additional_; }
  std::vector<GivenToken>& additional() { return additional_; }

  // More of all(), which are tokens already.
  void name_more(std::vector<std::string> names) { more_names_ = std::move(names); }

  // All of them in order, with their flags, as the "added_tokens" of a tokenizer.json.
  std::vector<GivenToken> in_order(const std::vector<std::string>& known) const;
  // Those of roles and the extra ones, as they are given.
  std::vector<GivenToken> given() const;
  // Each of them once: all_special_tokens.
  std::vector<std::string> all() const;
  const std::vector<GivenToken>& declared() const { return decoder_; }  // with the ids of their files
  // The files that had any.
  const std::string& sources() const { return sources_; }

 private:
  Result<void> read_settings(JsonRef settings);
  Result<void> read_map(JsonRef map);
  Result<void> read_added(JsonRef added);
  Result<void> read_file(JsonRef file);
  Result<void> name(std::string_view key, JsonRef value, bool special);
  Result<std::vector<GivenToken>> read_list(JsonRef list, bool special) const;
  void declare(GivenToken token);
  const GivenToken* declared_as(std::string_view content) const;

  std::array<GivenToken, kRoles.size()> named_;
  std::array<bool, kRoles.size()> given_{};
  std::vector<std::pair<std::string, GivenToken>> own_;  // roles of the model's own, such as image_token
  std::vector<GivenToken> extra_, additional_;
  bool has_extra_ = false, has_additional_ = false;
  std::vector<std::string> more_names_;
  std::vector<GivenToken> decoder_;  // in the order of their ids
  std::string sources_;
};

// As an element of "added_tokens". id: written as it is.
std::string given_token_json(const GivenToken& token);

}  // namespace wattn
