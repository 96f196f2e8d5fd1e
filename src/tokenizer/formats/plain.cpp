// build: -Oz
// Reads a folder if the small WebAssembly can prove that one of its files decides everything. Otherwise class_tokenizer.cpp reads
// all files.
#include <algorithm>
#include <array>
#include <iterator>

#include "tokenizer/formats/converters.h"
#include "tokenizer/formats/folder.h"
#include "tokenizer/formats/plain_classes.h"
#include "tokenizer/formats/special_tokens.h"
#include "tokenizer/formats/writing.h"

namespace wattn {
namespace {

constexpr const PlainClass& kBert = kPlainClasses[0];

// Model types that say nothing of the tokenizer: the class that files name counts.
constexpr std::string_view kOtherModels = "llama new model2vec";
// Classes whose tokenizer.json others made, as transformers writes none.
constexpr std::string_view kSlowClasses = "MarianTokenizer M2M100Tokenizer";

std::string_view text_or_empty(JsonRef json) {
  const Result<std::string_view> text = json.as_string_or("");
  return text.ok() ? text.value() : std::string_view();
}

bool flag_of(JsonRef token, std::string_view key, bool fallback = false) {
  const Result<bool> flag = token[key].as_bool_or(fallback);
  return flag.ok() ? flag.value() : !fallback;
}

constexpr std::string_view kFlags[] = {"single_word", "lstrip", "rstrip", "normalized"};

bool has_flags(JsonRef token) {
  return std::any_of(std::begin(kFlags), std::end(kFlags), [&](std::string_view key) { return flag_of(token, key); });
}

// Whether found has all that is expected.
bool has(JsonRef expected, JsonRef found) {
  if (expected.is_object()) {
    for (auto [key, value] : expected.members()) {
      const bool is_optional = key.ends_with('?');
      if (is_optional) key.remove_suffix(1);
      if (!(is_optional && found[key].is_null()) && !has(value, found[key])) return false;
    }
    return found.is_object();
  }
  if (!expected.is_array()) return expected.to_text() == found.to_text();
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (!has(expected[i], found[i])) return false;
  }
  return found.is_array() && expected.size() == found.size();
}

class Plain {
 public:
  Plain(const FolderFiles& folder, const std::vector<std::string_view>& vocab) : folder_(folder), vocab_(vocab) {}

  Result<std::optional<Tokenizer>> read() {
    const TokenizerFile* gguf = folder_.file().exists() ? nullptr : folder_.find("*.gguf");
    if (gguf) return of_gguf(*gguf);
    if (!find_class() || !read_names()) return none();
    if (folder_.file().exists()) return of_file();
    const TokenizerFile* vocab = folder_.find("vocab.txt");
    if (!vocab || class_ != &kBert || has_flags_ || !extra_.empty() || decoder().exists() || folder_.added().size() > 0)
      return none();
    const Result<Converted> converted = from_vocab_txt(vocab->bytes);
    if (!converted.ok()) return converted.error();
    for (const std::string_view role : roles_) {
      const auto& tokens = converted.value().vocab;
      if (!role.empty() && std::find(tokens.begin(), tokens.end(), role) == tokens.end()) return none();
    }
    origin_.vocabulary = vocab->name;
    return of_converted(converted.value());
  }

 private:
  static std::optional<Tokenizer> none() { return std::nullopt; }
  JsonRef settings() const { return folder_.settings(); }
  JsonRef decoder() const { return settings()["added_tokens_decoder"]; }

  // As classes.cpp does, where it is sure. class_ is null if tokenizer.json is read as it is.
  bool find_class() {
    const JsonRef settings = folder_.settings(), config = folder_.config();
    const bool in_settings = !text_or_empty(settings["tokenizer_class"]).empty();
    std::string_view name = without_fast(text_or_empty((in_settings ? settings : config)["tokenizer_class"]));
    const std::string_view type = text_or_empty(config["model_type"]);
    if (settings["auto_map"].exists()) return false;
    const PlainClass* of_type = nullptr;
    for (const PlainClass& each : kPlainClasses) {
      if (!of_type && has_word(each.names.model_types, type)) of_type = &each;
    }
    origin_.from = in_settings ? "tokenizer_config.json: tokenizer_class" : "config.json: tokenizer_class";
    if (has_word(kOwnTypes, type)) name = {};
    if (name.empty()) {
      class_ = of_type;
      origin_.from = of_type ? "config.json: model_type" : "";
      if (of_type || !type.empty()) return of_type;
      is_assumed_ = !folder_.file().exists();
      if (is_assumed_) class_ = &kBert;
      return !is_assumed_ || !folder_.find("vocab.json");
    }
    origin_.name = name;
    if (has_word(kFileClasses, name) || has_word(kSlowClasses, name)) return folder_.file().exists();
    for (const PlainClass& each : kPlainClasses) {
      if (each.names.name == name || has_word(each.names.aliases, name)) class_ = &each;
    }
    return class_ && (of_type || type.empty() || has_word(kOtherModels, type));
  }

