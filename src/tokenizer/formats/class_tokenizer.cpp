// build: -Oz
// All files of a folder decide, as in transformers. They give the class (classes.h), the vocabulary in tokenizer.json or an older
// format, the class's stages (class_stages.h), and added tokens from every file that has some (special_tokens.h).
#include <algorithm>
#include <optional>

#include "tokenizer/added_tokens.h"
#include "tokenizer/formats/class_stages.h"
#include "tokenizer/formats/converters.h"
#include "tokenizer/formats/folder.h"
#include "tokenizer/formats/pieces.h"
#include "tokenizer/formats/writing.h"
#include "tokenizer/models/model.h"

namespace wattn {
namespace {

bool has_type(JsonRef json, std::string_view type) {
  const Result<std::string_view> own = json["type"].as_string_or("");
  if (own.ok() && own.value() == type) return true;
  for (const std::string_view list : {"pretokenizers", "decoders"}) {
    for (std::size_t i = 0; i < json[list].size(); ++i) {
      if (json[list].is_array() && has_type(json[list][i], type)) return true;
    }
  }
  return false;
}

constexpr std::string_view kKindNames[] = {"WordPiece", "BPE", "Unigram"};

class ClassTokenizer {
 public:
  explicit ClassTokenizer(const FolderFiles& folder) : folder_(folder) {}

  Result<Tokenizer> read(const std::vector<std::string_view>& vocab) {
    const bool has_file = folder_.file().exists(), is_gguf = !has_file && folder_.find("*.gguf");
    const bool byte_level =
        has_type(folder_.file()["pre_tokenizer"], "ByteLevel") || has_type(folder_.file()["decoder"], "ByteLevel");
    if (!is_gguf) {
      Result<TokenizerClass> found = find_class({settings(), folder_.config(), has_file, byte_level});
      if (!found.ok()) return found.error();
      class_ = std::move(found).value();
    }
    origin_.vocabulary = has_file ? "tokenizer.json" : "";
    if (!has_file) {
      if (const Result<void> read = read_vocabulary(); !read.ok()) return read.error();
    }
    Result<SpecialTokens> tokens = SpecialTokens::read({settings(), folder_.map(), folder_.added(), folder_.file()});
    if (!tokens.ok()) return tokens.error();
    special_.emplace(std::move(tokens).value());
    return class_.rules && class_.rules->kind != ClassKind::kSlow ? of_class(vocab) : as_it_is(vocab);
  }

 private:
  JsonRef settings() const { return folder_.settings(); }
  JsonRef converted() const { return FolderFiles::root(made_); }

  Error missing(std::string_view file) const {
    return model_format_error(std::string(file) + ": expected this file in the model (or tokenizer.json), as " + class_.name +
                              " reads it, found none");
  }

  // A folder whose files name no class: Python refuses it, but its vocabulary may say enough.
  Result<void> assume_class() {
    const TokenizerFile* vocab = folder_.find("vocab.json");
    std::string_view name;
    if (vocab && folder_.find("source.spm")) {
      name = "MarianTokenizer";
    } else if (vocab && folder_.find("sentencepiece.bpe.model")) {
      name = "M2M100Tokenizer";
    } else if (vocab && folder_.find("merges.txt")) {
      const Result<std::string_view> of_vocab = class_of_vocab(vocab->bytes);
      if (!of_vocab.ok()) return of_vocab.error();
      name = of_vocab.value();
    } else if (folder_.find("vocab.txt")) {
      name = "BertTokenizer";
    } else if (folder_.find("*.gguf")) {
      return {};
    } else if (const TokenizerFile* model = folder_.find("*.model")) {
      return unsupported_error(
          std::string(model->name) +
          ": expected a tokenizer_class in tokenizer_config.json or config.json, or a known model_type, found none: "
          "each class numbers the pieces of a SentencePiece model differently");
    } else {
      return model_format_error(
          "tokenizer.json: expected this file in the model (or vocab.json with merges.txt, source.spm or "
          "sentencepiece.bpe.model, vocab.txt, a SentencePiece .model), found none");
    }
    assumed_ = true;
    class_ = {rules_named(name), std::string(name), ""};
    return {};
  }

