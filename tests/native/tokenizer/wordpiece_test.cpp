// From text to tokens with a WordPiece model of a few tokens.
#include <gtest/gtest.h>

#include "native/tokenizer/tiny_tokenizer.h"

namespace wattn {
namespace {

using test::encode;
using test::make;
using test::slices_of;
using test::TinyTokenizer;
using test::Tokens;
using test::tokens_of;

Tokens tokenize(const Tokenizer& tokenizer, std::u16string_view text) { return tokens_of(tokenizer, encode(tokenizer, text)); }

TEST(WordPiece, TakesTheLongestTokenFromTheLeft) {
  const Tokenizer tokenizer = make({});
  EXPECT_EQ(tokenize(tokenizer, u"abc unable ab"), (Tokens{"ab", "##c", "un", "##able", "ab"}));
  EXPECT_EQ(tokenize(tokenizer, u"cbc"), (Tokens{"c", "##bc"}));
}

TEST(WordPiece, MakesAWordThatItCannotCoverOneUnknownToken) {
  const Tokenizer tokenizer = make({});
  const Encoding encoding = encode(tokenizer, u"ab abx b");
  EXPECT_EQ(tokens_of(tokenizer, encoding), (Tokens{"ab", "[UNK]", "b"}));
  EXPECT_EQ(encoding.offsets[1], (TextSpan{3, 6}));
}

TEST(WordPiece, MakesAWordOfTooManyCharactersOneUnknownToken) {
  TinyTokenizer tiny;
  tiny.max_input_chars = "3";
  const Tokenizer tokenizer = make(tiny);
  EXPECT_EQ(tokenize(tokenizer, u"aaa aaaa"), (Tokens{"a", "##a", "##a", "[UNK]"}));
  tiny.max_input_chars = "0";
  EXPECT_EQ(tokenize(make(tiny), u"a"), (Tokens{"[UNK]"}));
}

TEST(WordPiece, FindsATokenThatIsWrittenWithThePrefixAtTheStartOfAWord) {
  TinyTokenizer tiny;
  tiny.pre_tokenizer = R"({"type": "WhitespaceSplit"})";
  EXPECT_EQ(tokenize(make(tiny), u"##able"), (Tokens{"##able"}));
}

TEST(WordPiece, GivesWordIdsAndOffsetsOfTheOriginal) {
  const Tokenizer tokenizer = make({.normalizer = test::kBertNormalizer, .post_processor = test::kBertTemplate});
  const std::u16string text = u" Ábc,\U0001F600 A\u0301";
  const Encoding encoding = encode(tokenizer, text);
  EXPECT_EQ(tokens_of(tokenizer, encoding), (Tokens{"[CLS]", "ab", "##c", ",", "[UNK]", "a", "[SEP]"}));
  EXPECT_EQ(slices_of(text, encoding), (std::vector<std::u16string>{u"", u"Áb", u"c", u",", u"\U0001F600", u"A", u""}));
  EXPECT_EQ(encoding.word_ids, (std::vector<std::int32_t>{-1, 0, 0, 1, 2, 3, -1}));
  EXPECT_EQ(encoding.sequence_ids, (std::vector<std::int32_t>{-1, 0, 0, 0, 0, 0, -1}));
  EXPECT_EQ(encoding.special_tokens_mask, (std::vector<std::uint8_t>{1, 0, 0, 0, 0, 0, 1}));
  EXPECT_EQ(encoding.num_tokens_untruncated, 7);
  EXPECT_FALSE(encoding.truncated());
}

TEST(WordPiece, ReadsModelsWithoutATypeFromOldFiles) {
  TinyTokenizer tiny;
  tiny.model =
      R"({"unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100, "vocab": {"[UNK]": 0, "a": 1}})";
  EXPECT_EQ(tokenize(make(tiny), u"a b"), (Tokens{"a", "[UNK]"}));
}

TEST(WordPiece, SupportsGapsBetweenIds) {
  TinyTokenizer tiny;
  tiny.model = R"({"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100,
                   "vocab": {"a": 7, "[UNK]": 3, "": 5}})";
  const Tokenizer tokenizer = make(tiny);
  EXPECT_EQ(encode(tokenizer, u"a x").ids, (std::vector<std::int32_t>{7, 3}));
  EXPECT_EQ(tokenizer.vocab_size(), 3);
  EXPECT_EQ(tokenizer.num_ids(), 8);
  EXPECT_EQ(tokenizer.token_to_id("a"), 7);
  EXPECT_EQ(tokenizer.token_to_id(""), 5);
  EXPECT_EQ(tokenizer.token_to_id("b"), std::nullopt);
  EXPECT_EQ(tokenizer.id_to_token(7), "a");
  for (const std::int32_t id : {-1, 0, 4, 8, INT32_MAX, INT32_MIN}) EXPECT_EQ(tokenizer.id_to_token(id), "");
}

