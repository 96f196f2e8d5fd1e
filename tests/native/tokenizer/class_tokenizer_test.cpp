// Each file of a folder counts. The expected tokens are those of transformers 5.24; tests/goldens/folders has many more folders.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "native/tokenizer/tiny_tokenizer.h"
#include "tokenizer/formats/classes.h"
#include "tokenizer/formats/formats.h"

namespace wattn {
namespace {

using test::Tokens;

Tokens tokens(const std::vector<TokenizerFile>& files, std::u16string_view text) {
  const Result<Tokenizer> tokenizer = load_tokenizer(files);
  if (!tokenizer.ok()) return {tokenizer.error().message};
  return test::tokens_of(tokenizer.value(), test::encode(tokenizer.value(), text));
}

TEST(ClassTokenizer, TakesAddedTokensFromEachFile) {
  const TokenizerFile vocab{"vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n"},
      model{"config.json", R"({"model_type": "bert"})"};
  EXPECT_EQ(tokens({vocab, model}, u"a[x]"), (Tokens{"[CLS]", "a", "[UNK]", "[UNK]", "[UNK]", "[SEP]"}));
  const TokenizerFile files[] = {{"added_tokens.json", R"({"[x]": 6})"},
                                 {"special_tokens_map.json", R"({"additional_special_tokens": ["[x]"]})"},
                                 {"tokenizer_config.json", R"({"additional_special_tokens": ["[x]"]})"},
                                 {"tokenizer_config.json", R"({"extra_special_tokens": ["[x]"]})"},
                                 {"tokenizer_config.json", R"({"added_tokens_decoder": {"6": {"content": "[x]"}}})"},
                                 {"tokenizer_config.json", R"({"image_token": "[x]"})"}};
  for (const TokenizerFile& file : files)
    EXPECT_EQ(tokens({vocab, model, file}, u"a[x]"), (Tokens{"[CLS]", "a", "[x]", "[SEP]"})) << file.bytes;
  EXPECT_NE(tokens({vocab, model, {"added_tokens.json", R"({"[x]": 7})"}}, u"a")[0].find("expected the id 6"), std::string::npos);
}

TEST(ClassTokenizer, TakesFlagsOfTokensFromTheMapOfSpecialTokens) {
  const std::vector<TokenizerFile> files = {
      {"vocab.json", R"({"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3, "<mask>": 4, "a": 5, "Ġ": 6})"},
      {"merges.txt", "#version: 0.2\n"},
      {"config.json", R"({"model_type": "roberta"})"}};
  EXPECT_EQ(tokens(files, u"a <mask>"), (Tokens{"<s>", "a", "Ġ", "<mask>", "</s>"}));
  std::vector<TokenizerFile> more = files;
  more.push_back({"special_tokens_map.json", R"({"mask_token": {"content": "<mask>", "lstrip": true}})"});
  EXPECT_EQ(tokens(more, u"a <mask>"), (Tokens{"<s>", "a", "<mask>", "</s>"}));
}

TEST(ClassTokenizer, SearchesRawTextForSpecialTokensThatPythonKnowsByTheirText) {
  const std::vector<TokenizerFile> files = {{"vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n"},
                                            {"config.json", R"({"model_type": "bert"})"},
                                            {"added_tokens.json", R"({"[X]": 6})"}};
  const auto with = [&](const char* name, const char* token) {
    std::vector<TokenizerFile> more = files;
    const std::string json = std::string(R"({"bos_token": )") + token + "}";
    more.push_back({name, json});
    return tokens(more, u"a[x]");
  };
  // The normalizer of BERT lowercases, so that only tokens that are searched for in normalized text are found here.
  const Tokens found = {"[CLS]", "a", "[x]", "[SEP]"}, lost = {"[CLS]", "a", "[UNK]", "[UNK]", "[UNK]", "[SEP]"};
  EXPECT_EQ(with("tokenizer_config.json", R"("[X]")"), lost);
  EXPECT_EQ(with("special_tokens_map.json", R"({"content": "[X]"})"), lost);
  EXPECT_EQ(with("tokenizer_config.json", R"({"content": "[X]", "normalized": false})"), found);
}

TEST(ClassTokenizer, TakesSettingsThatContradictTokenizerJson) {
  test::TinyTokenizer bert;
  bert.normalizer = test::kBertNormalizer;
  bert.post_processor = test::kBertTemplate;
  bert.decoder = test::kWordPieceDecoder;
  bert.added = {test::added_token_json("[UNK]", {"special"}), test::added_token_json("[CLS]", {"special"})};
  const std::string json = bert.json();
  const auto with = [&](const char* settings) {
    return tokens({{"tokenizer.json", json}, {"config.json", R"({"model_type": "bert"})"}, {"tokenizer_config.json", settings}},
                  u"A a");
  };
  EXPECT_EQ(with("{}"), (Tokens{"[CLS]", "a", "a", "[SEP]"}));
  EXPECT_EQ(with(R"({"do_lower_case": false})"), (Tokens{"[CLS]", "[UNK]", "a", "[SEP]"}));
  EXPECT_EQ(with(R"({"tokenizer_class": "PreTrainedTokenizerFast", "do_lower_case": false})"),
            (Tokens{"[CLS]", "a", "a", "[SEP]"}));
}

// transformers reads the tokenizer.json of a LlamaTokenizer with a ByteLevel stage as it is.
TEST(ClassTokenizer, FindsByteLevelStagesAnywhereInASequence) {
  const auto name_with = [](const char* pre_tokenizer, const char* decoder) {
    test::TinyTokenizer tiny;
    tiny.pre_tokenizer = pre_tokenizer;
    tiny.decoder = decoder;
    tiny.model = R"({"type": "BPE", "vocab": {"<unk>": 0, "<s>": 1, "</s>": 2, "a": 3}, "merges": []})";
    const auto found =
        load_tokenizer({{"tokenizer.json", tiny.json()}, {"tokenizer_config.json", R"({"tokenizer_class": "LlamaTokenizer"})"}});
    return found.ok() ? found.value().origin().name : found.error().message;
  };
  const char *byte_level = R"({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true})",
             *digits = R"({"type": "Digits", "individual_digits": true})";
  const auto both = [](const char* list, const char* type, const char* a, const char* b) {
    return std::string(R"({"type": ")") + type + R"(", ")" + list + "\": [" + a + ", " + b + "]}";
  };
  EXPECT_EQ(name_with(digits, "null"), "LlamaTokenizer");
  EXPECT_EQ(name_with(byte_level, "null"), "TokenizersBackend");
  EXPECT_EQ(name_with(digits, byte_level), "TokenizersBackend");
  EXPECT_EQ(name_with(both("pretokenizers", "Sequence", byte_level, digits).c_str(), "null"), "TokenizersBackend");
  EXPECT_EQ(name_with(both("pretokenizers", "Sequence", digits, byte_level).c_str(), "null"), "TokenizersBackend");
  EXPECT_EQ(name_with(digits, both("decoders", "Sequence", byte_level, R"({"type": "Fuse"})").c_str()), "TokenizersBackend");
}

TEST(ClassTokenizer, RefusesClassesThatAreCodeByName) {
  for (const char* name : {"BertJapaneseTokenizer", "PhobertTokenizer", "EsmTokenizer"}) {
    const std::string settings = std::string(R"({"tokenizer_class": ")") + name + "\"}";
    const Tokens found = tokens({{"vocab.txt", "[UNK]\n[CLS]\n[SEP]\na\n"}, {"tokenizer_config.json", settings}}, u"a");
    EXPECT_NE(found[0].find(std::string("\"") + name + "\" is not supported"), std::string::npos) << found[0];
  }
}

TEST(ClassTokenizer, ReadsConvBertsVocabularyAsBerts) {
  const TokenizerFile vocab{"vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n##b\nb\nB\n"};
  const auto settings = [](const char* more) { return std::string(R"({"tokenizer_class": "ConvBertTokenizer")") + more + "}"; };
  const std::string plain = settings(""), cased = settings(R"(, "do_lower_case": false)");
  EXPECT_EQ(tokens({vocab, {"tokenizer_config.json", plain}}, u"ab B c"), (Tokens{"[CLS]", "a", "##b", "b", "[UNK]", "[SEP]"}));
  EXPECT_EQ(tokens({vocab, {"tokenizer_config.json", cased}}, u"ab B c"), (Tokens{"[CLS]", "a", "##b", "B", "[UNK]", "[SEP]"}));
}

// Code of the repository's own is not run: its class counts, even for types whose class transformers does not believe.
TEST(ClassTokenizer, TakesTheNamedClassBesideCode) {
  const auto name_of = [](const std::string& settings) {
    const Json asked = Json::parse(settings, "tokenizer_config.json").value(),
               phi = Json::parse(R"({"model_type": "phi3"})", "").value();
    const auto found = find_class({.settings = asked.root(), .config = phi.root(), .has_file = true});
    return found.ok() ? found.value().name : found.error().message;
  };
  const std::string mpnet = R"({"tokenizer_class": "MPNetTokenizerFast")",
                    code = R"(, "auto_map": {"AutoTokenizer": ["own.Own", null]}})";
  EXPECT_EQ(name_of(mpnet + "}"), "TokenizersBackend");
  EXPECT_EQ(name_of(mpnet + code), "MPNetTokenizer");
  EXPECT_NE(name_of(R"({"tokenizer_class": "FunnelTokenizer")" + code).find("is not supported"), std::string::npos);
}

}  // namespace
}  // namespace wattn
