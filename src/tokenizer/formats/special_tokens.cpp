// build: -Oz
// Matches PreTrainedTokenizerBase._from_pretrained and TokenizersBackend.__init__ of transformers 5.24.0.
#include "tokenizer/formats/special_tokens.h"

#include <algorithm>
#include <charconv>

#include "core/fields.h"
#include "tokenizer/formats/writing.h"

namespace wattn {
namespace {

// AddedToken(**json).
Result<GivenToken> read_token(JsonRef json, bool special) {
  GivenToken token;
  if (json.is_string()) {
    token.content = json.as_string().value();
    return token;
  }
  if (!json.is_object()) return json.mismatch("a token: a string, or an object with \"content\"");
  Fields fields(json);
  token.is_text = false;
  token.is_unnamed = !special;
  token.content = fields.string("content");
  token.special = special || fields.boolean_or("special", false);
  token.single_word = fields.boolean_or("single_word", false);
  token.lstrip = fields.boolean_or("lstrip", false);
  token.rstrip = fields.boolean_or("rstrip", false);
  if (fields.has("normalized")) token.normalized = fields.boolean("normalized");
  if (!fields.ok()) return fields.error();
  return token;
}

std::size_t role_of(std::string_view key) {
  return static_cast<std::size_t>(std::find(kRoles.begin(), kRoles.end(), key) - kRoles.begin());
}

bool is_empty(JsonRef value) { return value.is_null() || ((value.is_array() || value.is_object()) && value.size() == 0); }

bool has_content(const std::vector<GivenToken>& tokens, std::string_view content) {
  return std::any_of(tokens.begin(), tokens.end(), [&](const GivenToken& token) { return token.content == content; });
}

}  // namespace

Result<SpecialTokens> SpecialTokens::read(const TokenFiles& files) {
  SpecialTokens out;
  if (const Result<void> read = out.read_settings(files.settings); !read.ok()) return read.error();
  if (!files.settings["added_tokens_decoder"].exists()) {
    for (const Result<void>& read : {out.read_map(files.map), out.read_added(files.added), out.read_file(files.file)}) {
      if (!read.ok()) return read.error();
    }
  }
  for (std::size_t i = 0; i < kRoles.size(); ++i) {
    const GivenToken* token = out.given_[i] ? out.declared_as(out.named_[i].content) : nullptr;
    if (token) out.named_[i] = *token;
  }
  return out;
}

Result<void> SpecialTokens::name(std::string_view key, JsonRef value, bool special) {
  const std::size_t role = role_of(key);
  const bool is_role = role < kRoles.size();
  if (!is_role && !(key.ends_with("_token") && (value.is_string() || value["content"].exists()))) return {};
  if (value.is_null()) {  // none, and not the class's
    if (is_role) named_[role] = GivenToken{};
    if (is_role) given_[role] = true;
    return {};
  }
  Result<GivenToken> token = read_token(value, special);
  if (!token.ok()) return token.error();
  if (is_role) {
    named_[role] = std::move(token).value();
    given_[role] = true;
    return {};
  }
  const auto same = std::find_if(own_.begin(), own_.end(), [&](const auto& each) { return each.first == key; });
  if (same != own_.end()) {
    same->second = std::move(token).value();
  } else {
    own_.emplace_back(key, std::move(token).value());
  }
  return {};
}

Result<std::vector<GivenToken>> SpecialTokens::read_list(JsonRef list, bool special) const {
  std::vector<GivenToken> out;
  if (list.is_null()) return out;
  if (!list.is_array()) return list.mismatch("an array of tokens");
  for (std::size_t i = 0; i < list.size(); ++i) {
    Result<GivenToken> token = read_token(list[i], special);
    if (!token.ok()) return token.error();
    out.push_back(std::move(token).value());
  }
  return out;
}

Result<void> SpecialTokens::read_settings(JsonRef settings) {
  for (const auto& [key, value] : settings.members()) {
    if (const Result<void> read = name(key, value, false); !read.ok()) return read;
  }
  const JsonRef old = settings["additional_special_tokens"];
  JsonRef extra = settings["extra_special_tokens"];
  has_extra_ = extra.exists();
  if (old.exists() && is_empty(extra)) {
    extra = old;
    has_extra_ = true;
  } else if (old.exists()) {
    Result<std::vector<GivenToken>> list = read_list(old, false);
    if (!list.ok()) return list.error();
    additional_ = std::move(list).value();
    has_additional_ = true;
  }
  if (extra.is_object()) {  // names of the model's own
    has_extra_ = false;
    for (const auto& [key, value] : extra.members()) {
      Result<GivenToken> token = read_token(value, false);
      if (!token.ok()) return token.error();
      own_.emplace_back(key, std::move(token).value());
    }
  } else {
    Result<std::vector<GivenToken>> list = read_list(extra, false);
    if (!list.ok()) return list.error();
    extra_ = std::move(list).value();
  }
  const JsonRef decoder = settings["added_tokens_decoder"];
  if (decoder.exists() && !decoder.is_object()) return decoder.mismatch("an object of ids and tokens");
  for (const auto& [id, value] : decoder.members()) {
    Result<GivenToken> token = read_token(value, false);
    if (!token.ok()) return token.error();
    GivenToken& given = token.value();
    const auto parsed = std::from_chars(id.data(), id.data() + id.size(), given.id);
    if (parsed.ec != std::errc() || parsed.ptr != id.data() + id.size() || given.id < 0) return decoder.mismatch("ids as keys");
    if (given.is_text) return value.mismatch("a token (an object)");
    declare(std::move(given));
  }
  if (decoder.size() > 0) sources_ = "tokenizer_config.json";
  return {};
}

Result<void> SpecialTokens::read_map(JsonRef map) {
  for (const auto& [key, value] : map.members()) {
    if (key == "additional_special_tokens" || (key == "extra_special_tokens" && value.is_array())) {
      Result<std::vector<GivenToken>> list = read_list(value, true);
      if (!list.ok()) return list.error();
      if (key == "additional_special_tokens") {
        additional_ = std::move(list).value();
        has_additional_ = !value.is_null();
        continue;
      }
      for (GivenToken& token : list.value()) {
        if (!has_content(extra_, token.content)) extra_.push_back(std::move(token));
      }
      has_extra_ = true;
    } else if (key == "extra_special_tokens" && value.is_object()) {
      for (const auto& [own, token] : value.members()) {
        if (const Result<void> read = name(own, token, true); !read.ok()) return read;
      }
    } else if (const Result<void> read = name(key, value, true); !read.ok()) {
      return read;
    }
  }
  if (map.size() > 0) sources_ = "special_tokens_map.json";
  return {};
}

Result<void> SpecialTokens::read_added(JsonRef added) {
  if (!added.is_null() && !added.is_object()) return added.mismatch("an object of tokens and their ids");
  for (const auto& [content, id] : added.members()) {
    const Result<std::int32_t> number = read_id(id);
    if (!number.ok()) return number.error();
    GivenToken token;
    token.content = content;
    token.is_text = false;
    token.id = number.value();
    const auto names_it = [&](const GivenToken& each) { return each.content == content && !each.is_unnamed; };
    token.special = std::any_of(extra_.begin(), extra_.end(), names_it);
    for (std::size_t i = 0; i < kRoles.size(); ++i) token.special = token.special || (given_[i] && names_it(named_[i]));
    token.normalized = !token.special;
    declare(std::move(token));
  }
  if (added.size() > 0) sources_ += (sources_.empty() ? "" : ", ") + std::string("added_tokens.json");
  return {};
}

Result<void> SpecialTokens::read_file(JsonRef file) {
  const JsonRef list = file["added_tokens"];
  for (std::size_t i = 0; list.is_array() && i < list.size(); ++i) {
    Result<GivenToken> token = read_token(list[i], false);
    if (!token.ok()) return token.error();
    const Result<std::int32_t> id = read_id(list[i]["id"]);
    if (!id.ok()) return id.error();
    token.value().id = id.value();
    declare(std::move(token).value());
  }
  return {};
}

void SpecialTokens::declare(GivenToken token) {
  const auto at = std::lower_bound(decoder_.begin(), decoder_.end(), token.id,
                                   [](const GivenToken& each, std::int64_t id) { return each.id < id; });
  if (at != decoder_.end() && at->id == token.id) {
    *at = std::move(token);
  } else {
    decoder_.insert(at, std::move(token));
  }
}

const GivenToken* SpecialTokens::declared_as(std::string_view content) const {
  const auto found =
      std::find_if(decoder_.begin(), decoder_.end(), [&](const GivenToken& each) { return each.content == content; });
  return found == decoder_.end() ? nullptr : &*found;
}

void SpecialTokens::complete(std::string_view defaults) {
  for (std::size_t i = 0; i < kRoles.size(); ++i) {
    std::string_view word = next_word(defaults);
    const char flag = word.empty() ? '-' : word[0];
    const bool has_flag = flag == '^' || flag == '*';
    if (has_flag) word.remove_prefix(1);
    if (!given_[i]) named_[i] = GivenToken{.content = std::string(word == "-" ? "" : word)};
    if (!has_flag || !named_[i].is_text) continue;
    named_[i].is_text = false;
    named_[i].lstrip = true;
    if (flag == '*') named_[i].normalized = true;
  }
}

std::vector<GivenToken> SpecialTokens::in_order(const std::vector<std::string>& known) const {
  std::vector<GivenToken> out = decoder_;
  const auto add = [&](const GivenToken& token) {
    if (token.content.empty() || has_content(decoder_, token.content)) return;
    if (std::find(known.begin(), known.end(), token.content) != known.end()) return;
    if (std::any_of(out.begin(), out.end(), [&](const GivenToken& each) { return is_same(each, token); })) return;
    out.push_back(token);
  };
  std::vector<std::string_view> names;
  names.reserve(named_.size() + own_.size());
  for (const GivenToken& token : named_) names.push_back(token.content);
  for (const auto& [key, token] : own_) names.push_back(token.content);
  for (const GivenToken& token : given()) add(token);
  for (GivenToken& token : out) {
    if (token.is_text || std::find(names.begin(), names.end(), token.content) != names.end()) token.special = true;
  }
  return out;
}

std::vector<GivenToken> SpecialTokens::given() const {
  std::vector<GivenToken> out;
  const auto add = [&](const GivenToken& token) {
    if (!token.content.empty()) out.push_back(token);
  };
  for (const GivenToken& token : named_) add(token);
  for (const auto& [key, token] : own_) add(token);
  for (const GivenToken& token : has_extra_ ? extra_ : additional_) add(token);
  return out;
}

std::vector<std::string> SpecialTokens::all() const {
  std::vector<std::string> out;
  for (GivenToken& token : given()) {
    if (std::find(out.begin(), out.end(), token.content) == out.end()) out.push_back(std::move(token.content));
  }
  for (const std::string& name : more_names_) {
    if (std::find(out.begin(), out.end(), name) == out.end()) out.push_back(name);
  }
  return out;
}

bool is_same(const GivenToken& a, const GivenToken& b) {
  if (a.content != b.content || a.is_text != b.is_text) return false;
  return a.is_text || (a.single_word == b.single_word && a.lstrip == b.lstrip && a.rstrip == b.rstrip && a.special == b.special &&
                       a.is_normalized() == b.is_normalized());
}

std::string given_token_json(const GivenToken& token) {
  return concat({"{\"id\": ", std::to_string(std::max<std::int64_t>(token.id, 0)), ", \"content\": ", json_text(token.content),
                 ", \"single_word\": ", json_bool(token.single_word), ", \"lstrip\": ", json_bool(token.lstrip),
                 ", \"rstrip\": ", json_bool(token.rstrip), ", \"normalized\": ", json_bool(token.is_normalized()),
                 ", \"special\": ", json_bool(token.special), "}"});
}

}  // namespace wattn
