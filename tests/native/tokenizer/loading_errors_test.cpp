// Errors of a broken or unsupported tokenizer.json: they name the file, the field, what was expected and what was found.
#include <gtest/gtest.h>

#include "native/tokenizer/tiny_tokenizer.h"

namespace wattn {
namespace {

using test::load_text;
using test::TinyTokenizer;

constexpr ErrorCode kFormat = ErrorCode::kModelFormat;
constexpr ErrorCode kUnsupported = ErrorCode::kUnsupported;

void expect_error(const std::string& json, ErrorCode code, const std::vector<std::string>& words,
                  const std::string& config = "{}") {
  const Result<Tokenizer> tokenizer = load_text(json, config);
  ASSERT_FALSE(tokenizer.ok()) << json;
  EXPECT_EQ(tokenizer.error().code, code) << tokenizer.error().message;
  for (const std::string& word : words) {
    EXPECT_NE(tokenizer.error().message.find(word), std::string::npos) << tokenizer.error().message << "\n  should name " << word;
  }
}

// A tokenizer that would load, with one field replaced.
std::string with(std::string TinyTokenizer::* field, const std::string& json) {
  TinyTokenizer tiny;
  tiny.*field = json;
  return tiny.json();
}

std::string wordpiece(const std::string& vocab,
                      const std::string& more = R"("unk_token": "[UNK]", "continuing_subword_prefix": "##",
  "max_input_chars_per_word": 100)") {
  return R"({"type": "WordPiece", )" + more + R"(, "vocab": )" + vocab + "}";
}

TEST(LoadingErrors, UnknownComponentsAreNamedWithTheirPath) {
  const std::string unknown = R"({"type": "Frobnicate"})";
  expect_error(with(&TinyTokenizer::normalizer, unknown), kUnsupported,
               {"tokenizer.json: normalizer.type", "Frobnicate", "BertNormalizer"});
  expect_error(with(&TinyTokenizer::pre_tokenizer, unknown), kUnsupported, {"pre_tokenizer.type", "Frobnicate"});
  expect_error(with(&TinyTokenizer::post_processor, unknown), kUnsupported, {"post_processor.type", "Frobnicate"});
  expect_error(with(&TinyTokenizer::decoder, unknown), kUnsupported, {"decoder.type", "Frobnicate"});
  expect_error(with(&TinyTokenizer::model, unknown), kUnsupported, {"model.type", "Frobnicate"});
  expect_error(
      with(&TinyTokenizer::normalizer, R"({"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "Frobnicate"}]})"),
      kUnsupported, {"normalizer.normalizers[1].type", "Frobnicate"});
  expect_error(with(&TinyTokenizer::pre_tokenizer, R"({"type": "Sequence", "pretokenizers": [{"type": "Frobnicate"}]})"),
               kUnsupported, {"pre_tokenizer.pretokenizers[0].type"});
}

TEST(LoadingErrors, UnknownFieldsAndValuesAreNamed) {
  expect_error(with(&TinyTokenizer::pre_tokenizer, R"({"type": "BertPreTokenizer", "strange": true})"), kUnsupported,
               {"pre_tokenizer.strange"});
  expect_error(with(&TinyTokenizer::pre_tokenizer, R"({"type": "Punctuation", "behavior": "Sideways"})"), kUnsupported,
               {"pre_tokenizer.behavior", "Sideways"});
  expect_error(with(&TinyTokenizer::normalizer, R"({"type": "Replace", "pattern": {"Regex": "(a)\\1"}, "content": ""})"),
               kUnsupported, {"normalizer.pattern.Regex", R"("(a)\1", at character 4)", R"(\1 is not supported)"});
  std::string version = TinyTokenizer{}.json();
  version.replace(version.find("1.0"), 3, "2.0");
  expect_error(version, kUnsupported, {"version", "2.0"});
}

