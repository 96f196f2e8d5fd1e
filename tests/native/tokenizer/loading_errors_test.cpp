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

// Every error searches the document for its place: reading on after the first would take hours here.
TEST(LoadingErrors, ReadingStopsAtTheFirst) {
  const auto many = [](const std::string& element) {
    std::string list = element;
    for (int i = 1; i < 100000; ++i) list += "," + element;
    return list;
  };
  const std::string of = R"({"type": "TemplateProcessing", "pair": [], )";
  expect_error(with(&TinyTokenizer::post_processor, of + R"("special_tokens": {}, "single": [)" + many("0") + "]}"), kFormat,
               {"post_processor.single[0]: expected an object, found 0"});
  expect_error(with(&TinyTokenizer::post_processor, of + R"("single": [{"SpecialToken": {"id": "a", "type_id": 0}}],
                 "special_tokens": {"a": {"id": "a", "tokens": [], "ids": [)" +
                                                        many("null") + "]}}}"),
               kFormat, {"special_tokens.a.ids[0]: expected an integer, found null"});
  std::string fields = "{\"type\": \"NFC\"";
  for (int i = 0; i < 100000; ++i) fields += ", \"" + std::to_string(i) + "\": 0";
  expect_error(with(&TinyTokenizer::normalizer, fields + "}"), kUnsupported, {"normalizer.0: unknown field"});
}

TEST(LoadingErrors, TemplatesHaveALimitOfSpecialTokens) {
  std::string ids = "0", pieces = R"({"SpecialToken": {"id": "a", "type_id": 0}})";
  for (int i = 1; i < 1 << 10; ++i) ids += ", 0";
  const auto load = [&](int count) {
    std::string single = pieces;
    for (int i = 1; i < count; ++i) single += "," + pieces;
    TinyTokenizer tiny;
    tiny.post_processor = R"({"type": "TemplateProcessing", "pair": [], "single": [)" + single +
                          R"(], "special_tokens": {"a": {"id": "a", "tokens": [], "ids": [)" + ids + "]}}}";
    return tiny.json();
  };
  EXPECT_TRUE(load_text(load(64)).ok());
  expect_error(load(65), kFormat, {"post_processor.single: expected at most 65536 special tokens, found an array of 65"});
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

// Each component with one field that is missing, of another type, or out of its range.
TEST(LoadingErrors, EveryComponentChecksItsFields) {
  const std::string long_string(1001, 'x'), long_piece(1025, 'x');
  struct Row {
    std::string TinyTokenizer::* stage;
    std::string json, word;
  };
  const auto normalizer = &TinyTokenizer::normalizer, pre_tokenizer = &TinyTokenizer::pre_tokenizer,
             post_processor = &TinyTokenizer::post_processor, decoder = &TinyTokenizer::decoder, model = &TinyTokenizer::model;
  const std::string bert = R"({"type": "BertNormalizer", "clean_text": true, "lowercase": true, )";
  const std::string template_of_one = R"({"type": "TemplateProcessing", "pair": [{"SpecialToken": {"id": "a", "type_id": 0}}],
    "single": [{"SpecialToken": {"id": "a", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
    "special_tokens": {"a": {"id": "a", "ids": [0], "tokens": ["a"]}}})";
  const Row rows[] = {
      {normalizer, R"({"type": "NFC", "form": 1})", "normalizer.form"},
      {normalizer, R"({"type": "Prepend", "prepend": 1})", "normalizer.prepend"},
      {normalizer, bert + R"("strip_accents": null, "handle_chinese_chars": 1})", "normalizer.handle_chinese_chars"},
      {normalizer, R"({"type": "Replace", "pattern": {"String": "a"}})", "normalizer.content"},
      {normalizer, R"({"type": "Replace", "pattern": {"String": ")" + long_string + R"("}, "content": ""})",
       "a string of at most 1000 characters"},
      {normalizer, R"({"type": "Replace", "pattern": {"Word": "a"}, "content": ""})", "normalizer.pattern"},
      {normalizer, R"({"type": "Replace", "pattern": {"Regex": "("}, "content": ""})", "a group without )"},
      {normalizer, R"({"type": "Precompiled", "precompiled_charsmap": 1})", "normalizer.precompiled_charsmap"},
      {normalizer, R"({"type": "Precompiled", "precompiled_charsmap": "a?=="})", "expected base64"},
      {normalizer, R"({"type": "Precompiled", "precompiled_charsmap": "AAA="})", "expected a trie and its strings"},
      {normalizer, R"({"type": "Precompiled", "precompiled_charsmap": "/////w=="})", "expected a trie and its strings"},
      {normalizer, R"({"type": "Precompiled", "precompiled_charsmap": "AAAAAA=="})", "expected a trie and its strings"},
      {normalizer, R"({"type": "SentencePiece", "user_defined": [1], "add_dummy_prefix": true, "remove_extra_whitespaces": true})",
       "normalizer.user_defined[0]"},
      {pre_tokenizer, R"({"type": "ByteLevel", "add_prefix_space": 1})", "pre_tokenizer.add_prefix_space"},
      {pre_tokenizer, R"({"type": "Split", "pattern": {"String": "a"}, "invert": false})", "pre_tokenizer.behavior"},
      {pre_tokenizer, R"({"type": "Split", "pattern": {"String": "a"}, "behavior": 1, "invert": false})", "pre_tokenizer.behavior"},
      {pre_tokenizer, R"({"type": "Split", "pattern": {"Regex": "["}, "behavior": "Removed", "invert": false})",
       "a class without ]"},
      {pre_tokenizer, R"({"type": "CharDelimiterSplit", "delimiter": "ab"})", "pre_tokenizer.delimiter"},
      {pre_tokenizer, R"({"type": "FixedLength", "length": 0})", "a length of 1 or more"},
      {pre_tokenizer, R"({"type": "FixedLength", "length": "5"})", "pre_tokenizer.length"},
      {pre_tokenizer, R"({"type": "Metaspace", "replacement": ""})", "pre_tokenizer.replacement"},
      {pre_tokenizer, R"({"type": "Metaspace", "replacement": "_", "prepend_scheme": "odd"})", "unknown scheme \"odd\""},
      {pre_tokenizer, R"({"type": "Metaspace", "replacement": "_", "prepend_scheme": 1})", "pre_tokenizer.prepend_scheme"},
      {pre_tokenizer, R"({"type": "Metaspace", "replacement": "_", "prepend_scheme": "always", "add_prefix_space": false})",
       "pre_tokenizer.add_prefix_space"},
      {pre_tokenizer, R"({"type": "Sequence", "pretokenizers": [{"type": "Digits"}, {"type": "BertPreTokenizer"}]})",
       "pre_tokenizer.pretokenizers[0].individual_digits"},
      {post_processor, R"({"type": "BertProcessing", "sep": ["[SEP]", 2], "cls": [1, 2]})", "post_processor.cls"},
      {post_processor, R"({"type": "BertProcessing", "sep": 2, "cls": ["[CLS]", 1]})", "post_processor.sep"},
      {post_processor, R"({"type": "RobertaProcessing", "sep": ["[SEP]", 2], "cls": ["[CLS]", 1], "trim_offsets": 1,
        "add_prefix_space": true})",
       "post_processor.trim_offsets"},
      {post_processor, R"({"type": "ByteLevel", "trim_offsets": 1})", "post_processor.trim_offsets"},
      {post_processor, R"({"type": "TemplateProcessing", "single": [], "pair": [], "special_tokens": []})",
       "post_processor.special_tokens"},
      {post_processor, R"({"type": "Sequence", "processors": [{"type": "ByteLevel", "trim_offsets": 1}]})",
       "post_processor.processors[0].trim_offsets"},
      {post_processor, R"({"type": "Sequence", "processors": [)" + template_of_one + ", " + template_of_one + "]}",
       "post_processor.processors[1]: a post-processor after one that adds special tokens"},
      {post_processor,
       R"({"type": "Sequence", "processors": [)" + template_of_one +
           R"(, {"type": "ByteLevel", "trim_offsets": true, "add_prefix_space": true}]})",
       "post_processor.processors[1]: a post-processor after one that adds special tokens"},
      {decoder, R"({"type": "BPEDecoder", "suffix": ""})", "decoder.suffix: expected a non-empty string"},
      {decoder, R"({"type": "BPEDecoder"})", "decoder.suffix"},
      {decoder, R"({"type": "CTC", "pad_token": "", "word_delimiter_token": "|", "cleanup": true})", "decoder.pad_token"},
      {decoder, R"({"type": "Strip", "content": " ", "start": -1, "stop": 0})", "decoder.start"},
      {decoder, R"({"type": "Replace", "pattern": {"String": "a"}})", "decoder.content"},
      {decoder, R"({"type": "Replace", "pattern": {"Regex": "("}, "content": ""})", "a group without )"},
      {decoder, R"({"type": "Metaspace", "replacement": 1})", "decoder.replacement"},
      {decoder, R"({"type": "ByteFallback", "x": 1})", "decoder.x"},
      {decoder, R"({"type": "Marian", "special": [1, 2]})", "decoder.special[0]"},
      {decoder, R"({"type": "Sequence", "decoders": [{"type": "BPEDecoder"}, {"type": "Fuse"}]})", "decoder.decoders[0].suffix"},
      {model, R"({"type": "WordLevel", "vocab": {"a": 0}})", "model.unk_token"},
      {model, R"({"type": "WordLevel", "unk_token": "a", "vocab": []})", "model.vocab"},
      {model, R"({"type": "BPE", "vocab": {"a": 0}, "merges": {}})", "model.merges"},
      {model, R"({"type": "BPE", "vocab": [], "merges": []})", "model.vocab"},
      {model, R"({"type": "BPE", "vocab": {"a": 0}, "merges": [], "unk_token": "b"})",
       "model.unk_token: expected a token of model.vocab"},
      {model, R"({"type": "BPE", "vocab": {"a": 0}, "merges": [], "dropout": 0.1})", "dropout is for training"},
      {model, R"({"type": "BPE", "vocab": {"a": 0, "aa": 1}, "merges": ["aa"]})", "model.merges[0]"},
      {model, R"({"type": "BPE", "vocab": {"a": 0, "a b": 1, "a ba": 2}, "merges": ["a b a"]})",
       "model.merges[0]: expected two tokens of model.vocab that make a third, with one space between them or in an array, found "
       "\"a b a\""},
      {model, R"({"type": "BPE", "vocab": {"a": 0, "aa": 1}, "merges": [["a", "a", "a"]]})", "model.merges[0]"},
      {model, R"({"type": "BPE", "vocab": {"a": 0, "aa": 1}, "merges": [["a", 1]]})", "model.merges[0]"},
      {model, R"({"type": "BPE", "vocab": {"a": 0, "aa": 1}, "merges": [[1, "a"]]})", "model.merges[0]"},
      {model, R"({"type": "BPE", "vocab": {"a": 0, "aa": 1}, "merges": ["a b"]})", "model.merges[0]"},
      {model, R"({"type": "Unigram", "vocab": [["a", -1], 3]})", "model.vocab[1]: expected [piece, score]"},
      {model, R"({"type": "Unigram", "vocab": [["a"]]})", "model.vocab[0]: expected [piece, score]"},
      {model, R"({"type": "Unigram", "vocab": [["a", "b"]]})", "model.vocab[0][1]"},
      {model, R"({"type": "Unigram", "vocab": [["a", -1]], "unk_id": 1})", "model.unk_id: expected the index of a piece"},
      {model, R"({"type": "Unigram", "vocab": [["a", -1]], "num_known": 2})", "model.num_known: expected at most"},
      {model, R"({"type": "Unigram", "vocab": [[")" + long_piece + R"(", -1]]})", "found one of 1025"},
      {model, R"({"merges": []})", "model.type"},
  };
  for (const auto& [stage, json, word] : rows) {
    const Result<Tokenizer> tokenizer = load_text(with(stage, json));
    ASSERT_FALSE(tokenizer.ok()) << json;
    EXPECT_NE(tokenizer.error().message.find(word), std::string::npos) << tokenizer.error().message << "\n  should name " << word;
  }
  std::string added = TinyTokenizer{}.json();
  EXPECT_TRUE(load_text(added.replace(added.find("[]"), 2, "null")).ok());
  expect_error(added.replace(added.find("null", added.find("added_tokens")), 4, "{}"), kFormat,
               {"added_tokens: expected an array"});
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