  // A token of a file: a string, or an object. Its text is empty if it is none.
  std::string_view read_token(JsonRef token) {
    has_flags_ = has_flags_ || has_flags(token);
    return text_or_empty(token.is_object() ? token["content"] : token);
  }

  // False where special_tokens.cpp makes more of the tokens than their text.
  bool read_names(JsonRef file, bool is_map) {
    for (const auto& [key, value] : file.members()) {
      const bool is_list = key == "additional_special_tokens" || key == "extra_special_tokens";
      const auto role = std::find(kRoles.begin(), kRoles.end(), key);
      if (role != kRoles.end()) {
        const auto i = static_cast<std::size_t>(role - kRoles.begin());
        roles_[i] = read_token(value);
        given_[i] = true;
        if (roles_[i].empty() && !value.is_null()) return false;
      } else if (is_list && !value.is_null()) {
        if (is_map && key == "additional_special_tokens" && has_list_) continue;
        if ((is_map && key == "extra_special_tokens") || !value.is_array() || has_list_) return false;
        has_list_ = true;
        for (std::size_t i = 0; i < value.size(); ++i) extra_.push_back(read_token(value[i]));
      } else if (is_list || (is_map && !value.is_null()) ||
                 (key.ends_with("_token") && (value.is_string() || value["content"].exists()))) {
        return false;
      }
    }
    return true;
  }

  // Roles that no file names have the class's tokens.
  void complete() {
    if (origin_.name.empty()) origin_.name = class_->names.name;
    std::string_view defaults = class_->names.tokens;
    for (std::size_t i = 0; i < kRoles.size(); ++i) {
      std::string_view word = next_word(defaults);
      if (word.starts_with('^')) word.remove_prefix(1);
      if (!given_[i] && word != "-") roles_[i] = word;
    }
  }

  bool read_names() {
    const bool has_decoder = decoder().exists();
    const JsonRef map = has_decoder ? JsonRef() : folder_.map(), added = has_decoder ? JsonRef() : folder_.added();
    if (!read_names(settings(), false) || !read_names(map, true)) return false;
    if (class_) complete();
    if (has_decoder && decoder().size() > 0) origin_.added_tokens = "tokenizer_config.json";
    if (map.size() > 0) origin_.added_tokens = "special_tokens_map.json";
    if (added.size() > 0) origin_.added_tokens += (origin_.added_tokens.empty() ? "" : ", ") + std::string("added_tokens.json");
    return true;
  }

  // The added token of tokenizer.json; absent if there is none.
  JsonRef added_token(std::string_view content) const {
    const JsonRef list = folder_.file()["added_tokens"];
    for (std::size_t i = 0; list.is_array() && i < list.size(); ++i) {
      if (text_or_empty(list[i]["content"]) == content) return list[i];
    }
    return {};
  }

  bool is_added(std::string_view content) const {
    if (content.empty()) return true;
    const JsonRef token = added_token(content);
    return flag_of(token, "special") && (!class_ || class_->takes_flags || !has_flags(token));
  }

  // Whether tokenizer.json has each token that another file names, with its id and flags.
  bool has_all_tokens() const {
    const JsonRef list = folder_.file()["added_tokens"];
    // T5Tokenizer makes tokens of its own.
    const bool has_own = class_ && &class_->names == &kT5Class && settings()["additional_special_tokens"].is_null();
    if (has_own && settings()["extra_special_tokens"].is_null()) return false;
    if (!std::all_of(roles_.begin(), roles_.end(), [&](std::string_view token) { return is_added(token); })) return false;
    if (!std::all_of(extra_.begin(), extra_.end(), [&](std::string_view token) { return is_added(token); })) return false;
    for (const auto& [id, value] : decoder().members()) {
      const JsonRef token = added_token(text_or_empty(value["content"]));
      if (token["id"].to_text() != id || flag_of(token, "special") != flag_of(value, "special")) return false;
      for (const std::string_view key : kFlags) {
        const bool fallback = key == "normalized" && !flag_of(token, "special");
        if (flag_of(token, key, fallback) != flag_of(value, key, fallback)) return false;
      }
    }
    if (decoder().exists()) return decoder().is_object() && (!class_ || decoder().size() == list.size());
    for (const auto& [content, id] : folder_.added().members()) {
      if (added_token(content)["id"].to_text() != id.to_text()) return false;
    }
    return folder_.added().is_null() || folder_.added().is_object();
  }

