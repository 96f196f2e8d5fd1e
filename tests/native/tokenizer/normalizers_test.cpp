// Normalizers: the new text, and the span in the original of every new character.
#include "tokenizer/normalizers/normalizer.h"

#include <gtest/gtest.h>

#include "native/tokenizer/tiny_tokenizer.h"

namespace wattn {
namespace {

struct Normalized {
  std::string text;
  std::vector<TextSpan> spans;
};

Normalized normalize(const std::string& json, std::u16string_view text) {
  const Result<Json> parsed = Json::parse(json, "tokenizer.json");
  Result<std::unique_ptr<Normalizer>> normalizer = read_normalizer(parsed.value().root());
  if (!normalizer.ok()) {
    ADD_FAILURE() << normalizer.error().message;
    return {};
  }
  NormalizedText result = read_utf16(text);
  normalizer.value()->normalize(result);
  EXPECT_EQ(result.chars.size(), result.spans.size());
  return {to_utf8(result.chars), result.spans};
}

using Spans = std::vector<TextSpan>;

// Each would make a longer text than is allowed here.
TEST(Normalizers, MarkATextThatGrowsTooLong) {
  const std::string twice = R"({"type": "Replace", "pattern": {"String": "a"}, "content": "aa"})";
  const std::string rows[] = {twice,
                              R"({"type": "Replace", "pattern": {"Regex": "b?"}, "content": "xxxx"})",
                              R"({"type": "Prepend", "prepend": "123456"})",
                              R"({"type": "NFKD"})",
                              R"({"type": "ByteLevel"})",
                              R"({"type": "Sequence", "normalizers": [)" + twice + "," + twice + "," + twice + "]}",
                              R"({"type": "SentencePiece", "add_dummy_prefix": true, "remove_extra_whitespaces": false,
                                  "precompiled_charsmap": null, "user_defined": []})"};
  for (const std::string& row : rows) {
    const Result<Json> json = Json::parse(row, "tokenizer.json");
    const auto normalizer = read_normalizer(json.value().root());
    ASSERT_TRUE(normalizer.ok()) << normalizer.error().message;
    NormalizedText text = read_utf16(u"aaa\uFDFA");
    text.most = 4;
    normalizer.value()->normalize(text);
    EXPECT_TRUE(text.is_too_long) << row;
    EXPECT_LE(text.size(), 4u) << row;
    EXPECT_EQ(text.chars.size(), text.spans.size());
    text = read_utf16(u"aaa\uFDFA");
    text.most = 64;
    normalizer.value()->normalize(text);
    EXPECT_FALSE(text.is_too_long) << row;
  }
}

TEST(BertNormalizer, LowercasesAndStripsAccents) {
  const Normalized result = normalize(test::kBertNormalizer, u"Ünï");
  EXPECT_EQ(result.text, "uni");
  EXPECT_EQ(result.spans, (Spans{{0, 1}, {1, 2}, {2, 3}}));
}

TEST(BertNormalizer, RemovesControlsBeforeItReplacesWhitespace) {
  // U+000B and U+0085 are whitespace but are removed first; TAB and NO-BREAK SPACE become spaces.
  const Normalized result = normalize(test::kBertNormalizer, u"a\u000b\u0085\tb\u00a0\u200bc");
  EXPECT_EQ(result.text, "a b c");
  EXPECT_EQ(result.spans, (Spans{{0, 1}, {3, 4}, {4, 5}, {5, 6}, {7, 8}}));
}

TEST(BertNormalizer, PutsSpacesAroundChineseCharactersWithTheirSpan) {
  const Normalized result = normalize(test::kBertNormalizer, u"a\u4e2db");
  EXPECT_EQ(result.text, "a \u4e2d b");
  EXPECT_EQ(result.spans, (Spans{{0, 1}, {1, 2}, {1, 2}, {1, 2}, {2, 3}}));
}

TEST(BertNormalizer, CountsInUtf16Units) {
  const Normalized result = normalize(test::kBertNormalizer, u"\U00020000\U0001F600x");
  EXPECT_EQ(result.text, " \U00020000 \U0001F600x");
  EXPECT_EQ(result.spans, (Spans{{0, 2}, {0, 2}, {0, 2}, {2, 4}, {4, 5}}));
}

TEST(BertNormalizer, ReadsLoneSurrogatesAsReplacementCharactersAndRemovesThem) {
  EXPECT_EQ(normalize(test::kBertNormalizer, std::u16string{u'a', char16_t(0xD800), u'b', char16_t(0xDC00)}).text, "ab");
}

TEST(BertNormalizer, StripAccentsNullFollowsLowercase) {
  const std::string start = R"({"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, )";
  EXPECT_EQ(normalize(start + R"("strip_accents": null, "lowercase": false})", u"É").text, "É");
  EXPECT_EQ(normalize(start + R"("strip_accents": null, "lowercase": true})", u"É").text, "e");
  EXPECT_EQ(normalize(start + R"("strip_accents": false, "lowercase": true})", u"É").text, "é");
  EXPECT_EQ(normalize(start + R"("strip_accents": true, "lowercase": false})", u"É").text, "E");
  EXPECT_EQ(normalize(start + R"("lowercase": true})", u"É").text, "e");  // absent is null
}

TEST(BertNormalizer, LowercasesTheResultsOfDecomposition) {
  EXPECT_EQ(normalize(test::kBertNormalizer, u"\u01C4\u1E9E\u0130").text, "\u01C6\u00DFi");  // no compatibility forms
}

