// A tokenizer.json with the stages of its class is read as it is; one with others is left to the rules of the class.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "native/tokenizer/tiny_tokenizer.h"
#include "tokenizer/formats/class_stages.h"
#include "tokenizer/formats/folder.h"
#include "tokenizer/formats/plain_classes.h"
#include "tokenizer/formats/writing.h"

namespace wattn {
namespace {

const std::vector<std::string> kSettings = {"",
                                            R"("do_lower_case": false)",
                                            R"("strip_accents": true)",
                                            R"("tokenize_chinese_chars": false)",
                                            R"("add_prefix_space": true)",
                                            R"("add_prefix_space": false)",
                                            R"("trim_offsets": false)"};

struct Parts {
  std::string settings, stages, post;
};

// tokenizer.json as the class itself writes it.
class ClassFile {
 public:
  explicit ClassFile(const ClassNames& names) : names_(names) {
    std::string_view words = names.tokens;
    for (std::string_view word = next_word(words); !word.empty(); word = next_word(words)) {
      if (word.starts_with('^')) word.remove_prefix(1);
      if (word != "-" && std::find(tokens_.begin(), tokens_.end(), word) == tokens_.end()) tokens_.emplace_back(word);
    }
    for (const char* token : {"a", "b", "c"}) tokens_.emplace_back(token);
  }

  // settings: of the classes' constructors.
  Parts made_with(const std::string& given) const {
    const bool is_t5 = names_.name == "T5Tokenizer";  // it has tokens of its own unless the files list them
    const std::string settings =
        "{" + given + (is_t5 ? std::string(given.empty() ? "" : ", ") + R"("extra_special_tokens": [])" : "") + "}";
    const Json json = Json::parse(settings, "tokenizer_config.json").value();
    SpecialTokens special = SpecialTokens::read({json.root(), JsonRef(), JsonRef(), JsonRef()}).value();
    special.complete(names_.tokens);
    const Json file = Json::parse(R"({"model": {"vocab": []}})", "tokenizer.json").value();
    const ClassFolder folder{*rules_named(names_.name), json.root(), file.root(), true};
    Parts out{settings, class_stages(folder, "BAAAAAAAAAA=").value() + model_json(model_options(folder, special, nullptr).value()),
              ""};
    const Json whole = Json::parse(text(out), "tokenizer.json").value();
    const Result<Tokenizer> tokenizer = Tokenizer::from_json(whole.root());
    EXPECT_TRUE(tokenizer.ok()) << tokenizer.error().message;
    out.post = class_template(folder, special, tokenizer.value()).value();
    return out;
  }

  std::string text(const Parts& parts) const {
    std::string added;
    for (std::size_t i = 0; i + 3 < tokens_.size(); ++i) {
      added +=
          (i ? ", " : "") + (R"({"id": )" + std::to_string(i) + R"(, "content": ")" + tokens_[i] +
                             R"(", "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true})");
    }
    return R"({"version": "1.0", "truncation": null, "padding": null, "added_tokens": [)" + added + "], " + parts.stages +
           ", \"post_processor\": " + (parts.post.empty() ? "null" : parts.post) + "}";
  }

 private:
  std::string model_json(const std::string& options) const {
    const ClassKind kind = rules_named(names_.name)->kind;
    std::string vocab = test::vocab_json(tokens_);
    if (kind == ClassKind::kUnigram) {
      vocab.clear();
      for (const std::string& token : tokens_) vocab += (vocab.empty() ? "[[\"" : ", [\"") + token + "\", -1.0]";
      vocab += "]";
    }
    const char* type = kind == ClassKind::kWordPiece ? R"("WordPiece")"
                       : kind == ClassKind::kUnigram ? R"("Unigram")"
                                                     : R"("BPE", "merges": [])";
    return std::string(R"("model": {"type": )") + type + ", \"vocab\": " + vocab + ", " + options.substr(1);
  }