TEST(PostProcessor, TemplatesMayReorderAndRepeatTypes) {
  TinyTokenizer tiny;
  tiny.post_processor = R"({"type": "TemplateProcessing", "single": [{"Sequence": {"id": "A", "type_id": 3}}],
    "pair": [{"Sequence": {"id": "B", "type_id": 1}}, {"SpecialToken": {"id": "x", "type_id": 2}}, {"Sequence": {"id": "A", "type_id": 0}}],
    "special_tokens": {"x": {"id": "x", "ids": [1, 2], "tokens": ["[CLS]", "[SEP]"]}}})";
  const Tokenizer tokenizer = make(tiny);
  EXPECT_EQ(encode(tokenizer, u"a").type_ids, (std::vector<std::int32_t>{3}));
  const Encoding pair = tokenizer.encode_pair(u"a", u"b c", {}).value();
  EXPECT_EQ(tokens_of(tokenizer, pair), (Tokens{"b", "c", "[CLS]", "[SEP]", "a"}));
  EXPECT_EQ(pair.type_ids, (std::vector<std::int32_t>{1, 1, 2, 2, 0}));
  EXPECT_EQ(pair.sequence_ids, (std::vector<std::int32_t>{1, 1, -1, -1, 0}));
  EXPECT_EQ(tokenizer.num_special_tokens(false), 0);
  EXPECT_EQ(tokenizer.num_special_tokens(true), 2);
}

TEST(PostProcessor, BertProcessingIsTheBertTemplate) {
  TinyTokenizer tiny;
  tiny.post_processor = R"({"type": "BertProcessing", "sep": ["[SEP]", 2], "cls": ["[CLS]", 1]})";
  const Tokenizer old_form = make(tiny);
  tiny.post_processor = test::kBertTemplate;
  const Tokenizer new_form = make(tiny);
  for (const bool special : {true, false}) {
    EncodeOptions options;
    options.add_special_tokens = special;
    const Encoding one = old_form.encode_pair(u"a b", u"c", options).value(),
                   two = new_form.encode_pair(u"a b", u"c", options).value();
    EXPECT_EQ(one.ids, two.ids);
    EXPECT_EQ(one.type_ids, two.type_ids);
    EXPECT_EQ(encode(old_form, u"a", options).ids, encode(new_form, u"a", options).ids);
    EXPECT_EQ(one.type_ids, special ? (std::vector<std::int32_t>{0, 0, 0, 0, 1, 1}) : (std::vector<std::int32_t>{0, 0, 1}));
  }
}

TEST(PostProcessor, WithoutOneTextsAreConcatenated) {
  const Tokenizer tokenizer = make({});
  const Encoding pair = tokenizer.encode_pair(u"a", u"b", {}).value();
  EXPECT_EQ(tokens_of(tokenizer, pair), (Tokens{"a", "b"}));
  EXPECT_EQ(pair.type_ids, (std::vector<std::int32_t>{0, 1}));
}

TEST(Tokenizer, ReadsTheLimitsOfItsFiles) {
  const std::string json = TinyTokenizer{}.json();
  const auto max_length = [&](const std::string& value) {
    return test::load_text(json, R"({"model_max_length": )" + value + "}").value().model_max_length();
  };
  EXPECT_EQ(max_length("512"), 512);
  EXPECT_EQ(max_length("1000000000000000019884624838656"), std::nullopt);
  EXPECT_EQ(max_length("1e30"), std::nullopt);
  EXPECT_EQ(test::load_text(json).value().model_max_length(), std::nullopt);
  EXPECT_EQ(test::load_text(json).value().truncation_max_length(), std::nullopt);
  std::string truncated = json;
  truncated.replace(truncated.find(R"("truncation": null)"), 18,
                    R"("truncation": {"direction": "Right", "max_length": 128, "strategy": "LongestFirst", "stride": 0})");
  EXPECT_EQ(test::load_text(truncated).value().truncation_max_length(), 128);
}

TEST(Tokenizer, OutlivesTheDocumentsItWasReadFrom) {
  Result<Tokenizer> tokenizer =
      test::load_text(TinyTokenizer{.decoder = test::kWordPieceDecoder, .added = {test::added_token_json("<x>")}}.json());
  Tokenizer moved = std::move(tokenizer).value();
  EXPECT_EQ(tokenize(moved, u"ab<x>c"), (Tokens{"ab", "<x>", "c"}));
}

}  // namespace
}  // namespace wattn
