// build: -Oz
#include <optional>

#include "core/fields.h"
#include "tokenizer/formats/class_stages.h"
#include "tokenizer/formats/writing.h"

namespace wattn {
namespace {

class Template {
 public:
  Template(const ClassFolder& folder, const SpecialTokens& special, const Tokenizer& tokenizer)
      : folder_(folder), special_(special), tokenizer_(tokenizer), fields_(folder.settings) {}

  // The names of the words: roles, "lang" (the source's language), and texts. Each may end in its type (":1").
  Result<std::string> written(std::string_view single, std::string_view pair) {
    std::vector<SpecialToken> tokens;
    std::string parts[2];
    for (const std::size_t i : {0u, 1u}) {
      std::string_view words = i == 0 ? single : pair;
      for (std::string_view word = next_word(words); !word.empty(); word = next_word(words)) {
        const bool has_type = word.size() > 2 && word[word.size() - 2] == ':';
        const std::string type = has_type ? std::string(word.substr(word.size() - 2)) : ":0";
        if (has_type) word.remove_suffix(2);
        std::string name(word);
        if (word[0] != '$') {
          const Result<std::string> token = named(word);
          if (!token.ok()) return token.error();
          name = token.value();
          const Result<std::int32_t> id = id_of(name, word);
          if (!id.ok()) return id.error();
          tokens.push_back({name, id.value()});
        }
        parts[i].append(parts[i].empty() ? "" : " ").append(name).append(type);
      }
    }
    return template_json(parts[0], parts[1], tokens);
  }

  Result<std::string> roberta() {
    const bool is_clip = folder_.rules.name == "CLIPTokenizer", is_roberta = folder_.rules.name == "RobertaTokenizer";
    const bool trims = is_roberta ? fields_.boolean_or("trim_offsets", true) : !is_clip;
    const bool adds = is_roberta && fields_.boolean_or("add_prefix_space", false);
    return sides("RobertaProcessing", is_clip ? "eos" : "sep", is_clip ? "bos" : "cls",
                 concat({", \"trim_offsets\": ", json_bool(trims), ", \"add_prefix_space\": ", json_bool(adds), "}"}));
  }

  Result<std::string> herbert() const {  // with these ids, whatever the vocabulary says
    return R"({"type": "BertProcessing", "sep": [)" + json_text(special_.content(kSep)) + ", 2], \"cls\": [" +
           json_text(special_.content(kCls)) + ", 0]}";
  }

  Result<std::string> nllb() {
    const bool is_old = fields_.boolean_or("legacy_behaviour", false);
    if (!fields_.ok()) return fields_.error();
    return is_old ? written("$A eos lang", "$A $B eos lang") : written("lang $A eos", "lang $A $B eos");
  }

  // update_post_processor: only what add_bos_token and add_eos_token say, which count only without a tokenizer.json.
  Result<std::string> ends() {
    const bool is_read = !folder_.file.exists();
    const bool bos = is_read && fields_.boolean_or("add_bos_token", false) && !special_.content(kBos).empty();
    const bool eos = is_read && fields_.boolean_or("add_eos_token", false) && !special_.content(kEos).empty();
    if (!fields_.ok()) return fields_.error();
    const std::string single = std::string(bos ? "bos $A" : "$A") + (eos ? " eos" : "");
    return written(single, single + (bos ? " bos:1" : "") + " $B:1" + (eos ? " eos:1" : ""));
  }

  bool has_flags() const {
    return !folder_.file.exists() && (folder_.settings["add_bos_token"].exists() || folder_.settings["add_eos_token"].exists());
  }

 private:
  Result<std::string> named(std::string_view role) {
    if (role != "lang") {
      for (std::size_t i = 0; i < kRoles.size(); ++i) {
        if (kRoles[i].starts_with(role)) return special_.content(static_cast<Role>(i));
      }
    }
    const std::string_view code = fields_.string_or("src_lang", folder_.rules.name == "NllbTokenizer" ? "eng_Latn" : "en_XX");
    if (!fields_.ok()) return fields_.error();
    return std::string(code);
  }

  Result<std::int32_t> id_of(const std::string& name, std::string_view role) const {
    const std::optional<std::int32_t> id = name.empty() ? std::nullopt : tokenizer_.token_to_id(name);
    if (id) return *id;
    return model_format_error("tokenizer: expected a token that is the " + std::string(role) + " of " +
                              std::string(folder_.rules.name) + ", found " + (name.empty() ? "none" : json_text(name)));
  }

  Result<std::string> sides(std::string_view type, std::string_view sep, std::string_view cls, const std::string& more) {
    std::string out = "{\"type\": \"" + std::string(type) + "\"";
    for (const auto& [key, role] : {std::pair("sep", sep), {"cls", cls}}) {
      const Result<std::string> name = named(role);
      if (!name.ok()) return name.error();
      const Result<std::int32_t> id = id_of(name.value(), role);
      if (!id.ok()) return id.error();
      out += std::string(", \"") + key + "\": [" + json_text(name.value()) + ", " + std::to_string(id.value()) + "]";
    }
    if (!fields_.ok()) return fields_.error();
    return out + more;
  }

  const ClassFolder& folder_;
  const SpecialTokens& special_;
  const Tokenizer& tokenizer_;
  Fields fields_;
};

}  // namespace

Result<std::string> class_template(const ClassFolder& folder, const SpecialTokens& special, const Tokenizer& tokenizer) {
  std::string_view single = folder.rules.single;
  Template made(folder, special, tokenizer);
  const bool yields = single.starts_with('?');
  if (single.empty() || yields) {
    if (made.has_flags()) return made.ends();
    if (single.empty() || !folder.file["post_processor"].is_null()) return folder.file.exists() ? std::string() : made.ends();
    single.remove_prefix(1);
  }
  if (single == "R") return made.roberta();
  if (single == "N") return made.ends();
  if (single == "H") return made.herbert();
  if (single == "P") return made.nllb();
  if (single == "Y")
    return std::string(R"({"type": "ByteLevel", "add_prefix_space": true, "use_regex": true, "trim_offsets": false})");
  return made.written(single, folder.rules.pair);
}

}  // namespace wattn