  // Whether tokenizer.json has its added tokens in the order of their ids, in which a class adds them.
  bool is_sorted() const {
    const JsonRef list = folder_.file()["added_tokens"];
    std::int64_t last = -1;
    for (std::size_t i = 0; i < list.size(); ++i) {
      const Result<std::int64_t> id = list[i]["id"].as_int();
      if (!id.ok() || id.value() <= last) return false;
      last = id.value();
    }
    return true;
  }

  // Whether each added token has the id that tokenizer.json gives it, so that their order does not matter, and is listed once.
  bool has_given_ids(const Tokenizer& tokenizer) const {
    const JsonRef list = folder_.file()["added_tokens"];
    for (std::size_t i = 0; i < list.size(); ++i) {
      const std::string_view content = text_or_empty(list[i]["content"]);
      const auto id = tokenizer.token_to_id(content);
      if (!id || list[i]["id"].to_text() != std::to_string(*id)) return false;
      if (added_token(content).to_text() != list[i].to_text()) return false;
    }
    return true;
  }

  std::string stages() const {
    std::string out;
    for (const std::string_view part : class_->stages) out += part;
    return out;
  }

  // A text of a row with roles and settings in their places. tokenizer: knows the ids, or null.
  std::optional<std::string> filled(const std::string& row, const Tokenizer* tokenizer) const {
    std::string out;
    for (std::string_view text = row;;) {
      const std::size_t at = text.find_first_of("@&");
      out += text.substr(0, at);
      if (at == text.npos) return out;
      const bool is_id = text[at] == '&';
      text.remove_prefix(at + 1);
      const std::string_view name = text.substr(0, text.find_first_of("=,]}"));
      text.remove_prefix(name.size());
      if (text.starts_with('=')) {
        const std::string_view fallback = text.substr(1, text.find_first_of(",]}") - 1);
        text.remove_prefix(fallback.size() + 1);
        const JsonRef value = settings()[name];
        if (!value.is_null() && !value.is_bool()) return std::nullopt;
        out += !value.is_null() ? value.to_text() : is_cased_ && name == "do_lower_case" ? "false" : std::string(fallback);
      } else if (is_id) {
        const std::optional<std::int32_t> id = tokenizer->token_to_id(role(name));
        if (!id) return std::nullopt;
        out += std::to_string(*id);
      } else {
        out += json_text(role(name));
      }
    }
  }

  std::string_view role(std::string_view word) const {
    const auto found = std::find_if(kRoles.begin(), kRoles.end(), [&](std::string_view each) { return each.starts_with(word); });
    return roles_[static_cast<std::size_t>(found - kRoles.begin())];
  }

  // The class's post-processor; none: a token that it needs is missing.
  std::optional<std::string> post_processor(const Tokenizer& tokenizer) const {
    if (!class_->post.empty()) return filled(std::string(class_->post), &tokenizer);
    std::vector<SpecialToken> tokens;
    std::string parts[2];
    for (const std::size_t i : {0u, 1u}) {
      std::string_view words = i == 0 ? class_->names.single : class_->names.pair;
      for (std::string_view word = next_word(words); !word.empty(); word = next_word(words)) {
        const std::size_t end = std::min(word.find(':'), word.size());
        std::string_view name = word.substr(0, end);
        if (name[0] != '$') {
          name = role(name);
          const std::optional<std::int32_t> id = tokenizer.token_to_id(name);
          if (!id) return std::nullopt;
          tokens.push_back({std::string(name), *id});
        }
        parts[i] += concat({parts[i].empty() ? "" : " ", name, end < word.size() ? word.substr(end) : ":0"});
      }
    }
    return template_json(parts[0], parts[1], tokens);
  }

  // members: those that take precedence, each with a comma after it.
  Result<Tokenizer> made_of(JsonRef json, std::string_view members, const std::vector<std::string_view>& vocab) const {
    const Result<Json> parts = Json::parse(concat({"{", members, max_length_json(settings()), "}"}), "tokenizer_config.json");
    return parts.ok() ? Tokenizer::from_json(json, parts.value().root(), vocab) : parts.error();
  }

  static bool has_all(const std::optional<std::string>& expected, JsonRef found) {
    const Result<Json> json = Json::parse(expected.value_or(""), "tokenizer.json");
    return json.ok() && has(json.value().root(), found);
  }