  Result<void> read_vocabulary() {
    if (class_.name.empty()) {
      if (const Result<void> assumed = assume_class(); !assumed.ok()) return assumed;
    }
    Result<Converted> made = convert();
    if (!made.ok()) return made.error();
    converted_ = std::move(made).value();
    if (!converted_.assumed.empty()) {
      assumed_ = true;
      class_ = {rules_named(converted_.assumed), converted_.assumed, ""};
    }
    if (converted_.json.empty()) return {};
    Result<Json> json = Json::parse(converted_.json, "tokenizer.json");
    if (!json.ok()) return json.error();
    made_.emplace(std::move(json).value());
    return {};
  }

  Result<Converted> convert() {
    if (!class_.rules) {
      const TokenizerFile* gguf = folder_.find("*.gguf");
      if (gguf) origin_.vocabulary = gguf->name;
      if (gguf) return from_gguf(gguf->bytes);
      return missing("tokenizer.json");
    }
    const std::string_view name = class_.rules->file;
    const TokenizerFile* file = folder_.find(name);
    const bool is_model = name.ends_with(".model") && class_.rules->kind != ClassKind::kSlow;
    if (!file && is_model) file = folder_.find("tokenizer.model");
    if (!file) return missing(name);
    origin_.vocabulary = file->name;
    if (name == "vocab.txt") return from_vocab_txt(file->bytes);
    if (!is_model) {
      const TokenizerFile* vocab = folder_.find("vocab.json");
      if (!vocab) return missing("vocab.json");
      origin_.vocabulary = "vocab.json";
      if (name == "merges.txt") return from_vocab_and_merges(vocab->bytes, file->bytes);
      return whole(name == "source.spm" ? from_marian(file->bytes, vocab->bytes, settings())
                                        : from_m2m_100(file->bytes, vocab->bytes, settings()));
    }
    Result<PieceModel> pieces = read_piece_model(file->bytes);
    if (!pieces.ok()) return pieces.error();
    pieces_.emplace(std::move(pieces).value());
    return Converted{};
  }

  static Result<Converted> whole(Result<std::string> json) {
    if (!json.ok()) return json.error();
    return Converted{std::move(json).value()};
  }

  Result<Tokenizer> of_class(const std::vector<std::string_view>& vocab) {
    SpecialTokens& special = *special_;
    const bool guesses = assumed_ && !converted_.vocab.empty();
    const ClassFolder folder{*class_.rules, settings(), folder_.file(), !guesses || !has_capitals(converted_.vocab)};
    const PieceModel* pieces = pieces_ ? &*pieces_ : nullptr;
    special.complete(folder.rules.tokens);
    if (folder_.file().exists()) {
      const Result<std::string_view> type = type_of_model(folder_.file()["model"]);
      if (!type.ok()) return type.error();
      const std::string_view expected = kKindNames[static_cast<std::size_t>(folder.rules.kind)];
      if (type.value() != expected) {
        return unsupported_error("tokenizer.json: model.type: expected " + json_text(expected) + " for " + class_.name + " (" +
                                 class_.from + "), found " + json_text(type.value()));
      }
    }
    if (pieces) {
      const Result<std::string> model = model_of_pieces(folder, special, *pieces);
      if (!model.ok()) return model.error();
      Result<Json> json = Json::parse("{\"model\": " + model.value() + "}", "tokenizer.json");
      if (!json.ok()) return json.error();
      made_.emplace(std::move(json).value());
    }
    if (const Result<void> added = add_class_tokens(folder, pieces, special); !added.ok()) return added.error();
    const std::string table = pieces ? base64(pieces->charsmap) : std::string(charsmap_of(folder_.file()));
    const Result<std::string> stages = class_stages(folder, table);
    if (!stages.ok()) return stages.error();
    const Result<std::string> options = model_options(folder, special, pieces);
    if (!options.ok()) return options.error();
    std::string added;
    for (const GivenToken& token : special.in_order({})) added += (added.empty() ? "" : ", ") + given_token_json(token);
    const std::string_view name = folder.rules.name;
    const bool again = name == "CohereTokenizer";  // _post_init
    if (again || name == "Qwen2Tokenizer") {
      for (const GivenToken& token : special.given()) {
        GivenToken last = again && !token.is_text ? token : GivenToken{.content = token.content};
        last.special = true;
        added += (added.empty() ? "" : ", ") + given_token_json(last);
      }
    }
    const Result<Json> parts = Json::parse("{" + stages.value() + max_length_json(settings()) + ", \"model\": " + options.value() +
                                               ", \"added_tokens\": [" + added + "]}",
                                           class_.name);
    if (!parts.ok()) return parts.error();
    Result<Tokenizer> made = Tokenizer::from_json(folder_.file().exists() ? folder_.file() : converted(), parts.value().root(),
                                                  converted_.vocab.empty() ? vocab : converted_.vocab);
    if (!made.ok()) return made;
    if (const Result<void> set = set_template(folder, made.value()); !set.ok()) return set.error();
    origin_.is_of_class = true;
    origin_.pads_left = folder.rules.is_left;
    return checked(std::move(made).value());
  }