  const ClassNames& names_;
  std::vector<std::string> tokens_;
};

// Whether a folder's tokenizer.json is read as it is.
bool is_plain(const std::vector<TokenizerFile>& files) {
  const Result<FolderFiles> folder = FolderFiles::read(files);
  const Result<Tokenizer> read = kPlainFolders.read(folder.value(), {});
  if (!read.ok()) EXPECT_TRUE(read.error().message.starts_with("the files of this tokenizer: ")) << read.error().message;
  return read.ok();
}

TEST(PlainTokenizer, HasTheStagesOfItsClassAndItsSettings) {
  for (const PlainClass& each : kPlainClasses) {
    const ClassFile file(each.names);
    for (const std::string& written : kSettings) {
      const Parts parts = file.made_with(written);
      const std::string text = file.text(parts);
      for (const std::string& settings : kSettings) {
        const Parts wanted = file.made_with(settings);
        const std::string config = R"({"tokenizer_class": ")" + std::string(each.names.name) +
                                   (wanted.settings == "{}" ? "\"}" : "\", " + wanted.settings.substr(1));
        const bool is_odd = each.only_true == "add_prefix_space" && settings == R"("add_prefix_space": false)";
        const bool is_same = wanted.stages + wanted.post == parts.stages + parts.post;
        EXPECT_EQ(is_plain({{"tokenizer.json", text}, {"tokenizer_config.json", config}}), is_same && !is_odd) << text << "\n"
                                                                                                               << config;
      }
    }
  }
}

TEST(PlainTokenizer, HasTheTokensOfAllFiles) {
  const ClassFile file(kBertClass);
  const std::string text = file.text(file.made_with(""));
  const auto plain = [&](const char* config, const char* map = "{}", const char* added = "{}", const char* model = "{}") {
    return is_plain({{"tokenizer.json", text},
                     {"tokenizer_config.json", config},
                     {"special_tokens_map.json", map},
                     {"added_tokens.json", added},
                     {"config.json", model}});
  };
  const char* bert = R"({"tokenizer_class": "BertTokenizer"})";
  EXPECT_TRUE(plain(bert));
  EXPECT_TRUE(plain(bert, R"({"pad_token": {"content": "[PAD]", "lstrip": false}, "additional_special_tokens": ["[SEP]"]})"));
  EXPECT_FALSE(plain(bert, R"({"pad_token": "<pad>"})"));
  EXPECT_FALSE(plain(bert, R"({"additional_special_tokens": ["[bla]"]})"));
  EXPECT_FALSE(plain(bert, R"({"image_token": "[SEP]"})"));
  EXPECT_TRUE(plain(bert, "{}", R"({"[PAD]": 2})"));
  EXPECT_FALSE(plain(bert, "{}", R"({"[PAD]": 1})"));
  EXPECT_FALSE(plain(bert, "{}", R"({"[bla]": 8})"));
  EXPECT_FALSE(plain(bert, "{}", "{}", R"({"model_type": "modernbert"})"));
  EXPECT_FALSE(plain(bert, "{}", "{}", R"({"model_type": "qwen2"})"));
  EXPECT_TRUE(plain("{}", "{}", "{}", R"({"model_type": "bert"})"));
  EXPECT_FALSE(plain("{}", "{}", "{}", R"({"model_type": "bert", "tokenizer_class": "BertJapaneseTokenizer"})"));
  EXPECT_FALSE(plain("{}", "{}", "{}", R"({"model_type": "roberta"})"));
  EXPECT_FALSE(plain("{}", "{}", "{}", R"({"model_type": "unheard_of"})"));
  EXPECT_TRUE(plain("{}"));
  EXPECT_FALSE(plain(R"({"tokenizer_class": "BertJapaneseTokenizer"})"));
  EXPECT_FALSE(plain(R"({"tokenizer_class": "BertTokenizer", "auto_map": {}})"));
  EXPECT_FALSE(plain(R"({"tokenizer_class": "BertTokenizer", "unk_token": "[PAD]"})"));
  EXPECT_FALSE(plain(R"({"tokenizer_class": "BertTokenizer", "do_lower_case": 1})"));
  EXPECT_FALSE(
      plain(R"({"tokenizer_class": "BertTokenizer", "added_tokens_decoder": {"2": {"content": "[PAD]", "special": true}}})"));
  EXPECT_TRUE(plain(
      R"({"tokenizer_class": "PreTrainedTokenizerFast", "added_tokens_decoder": {"2": {"content": "[PAD]", "special": true}}})"));
  EXPECT_FALSE(plain(
      R"({"tokenizer_class": "PreTrainedTokenizerFast", "added_tokens_decoder": {"2": {"content": "[PAD]", "lstrip": true, "special": true}}})"));
  EXPECT_FALSE(plain(R"({"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<s>"})"));
}