TEST(BertNormalizer, IsReplacedForTokenizerClassesOfTheBertFamily) {  // as in transformers
  test::TinyTokenizer tiny;
  tiny.normalizer =
      R"({"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "strip_accents": null, "lowercase": false})";
  tiny.vocab = {"[UNK]", "É", "é", "e", "[CLS]", "[SEP]", "<s>", "</s>"};
  const auto token = [&](const std::string& config) {
    const Result<Tokenizer> tokenizer = test::load_text(tiny.json(), config);
    EXPECT_TRUE(tokenizer.ok()) << tokenizer.error().message;
    return std::string(tokenizer.value().id_to_token(tokenizer.value().encode(u"É", {.add_special_tokens = false}).value().ids[0]));
  };
  EXPECT_EQ(token("{}"), "É");
  EXPECT_EQ(token(R"({"tokenizer_class": "PreTrainedTokenizerFast", "do_lower_case": true})"), "É");
  EXPECT_EQ(token(R"({"tokenizer_class": "BertTokenizer"})"), "e");
  EXPECT_EQ(token(R"({"tokenizer_class": "MPNetTokenizerFast", "do_lower_case": true, "strip_accents": false})"), "é");
  EXPECT_EQ(token(R"({"tokenizer_class": "DistilBertTokenizer", "do_lower_case": false})"), "É");
  EXPECT_FALSE(test::load_text(tiny.json(), R"({"tokenizer_class": "BertTokenizer", "do_lower_case": "no"})").ok());
}

TEST(Lowercase, SplitsTheDottedI) {
  const Normalized result = normalize(R"({"type": "Lowercase"})", u"xİΣ");
  EXPECT_EQ(result.text, "xi\u0307σ");  // without final sigma
  EXPECT_EQ(result.spans, (Spans{{0, 1}, {1, 2}, {1, 2}, {2, 3}}));
}

TEST(NormalForms, DecomposedPartsShareTheSpan) {
  const Normalized result = normalize(R"({"type": "NFD"})", u"ế");
  EXPECT_EQ(result.text, "e\u0302\u0301");
  EXPECT_EQ(result.spans, (Spans{{0, 1}, {0, 1}, {0, 1}}));
}

TEST(NormalForms, ComposedCharactersSpanOnlyTheirFirstPart) {  // as in the reference
  const Normalized result = normalize(R"({"type": "NFC"})", u"e\u0301x");
  EXPECT_EQ(result.text, "éx");
  EXPECT_EQ(result.spans, (Spans{{0, 1}, {2, 3}}));
}

TEST(NormalForms, ReorderedMarksHaveTheSpansOfTheirNewPositions) {  // as in the reference
  const Normalized result = normalize(R"({"type": "NFD"})", u"é\u0316");
  EXPECT_EQ(result.text, "e\u0316\u0301");
  EXPECT_EQ(result.spans, (Spans{{0, 1}, {1, 2}, {1, 2}}));
}

TEST(NormalForms, CompatibilityFormsExpandLigatures) {
  EXPECT_EQ(normalize(R"({"type": "NFKC"})", u"ﬁ①").text, "fi1");
  EXPECT_EQ(normalize(R"({"type": "NFKD"})", u"\uFDFA").text.size(), 33u);
}

TEST(StripAccents, DropsAllMarksWithoutDecomposing) {
  EXPECT_EQ(normalize(R"({"type": "StripAccents"})", u"e\u0301é\u0903").text, "eé");
}

TEST(Strip, RemovesWhitespaceFromEitherEnd) {
  EXPECT_EQ(normalize(R"({"type": "Strip", "strip_left": true, "strip_right": false})", u" \ta \u3000").text, "a \u3000");
  EXPECT_EQ(normalize(R"({"type": "Strip", "strip_left": false, "strip_right": true})", u" \ta \u3000").text, " \ta");
  EXPECT_EQ(normalize(R"({"type": "Strip", "strip_left": true, "strip_right": true})", u" \u2003").text, "");
}

TEST(Prepend, SharesTheSpanOfTheFirstCharacterAndLeavesEmptyTextsEmpty) {
  const Normalized result = normalize(R"({"type": "Prepend", "prepend": "\u2581"})", u"ab");
  EXPECT_EQ(result.text, "▁ab");
  EXPECT_EQ(result.spans, (Spans{{0, 1}, {0, 1}, {1, 2}}));
  EXPECT_EQ(normalize(R"({"type": "Prepend", "prepend": "\u2581"})", u"").text, "");
}

TEST(Replace, HasTheSpanOfTheLastReplacedCharacter) {
  const Normalized result = normalize(R"({"type": "Replace", "pattern": {"String": "``"}, "content": "<>"})", u"x``y```");
  EXPECT_EQ(result.text, "x<>y<>`");
  EXPECT_EQ(result.spans, (Spans{{0, 1}, {2, 3}, {2, 3}, {3, 4}, {5, 6}, {5, 6}, {6, 7}}));
}

TEST(NormalizerSequence, RunsInOrder) {
  const std::string json =
      R"({"type": "Sequence", "normalizers": [{"type": "NFD"}, {"type": "StripAccents"}, {"type": "Lowercase"}]})";
  EXPECT_EQ(normalize(json, u"ÀÉ").text, "ae");
  EXPECT_EQ(normalize(R"({"type": "Sequence", "normalizers": []})", u"ÀÉ").text, "ÀÉ");
}

}  // namespace
}  // namespace wattn