  Result<void> set_template(const ClassFolder& folder, Tokenizer& tokenizer) {
    const Result<std::string> text = class_template(folder, *special_, tokenizer);
    if (!text.ok()) return text.error();
    if (text.value().empty()) return {};
    const Result<Json> json = Json::parse(text.value(), class_.name);
    if (!json.ok()) return json.error();
    return tokenizer.set_post_processor(json.value().root());
  }

  // tokenizer.json with more added tokens.
  Result<Tokenizer> as_it_is(const std::vector<std::string_view>& vocab) {
    SpecialTokens& special = *special_;
    const JsonRef file = folder_.file().exists() ? folder_.file() : converted(), own = file["added_tokens"];
    std::vector<std::string> known;
    std::string added;
    for (std::size_t i = 0; own.is_array() && i < own.size(); ++i) {
      // Read again below, under another file's name.
      if (const Result<void> checked = AddedTokens::check(own[i]); !checked.ok()) return checked.error();
      known.emplace_back(own[i]["content"].as_string().value());
      added += (added.empty() ? "" : ", ") + own[i].to_text();
    }
    if (class_.rules) special.complete(class_.rules->tokens);
    const bool has_more = !own.is_null() && !own.is_array() ? false : true;
    if (has_more && !class_.rules) {
      for (const GivenToken& token : special.in_order(known)) added += (added.empty() ? "" : ", ") + given_token_json(token);
    }
    const Result<Json> parts = Json::parse(
        "{" + max_length_json(settings()) + (has_more ? ", \"added_tokens\": [" + added + "]" : "") + "}", "tokenizer_config.json");
    if (!parts.ok()) return parts.error();
    Result<Tokenizer> made = Tokenizer::from_json(file, parts.value().root(), converted_.vocab.empty() ? vocab : converted_.vocab);
    if (!made.ok()) return made;
    return checked(std::move(made).value());
  }

  // The model has a row for each added token at the id that the files give it. What tokenizer.json says of ids does not count in
  // Python either.
  Result<Tokenizer> checked(Tokenizer tokenizer) {
    for (const GivenToken& token : special_->declared()) {
      if (special_->sources().empty()) break;
      const std::optional<std::int32_t> id = tokenizer.token_to_id(token.content);
      if (token.content.empty() || (id && *id == token.id)) continue;
      return model_format_error(special_->sources() + ": expected the id " + (id ? std::to_string(*id) : "of a token") +
                                " for the added token " + json_text(token.content) + " (the id that it gets), found " +
                                std::to_string(token.id));
    }
    origin_.name = class_.name;
    origin_.from = class_.from;
    origin_.added_tokens = special_->sources();
    for (std::size_t i = 0; i < kRoles.size(); ++i) origin_.roles.push_back(special_->content(static_cast<Role>(i)));
    for (const std::string& token : special_->all()) {
      if (std::find(origin_.roles.begin(), origin_.roles.end(), token) == origin_.roles.end()) origin_.extra.push_back(token);
    }
    tokenizer.set_origin(std::move(origin_));
    return tokenizer;
  }

  const FolderFiles& folder_;
  std::optional<Json> made_;
  TokenizerClass class_;
  bool assumed_ = false;  // no file names the class
  Converted converted_;
  std::optional<PieceModel> pieces_;
  std::optional<SpecialTokens> special_;
  TokenizerOrigin origin_;
};

Result<Tokenizer> class_tokenizer(const FolderFiles& folder, const std::vector<std::string_view>& vocab) {
  return ClassTokenizer(folder).read(vocab);
}

}  // namespace

const FolderReader kClassFolders{class_tokenizer};

}  // namespace wattn