  Result<std::optional<Tokenizer>> of_file() {
    const JsonRef file = folder_.file();
    if (!has_all_tokens()) return none();
    if (class_ && !flag_of(settings(), class_->only_true, true)) return none();
    if (class_ && !has_all(filled("{" + stages() + "}", nullptr), file)) return none();
    Result<Tokenizer> made = made_of(file, "", vocab_);
    if (!made.ok()) return made.error();
    const bool has_post = class_ && class_->post.size() + class_->names.single.size() > 0;
    if (has_post && !has_all(post_processor(made.value()), file["post_processor"])) return none();
    if ((!origin_.added_tokens.empty() || (class_ && !is_sorted())) && !has_given_ids(made.value())) return none();
    origin_.vocabulary = "tokenizer.json";
    return told(std::move(made).value());
  }

  Result<std::optional<Tokenizer>> of_gguf(const TokenizerFile& file) {
    Result<Converted> converted = from_gguf(file.bytes);
    if (!converted.ok()) return converted.error();
    origin_.vocabulary = file.name;
    is_assumed_ = !converted.value().vocab.empty();
    if (is_assumed_) class_ = &kBert;
    if (is_assumed_) complete();
    return of_converted(converted.value());
  }

  // A GGUF's tokens, or BERT's with its stages. Without a class, its letters say whether text is lowercased.
  Result<std::optional<Tokenizer>> of_converted(const Converted& converted) {
    is_cased_ = is_assumed_ && has_capitals(converted.vocab);
    std::string members;
    if (class_) {
      std::vector<SpecialToken> added;
      for (const std::string_view role : roles_) {
        const auto same = [&](const auto& each) { return each.content == role; };
        const bool is_token = std::find(converted.vocab.begin(), converted.vocab.end(), role) != converted.vocab.end();
        if (is_token && !role.empty() && std::none_of(added.begin(), added.end(), same)) added.push_back({std::string(role), 0});
      }
      const std::optional<std::string> parts = filled(stages(), nullptr);
      if (!parts) return none();
      members = concat({*parts, ", \"added_tokens\": ", added_tokens_json(added), ", "});
    }
    const Result<Json> json = Json::parse(converted.json, "tokenizer.json");
    if (!json.ok()) return json.error();
    Result<Tokenizer> made = made_of(json.value().root(), members, converted.vocab);
    if (!made.ok()) return made.error();
    if (!class_) return told(std::move(made).value());
    const std::optional<std::string> post = post_processor(made.value());
    const Result<Json> parts = Json::parse(post.value_or("null"), "tokenizer.json");
    if (!post || !parts.ok()) {
      return model_format_error(origin_.vocabulary + ": expected the tokens " + json_text(role("cls")) + " and " +
                                json_text(role("sep")) + ", found others");
    }
    if (const Result<void> set = made.value().set_post_processor(parts.value().root()); !set.ok()) return set.error();
    return told(std::move(made).value());
  }

  std::optional<Tokenizer> told(Tokenizer tokenizer) {
    origin_.is_of_class = class_ != nullptr;
    origin_.pads_left = class_ && class_->names.is_left;
    origin_.roles.assign(roles_.begin(), roles_.end());
    const auto has_token = [](const auto& list, std::string_view token) {
      return std::find(list.begin(), list.end(), token) != list.end();
    };
    for (const std::string_view token : extra_) {
      if (!has_token(origin_.roles, token) && !has_token(origin_.extra, token)) origin_.extra.emplace_back(token);
    }
    tokenizer.set_origin(std::move(origin_));
    return tokenizer;
  }

  const FolderFiles& folder_;
  const std::vector<std::string_view>& vocab_;
  const PlainClass* class_ = nullptr;
  bool is_assumed_ = false;  // no file names the class
  bool is_cased_ = false;
  std::array<std::string_view, kRoles.size()> roles_{};
  std::array<bool, kRoles.size()> given_{};
  std::vector<std::string_view> extra_;
  bool has_list_ = false;
  bool has_flags_ = false;  // a token has some
  TokenizerOrigin origin_;
};

Result<Tokenizer> plain_tokenizer(const FolderFiles& folder, const std::vector<std::string_view>& vocab) {
  Result<std::optional<Tokenizer>> plain = Plain(folder, vocab).read();
  if (!plain.ok()) return plain.error();
  if (plain.value()) return std::move(*plain.value());
  return unsupported_error("the files of this tokenizer: expected wattn-full-simd.wasm or wattn-full-relaxed.wasm, found another");
}

}  // namespace

const FolderReader kPlainFolders{plain_tokenizer};

}  // namespace wattn