TEST(PlainTokenizer, HasAddedTokensInAnyOrderThatGivesTheirIds) {
  const ClassFile file(kBertClass);
  const std::string text = file.text(file.made_with(""));
  const auto plain = [&](const std::string& more, const char* name = "BertTokenizer") {
    std::string with = text;
    with.insert(with.find("], \"normalizer\""), more);
    return is_plain({{"tokenizer.json", with}, {"tokenizer_config.json", R"({"tokenizer_class": ")" + std::string(name) + "\"}"}});
  };
  const auto token = [](int id, const char* content, bool special = false) {
    std::string json = R"(, {"id": )" + std::to_string(id) + R"(, "content": ")" + content + '"';
    for (const char* flag : {"single_word", "lstrip", "rstrip", "normalized"}) json += std::string(", \"") + flag + "\": false";
    return json + ", \"special\": " + (special ? "true}" : "false}");
  };
  // The vocabulary ends with a, b and c, whose ids are 5 to 7.
  EXPECT_TRUE(plain(token(8, "x") + token(9, "y")));
  EXPECT_TRUE(plain(token(8, "x") + token(6, "b") + token(9, "y") + token(5, "a")));
  EXPECT_FALSE(plain(token(9, "x") + token(8, "y")));  // in the order of ids they are y and x
  EXPECT_TRUE(plain(token(9, "x") + token(8, "y"), "PreTrainedTokenizerFast"));
  EXPECT_TRUE(plain(token(19, "x") + token(20, "y")));  // ids that do not count
  EXPECT_FALSE(plain(token(19, "x") + token(6, "b")));
  EXPECT_FALSE(plain(token(8, "x") + token(8, "x", true)));  // Python keeps the last
  EXPECT_FALSE(plain(token(8, "x") + token(5, "x")));
}

TEST(PlainTokenizer, HasBertsVocabulary) {
  const char* vocab = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n";
  const auto plain = [&](const char* config, const char* name = "added_tokens.json", const char* more = "{}") {
    return is_plain({{"vocab.txt", vocab}, {"tokenizer_config.json", config}, {name, more}});
  };
  EXPECT_TRUE(plain("{}"));
  EXPECT_TRUE(plain(R"({"do_lower_case": false})", "config.json", R"({"model_type": "bert"})"));
  EXPECT_FALSE(plain(R"({"tokenizer_class": "BertJapaneseTokenizer"})"));
  EXPECT_FALSE(plain("{}", "added_tokens.json", R"({"[x]": 6})"));
  EXPECT_FALSE(plain("{}", "special_tokens_map.json", R"({"mask_token": "<mask>"})"));
  EXPECT_FALSE(plain("{}", "special_tokens_map.json", R"({"mask_token": {"content": "[MASK]", "lstrip": true}})"));
  EXPECT_FALSE(plain("{}", "config.json", R"({"model_type": "dpr"})"));
  EXPECT_FALSE(plain("{}", "vocab.json", "{}"));
}

}  // namespace
}  // namespace wattn
