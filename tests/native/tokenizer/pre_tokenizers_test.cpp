// Pre-tokenizers: where a text is split.
#include "tokenizer/pre_tokenizers/pre_tokenizer.h"

#include <gtest/gtest.h>

#include "native/tokenizer/tiny_tokenizer.h"

namespace wattn {
namespace {

using test::Tokens;

Tokens cut(const std::string& json, std::u16string_view text) {
  const Result<Json> parsed = Json::parse(json, "tokenizer.json");
  Result<std::unique_ptr<PreTokenizer>> pre_tokenizer = read_pre_tokenizer(parsed.value().root());
  if (!pre_tokenizer.ok()) {
    ADD_FAILURE() << pre_tokenizer.error().message;
    return {};
  }
  PreTokenizedText result;
  result.text = read_utf16(text);
  if (!text.empty()) result.splits.push_back({0, static_cast<std::uint32_t>(result.text.size())});
  pre_tokenizer.value()->pre_tokenize(result);
  Tokens out;
  for (const Split& split : result.splits) {
    EXPECT_LT(split.begin, split.end);
    out.push_back(to_utf8(result.chars_of(split)));
  }
  return out;
}

TEST(PreTokenizers, MarkATextThatGrowsTooLong) {
  const std::string mark = R"({"type": "Metaspace", "replacement": "_", "prepend_scheme": "always"})";
  const std::string bytes = R"({"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true})";
  for (const std::string& row : {mark, bytes, R"({"type": "Sequence", "pretokenizers": [)" + bytes + "," + mark + "]}"}) {
    const Result<Json> json = Json::parse(row, "tokenizer.json");
    PreTokenizedText text;
    text.text = read_utf16(u"aéaé");
    text.text.most = 4;
    text.splits = {{0, 4}};
    read_pre_tokenizer(json.value().root()).value()->pre_tokenize(text);
    EXPECT_TRUE(text.text.is_too_long) << row;
    EXPECT_LE(text.text.size(), 4u);
    EXPECT_TRUE(text.splits.empty());
  }
}

TEST(BertPreTokenizer, DropsWhitespaceAndIsolatesPunctuation) {
  EXPECT_EQ(cut(R"({"type": "BertPreTokenizer"})", u"Hey friend!     How's  it?!?"),
            (Tokens{"Hey", "friend", "!", "How", "'", "s", "it", "?", "!", "?"}));
  EXPECT_EQ(cut(R"({"type": "BertPreTokenizer"})", u"野\u3000口。$x"), (Tokens{"野", "口", "。", "$", "x"}));
  EXPECT_EQ(cut(R"({"type": "BertPreTokenizer"})", u" \t\n"), Tokens{});
  EXPECT_EQ(cut(R"({"type": "BertPreTokenizer"})", u""), Tokens{});
}

TEST(WhitespaceSplit, SplitsOnlyAtWhitespace) {
  EXPECT_EQ(cut(R"({"type": "WhitespaceSplit"})", u" a-b  c\u2028d "), (Tokens{"a-b", "c", "d"}));
}

TEST(Whitespace, KeepsWordsAndRunsOfOtherCharacters) {
  EXPECT_EQ(cut(R"({"type": "Whitespace"})", u"it's_a test--yes ²"), (Tokens{"it", "'", "s_a", "test", "--", "yes", "²"}));
}

TEST(Digits, AreGroupedOrIndividual) {
  EXPECT_EQ(cut(R"({"type": "Digits", "individual_digits": false})", u"a123b4²"), (Tokens{"a", "123", "b", "4²"}));
  EXPECT_EQ(cut(R"({"type": "Digits", "individual_digits": true})", u"a123b"), (Tokens{"a", "1", "2", "3", "b"}));
}

TEST(Punctuation, HasFiveBehaviors) {
  const auto behave = [](const std::string& behavior) {
    return cut(R"({"type": "Punctuation", "behavior": ")" + behavior + "\"}", u"the-final--countdown");
  };
  EXPECT_EQ(behave("Removed"), (Tokens{"the", "final", "countdown"}));
  EXPECT_EQ(behave("Isolated"), (Tokens{"the", "-", "final", "-", "-", "countdown"}));
  EXPECT_EQ(behave("MergedWithPrevious"), (Tokens{"the-", "final-", "-", "countdown"}));
  EXPECT_EQ(behave("MergedWithNext"), (Tokens{"the", "-final", "-", "-countdown"}));
  EXPECT_EQ(behave("Contiguous"), (Tokens{"the", "-", "final", "--", "countdown"}));
  EXPECT_EQ(cut(R"({"type": "Punctuation"})", u"a-b"), (Tokens{"a", "-", "b"}));
}

TEST(PreTokenizerSequence, SplitsPiecesFurther) {
  const std::string json = R"({"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"},
    {"type": "Digits", "individual_digits": true}]})";
  EXPECT_EQ(cut(json, u"a1 22"), (Tokens{"a", "1", "2", "2"}));
}

}  // namespace
}  // namespace wattn