TEST(LoadingErrors, MissingAndMalformedFieldsAreNamed) {
  expect_error("[]", kFormat, {"tokenizer.json", "an object"});
  expect_error("{}", kFormat, {"model", "nothing"});
  expect_error(with(&TinyTokenizer::normalizer, "7"), kFormat, {"normalizer", "7"});
  expect_error(with(&TinyTokenizer::normalizer, "{}"), kFormat, {"normalizer.type", "a string"});
  expect_error(with(&TinyTokenizer::normalizer, R"({"type": 3})"), kFormat, {"normalizer.type", "3"});
  expect_error(with(&TinyTokenizer::normalizer, R"({"type": "BertNormalizer"})"), kFormat, {"normalizer.clean_text"});
  expect_error(
      with(
          &TinyTokenizer::normalizer,
          R"({"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "strip_accents": "x", "lowercase": true})"),
      kFormat, {"normalizer.strip_accents", "\"x\""});
  expect_error(with(&TinyTokenizer::normalizer, R"({"type": "Sequence", "normalizers": {}})"), kFormat, {"normalizer.normalizers"});
  expect_error(with(&TinyTokenizer::normalizer, R"({"type": "Strip", "strip_left": 1, "strip_right": true})"), kFormat,
               {"strip_left"});
  expect_error(with(&TinyTokenizer::normalizer, R"({"type": "Prepend"})"), kFormat, {"normalizer.prepend"});
  expect_error(with(&TinyTokenizer::pre_tokenizer, R"({"type": "Digits"})"), kFormat, {"individual_digits"});
  expect_error(with(&TinyTokenizer::decoder, R"({"type": "WordPiece", "prefix": "##"})"), kFormat, {"decoder.cleanup"});
  expect_error(with(&TinyTokenizer::post_processor, R"({"type": "BertProcessing", "sep": ["[SEP]"], "cls": ["[CLS]", 1]})"),
               kFormat, {"post_processor.sep"});
}

TEST(LoadingErrors, BrokenTemplatesAreNamed) {
  const auto tmpl = [](const std::string& single, const std::string& special_tokens = "{}") {
    return with(&TinyTokenizer::post_processor, R"({"type": "TemplateProcessing", "pair": [], "single": )" + single +
                                                    R"(, "special_tokens": )" + special_tokens + "}");
  };
  expect_error(tmpl("{}"), kFormat, {"post_processor.single"});
  expect_error(tmpl(R"([{"SpecialToken": {"id": "[X]", "type_id": 0}}])"), kFormat, {"post_processor.single[0]", "[X]"});
  expect_error(
      tmpl(R"([{"SpecialToken": {"id": "[X]", "type_id": 0}}])", R"({"[X]": {"id": "[X]", "ids": [-1], "tokens": ["[X]"]}})"),
      kFormat, {"ids[0]", "-1"});
  expect_error(tmpl(R"([{"Sequence": {"id": "C", "type_id": 0}}])"), kFormat, {"single[0].Sequence.id", "C"});
  expect_error(tmpl(R"([{"Sequence": {"id": "B", "type_id": 0}}])"), kFormat, {"post_processor.single"});
  expect_error(tmpl(R"([{"Sequence": {"id": "A", "type_id": -3}}])"), kFormat, {"type_id", "-3"});
  expect_error(tmpl(R"([{}])"), kFormat, {"single[0]"});
  expect_error(tmpl(R"([{"Other": {}}])"), kUnsupported, {"single[0].Other"});
}

TEST(LoadingErrors, VocabulariesAreChecked) {
  const auto with_vocab = [](const std::string& vocab) { return with(&TinyTokenizer::model, wordpiece(vocab)); };
  expect_error(with_vocab("[]"), kFormat, {"model.vocab"});
  expect_error(with_vocab(R"({"[UNK]": 0, "a": -1})"), kFormat, {"model.vocab.a", "-1"});
  expect_error(with_vocab(R"({"[UNK]": 0, "a": 0.5})"), kFormat, {"model.vocab.a", "0.5"});
  expect_error(with_vocab(R"({"[UNK]": 0, "a": "1"})"), kFormat, {"model.vocab.a"});
  expect_error(with_vocab(R"({"[UNK]": 0, "a": 0})"), kFormat, {"model.vocab", "no other token"});
  expect_error(with_vocab(R"({"[UNK]": 0, "a": 2147483647})"), kFormat, {"model.vocab.a", "2147483647"});
  expect_error(with_vocab(R"({"[UNK]": 0, "a": 2147483648})"), kFormat, {"model.vocab.a"});
  expect_error(with_vocab(R"({"[UNK]": 0, "a": 18446744073709551615})"), kFormat, {"model.vocab.a"});
  expect_error(with_vocab(R"({"a": 0})"), kFormat, {"model.unk_token", "[UNK]"});
  expect_error(with_vocab("{}"), kFormat, {"model.unk_token"});
  expect_error(with_vocab(R"({"[UNK]": 0, ")" + std::string(1025, 'x') + R"(": 1})"), kUnsupported, {"model.vocab", "1025"});
  expect_error(with(&TinyTokenizer::model, wordpiece("{}", R"("unk_token": "[UNK]", "continuing_subword_prefix": "##",
    "max_input_chars_per_word": -1)")),
               kFormat, {"max_input_chars_per_word", "-1"});
  expect_error(with(&TinyTokenizer::model, wordpiece("{}", R"("unk_token": "[UNK]", "max_input_chars_per_word": 100)")), kFormat,
               {"model.continuing_subword_prefix"});
}

TEST(LoadingErrors, AddedTokensAreChecked) {
  const auto with_added = [](const std::string& token) {
    TinyTokenizer tiny;
    tiny.added = {token};
    return tiny.json();
  };
  expect_error(with_added("3"), kFormat, {"added_tokens[0]"});
  expect_error(with_added(R"({"id": 0})"), kFormat, {"added_tokens[0].content"});
  expect_error(with_added(R"({"id": 0, "content": "x"})"), kFormat, {"added_tokens[0].single_word"});
  expect_error(with_added(R"({"id": -5, "content": "x"})"), kFormat, {"added_tokens[0].id", "-5"});
  std::string strange = test::added_token_json("x");
  strange.insert(1, R"("sticky": true, )");
  expect_error(with_added(strange), kUnsupported, {"added_tokens[0].sticky"});
  TinyTokenizer taken;  // three tokens, so "x" would get the id 3, which "c" has
  taken.model = wordpiece(R"({"[UNK]": 0, "a": 1, "c": 3})");
  taken.added = {test::added_token_json("x")};
  expect_error(taken.json(), kFormat, {"added_tokens[0]", "\"x\"", "\"c\""});
}

TEST(LoadingErrors, LimitsAreChecked) {
  const std::string json = TinyTokenizer{}.json();
  for (const char* bad : {"\"512\"", "-1", "0", "[]"}) {
    expect_error(json, kFormat, {"tokenizer_config.json: model_max_length"}, std::string(R"({"model_max_length": )") + bad + "}");
  }
}

TEST(LoadingErrors, TooDeeplyNestedSequencesAreRejected) {
  std::string json = R"({"type": "NFC"})";
  for (int i = 0; i < 20; ++i) json = R"({"type": "Sequence", "normalizers": [)" + json + "]}";
  expect_error(with(&TinyTokenizer::normalizer, json), kFormat, {"nested"});
}

TEST(LoadingErrors, EveryTruncatedTokenizerIsAnErrorOrLoads) {
  TinyTokenizer tiny;
  tiny.normalizer = test::kBertNormalizer;
  tiny.post_processor = test::kBertTemplate;
  tiny.decoder = test::kWordPieceDecoder;
  tiny.added = {test::added_token_json("[SEP]", {"special"})};
  const std::string json = tiny.json();
  ASSERT_TRUE(load_text(json).ok());
  for (std::size_t length = 0; length < json.size(); ++length) EXPECT_FALSE(load_text(json.substr(0, length)).ok()) << length;
}

TEST(LoadingErrors, EveryValueOfAnotherTypeIsAnErrorOrLoads) {
  TinyTokenizer tiny;
  tiny.normalizer = test::kBertNormalizer;
  tiny.post_processor = test::kBertTemplate;
  tiny.decoder = test::kWordPieceDecoder;
  tiny.added = {test::added_token_json("[SEP]", {"special"})};
  const std::string json = tiny.json();
  // Every literal (true, false, null, number, string value) in turn becomes each of these.
  for (const std::string& replacement : std::vector<std::string>{"null", "-7", "1e99", "\"?\"", "[]", "{}", "true"}) {
    for (std::size_t at = json.find(": "); at != std::string::npos; at = json.find(": ", at + 1)) {
      std::size_t end = at + 2;
      if (json[end] == '{' || json[end] == '[') continue;
      if (json[end] == '"') {
        end = json.find('"', end + 1) + 1;
      } else {
        end = json.find_first_of(",}] \n", end);
      }
      const Result<Tokenizer> tokenizer = load_text(json.substr(0, at + 2) + replacement + json.substr(end));
      if (tokenizer.ok()) {
        (void)tokenizer.value().encode(u"ab [SEP] x", {});
      } else {
        EXPECT_NE(tokenizer.error().message.find("tokenizer.json"), std::string::npos) << tokenizer.error().message;
      }
    }
  }
}

}  // namespace
}  // namespace wattn
