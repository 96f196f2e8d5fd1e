// Truncation and windows: what remains, what overflows, and which options are rejected.
#include <gtest/gtest.h>

#include "native/tokenizer/tiny_tokenizer.h"

namespace wattn {
namespace {

using test::encode;
using test::make;
using test::Tokens;
using test::tokens_of;

Tokenizer letters() {
  test::TinyTokenizer tiny;
  tiny.vocab = {"[UNK]", "[CLS]", "[SEP]"};
  for (char c = 'a'; c <= 'z'; ++c) tiny.vocab.emplace_back(1, c);
  tiny.post_processor = test::kBertTemplate;
  return make(tiny);
}

std::string joined(const Tokenizer& tokenizer, const Encoding& encoding) {
  std::string out;
  for (const std::string& token : tokens_of(tokenizer, encoding)) out += token == "[CLS]" ? "^" : token == "[SEP]" ? "$" : token;
  return out;
}

std::vector<std::string> windows(const Tokenizer& tokenizer, const Encoding& encoding) {
  std::vector<std::string> out = {joined(tokenizer, encoding)};
  for (const Encoding& window : encoding.overflowing) out.push_back(joined(tokenizer, window));
  return out;
}

EncodeOptions limit(std::int32_t max_length) {
  EncodeOptions options;
  options.max_length = max_length;
  return options;
}

TEST(Truncation, KeepsTheSpecialTokens) {
  const Tokenizer tokenizer = letters();
  for (std::int32_t max_length = 2; max_length < 9; ++max_length) {
    const Encoding encoding = encode(tokenizer, u"a b c d e", limit(max_length));
    EXPECT_EQ(joined(tokenizer, encoding), "^" + std::string("abcde").substr(0, static_cast<std::size_t>(max_length) - 2) + "$");
    EXPECT_EQ(encoding.num_tokens_untruncated, 7);
    EXPECT_EQ(encoding.truncated(), max_length < 7);
    EXPECT_TRUE(encoding.overflowing.empty());
  }
}

TEST(Truncation, MayTruncateOnTheLeft) {
  const Tokenizer tokenizer = letters();
  EncodeOptions options = limit(5);
  options.truncation_side = Side::kLeft;
  const Encoding encoding = encode(tokenizer, u"a b c d e", options);
  EXPECT_EQ(joined(tokenizer, encoding), "^cde$");
  EXPECT_EQ(encoding.word_ids, (std::vector<std::int32_t>{-1, 2, 3, 4, -1}));
  EXPECT_EQ(encoding.offsets[1], (TextSpan{4, 5}));
}

TEST(Truncation, NeedsRoomForTheSpecialTokens) {
  const Tokenizer tokenizer = letters();
  for (const std::int32_t max_length : {INT32_MIN, -1, 0, 1}) {
    const Result<Encoding> encoding = tokenizer.encode(u"a b", limit(max_length));
    ASSERT_FALSE(encoding.ok());
    EXPECT_EQ(encoding.error().code, ErrorCode::kInput);
    EXPECT_NE(encoding.error().message.find("max_length"), std::string::npos);
  }
  EncodeOptions options = limit(0);
  options.add_special_tokens = false;
  EXPECT_EQ(joined(tokenizer, encode(tokenizer, u"a b", options)), "");
  options.max_length = 1;
  EXPECT_EQ(joined(tokenizer, encode(tokenizer, u"a b", options)), "a");
}

TEST(Truncation, WindowsOverlapAndCoverTheText) {
  const Tokenizer tokenizer = letters();
  EncodeOptions options = limit(6);
  options.return_overflowing = true;
  EXPECT_EQ(windows(tokenizer, encode(tokenizer, u"a b c d e f g h i", options)),
            (std::vector<std::string>{"^abcd$", "^efgh$", "^i$"}));
  options.overlap = 2;
  const Encoding right = encode(tokenizer, u"a b c d e f g h i", options);
  EXPECT_EQ(windows(tokenizer, right), (std::vector<std::string>{"^abcd$", "^cdef$", "^efgh$", "^ghi$"}));
  EXPECT_EQ(right.overflowing[0].offsets[1], (TextSpan{4, 5}));
  options.truncation_side = Side::kLeft;
  EXPECT_EQ(windows(tokenizer, encode(tokenizer, u"a b c d e f g h i", options)),
            (std::vector<std::string>{"^fghi$", "^defg$", "^bcde$", "^abc$"}));
  EXPECT_EQ(windows(tokenizer, encode(tokenizer, u"a b c d", options)), (std::vector<std::string>{"^abcd$"}));
}

TEST(Truncation, OverlapMustLeaveRoomToMove) {
  const Tokenizer tokenizer = letters();
  EncodeOptions options = limit(6);
  options.return_overflowing = true;
  for (const std::int32_t overlap : {-1, 4, 5, INT32_MAX}) {
    options.overlap = overlap;
    const Result<Encoding> encoding = tokenizer.encode(u"a", options);
    ASSERT_FALSE(encoding.ok()) << overlap;
    EXPECT_EQ(encoding.error().code, ErrorCode::kInput);
  }
  options.overlap = 3;
  EXPECT_TRUE(tokenizer.encode(u"a", options).ok());
}

TEST(Truncation, LongestFirstShortensTheLongerText) {
  const Tokenizer tokenizer = letters();
  const auto pair = [&](std::int32_t max_length, std::u16string_view first, std::u16string_view second) {
    return joined(tokenizer, tokenizer.encode_pair(first, second, limit(max_length)).value());
  };
  EXPECT_EQ(pair(8, u"a b c d e f", u"x"), "^abcd$x$");
  EXPECT_EQ(pair(8, u"a", u"u v w x y z"), "^a$uvwx$");
  EXPECT_EQ(pair(8, u"a b c d", u"w x y z"), "^ab$wxy$");
  EXPECT_EQ(pair(8, u"a b c d e", u"w x y z"), "^abc$wx$");
  EXPECT_EQ(pair(4, u"a b", u"y z"), "^$y$");
  EXPECT_EQ(pair(3, u"a b", u"y z"), "^$$");
  EXPECT_EQ(pair(9, u"a b c", u"x y z"), "^abc$xyz$");
}

TEST(Truncation, OnlyFirstAndOnlySecondKeepTheOtherText) {
  const Tokenizer tokenizer = letters();
  EncodeOptions options = limit(7);
  options.strategy = TruncationStrategy::kOnlyFirst;
  EXPECT_EQ(joined(tokenizer, tokenizer.encode_pair(u"a b c d", u"x y", options).value()), "^ab$xy$");
  options.strategy = TruncationStrategy::kOnlySecond;
  EXPECT_EQ(joined(tokenizer, tokenizer.encode_pair(u"a b", u"w x y z", options).value()), "^ab$wx$");
  for (const auto& [first, second] : {std::pair(u"a b c d", u"x"), std::pair(u"a b c d e", u"x y z")}) {
    const Result<Encoding> encoding = tokenizer.encode_pair(first, second, options);
    ASSERT_FALSE(encoding.ok());
    EXPECT_EQ(encoding.error().code, ErrorCode::kInput);
  }
  EXPECT_FALSE(tokenizer.encode(u"a b c d e f", options).ok());  // there is no second text
  EXPECT_TRUE(tokenizer.encode(u"a b c d e", options).ok());     // and none is needed
}

TEST(Truncation, QuestionAndParagraphGiveOneWindowPerPartOfTheParagraph) {
  const Tokenizer tokenizer = letters();
  EncodeOptions options = limit(8);
  options.strategy = TruncationStrategy::kOnlySecond;
  options.return_overflowing = true;
  options.overlap = 1;
  const Encoding encoding = tokenizer.encode_pair(u"q r", u"a b c d e f", options).value();
  EXPECT_EQ(windows(tokenizer, encoding), (std::vector<std::string>{"^qr$abc$", "^qr$cde$", "^qr$ef$"}));
  EXPECT_EQ(encoding.overflowing[0].type_ids, (std::vector<std::int32_t>{0, 0, 0, 0, 1, 1, 1, 1}));
  EXPECT_EQ(encoding.overflowing[0].sequence_ids, (std::vector<std::int32_t>{-1, 0, 0, -1, 1, 1, 1, -1}));
  EXPECT_EQ(encoding.overflowing[1].num_tokens_untruncated, 11);
}

TEST(Truncation, TwoTruncatedTextsGiveEveryPairOfTheirWindows) {
  const Tokenizer tokenizer = letters();
  EncodeOptions options = limit(7);
  options.return_overflowing = true;
  EXPECT_EQ(windows(tokenizer, tokenizer.encode_pair(u"a b c", u"x y z", options).value()),
            (std::vector<std::string>{"^ab$xy$", "^c$xy$", "^c$z$", "^ab$z$"}));
}

TEST(Truncation, ATextWithoutRoomHasNoWindows) {  // the reference would return windows longer than max_length
  const Tokenizer tokenizer = letters();
  EncodeOptions options = limit(4);
  options.return_overflowing = true;
  const Result<Encoding> encoding = tokenizer.encode_pair(u"a b", u"x y", options);
  ASSERT_FALSE(encoding.ok());
  EXPECT_EQ(encoding.error().code, ErrorCode::kInput);
}

}  // namespace
}  // namespace wattn
