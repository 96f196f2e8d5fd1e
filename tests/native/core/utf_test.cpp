#include "core/utf.h"

#include <gtest/gtest.h>

namespace wattn {
namespace {

constexpr char32_t kBad = kReplacementCharacter;

TEST(Utf, EveryCodePointSurvivesUtf8AndUtf16) {
  for (char32_t c = 0; c < 0x110000; ++c) {
    if (c >= 0xD800 && c <= 0xDFFF) continue;
    std::string utf8;
    append_utf8(c, utf8);
    ASSERT_EQ(utf8.size(), c < 0x80 ? 1u : c < 0x800 ? 2u : c < 0x10000 ? 3u : 4u);
    ASSERT_EQ(to_utf32(utf8), std::u32string(1, c));
    const std::u16string utf16 = to_utf16(utf8);
    ASSERT_EQ(utf16.size(), c < 0x10000 ? 1u : 2u);
    ASSERT_EQ(to_utf8(utf16), utf8);
    std::size_t position = 0;
    ASSERT_EQ(next_code_point(utf16, position), c);
    ASSERT_EQ(position, utf16.size());
  }
}

TEST(Utf, LoneSurrogatesAreReplacementCharactersOfOneUnit) {
  const std::u16string text = {char16_t(0xDC00), u'a', char16_t(0xD800), char16_t(0xD83D), char16_t(0xDE00), char16_t(0xDBFF)};
  std::u32string read;
  for (std::size_t position = 0; position < text.size();) read.push_back(next_code_point(text, position));
  EXPECT_EQ(read, (std::u32string{kBad, U'a', kBad, 0x1F600, kBad}));
  EXPECT_EQ(to_utf8(text),
            "\xEF\xBF\xBD"
            "a"
            "\xEF\xBF\xBD"
            "\xF0\x9F\x98\x80"
            "\xEF\xBF\xBD");
}

TEST(Utf, InvalidUtf8IsOneReplacementCharacterPerByte) {
  const std::pair<std::string, std::u32string> cases[] = {
      {"\x80", {kBad}},                      // a continuation byte without a lead byte
      {"\xC3", {kBad}},                      // truncated
      {"\xE2\x82", {kBad, kBad}},            // truncated
      {"\xC0\x80", {kBad, kBad}},            // overlong NUL
      {"\xE0\x80\xAF", {kBad, kBad, kBad}},  // overlong slash
      {"\xF0\x80\x80\x80", {kBad, kBad, kBad, kBad}},
      {"\xED\xA0\x80", {kBad, kBad, kBad}},            // a surrogate
      {"\xF4\x90\x80\x80", {kBad, kBad, kBad, kBad}},  // past U+10FFFF
      {"\xFF\xFE", {kBad, kBad}},
      {"a\xE2\x28\xA1z", {U'a', kBad, U'(', kBad, U'z'}},
      {"\xF0\x9F\x98\x80", {0x1F600}},
      {std::string("\0x", 2), {U'\0', U'x'}},
  };
  for (const auto& [bytes, expected] : cases) {
    EXPECT_EQ(to_utf32(bytes), expected);
    EXPECT_EQ(is_utf8(bytes), expected.find(kBad) == std::u32string::npos);
  }
  EXPECT_TRUE(is_utf8("a \xEF\xBF\xBD that stands there"));
}

TEST(Utf, EveryTwoBytesAreReadWithinBounds) {
  for (int first = 0; first < 256; ++first) {
    for (int second = 0; second < 256; ++second) {
      const std::string bytes = {static_cast<char>(first), static_cast<char>(second)};
      std::size_t position = 0;
      for (int steps = 0; position < bytes.size(); ++steps) {
        const std::size_t before = position;
        const char32_t c = next_code_point(bytes, position);
        ASSERT_GT(position, before);
        ASSERT_LE(position, bytes.size());
        ASSERT_LE(c, 0x10FFFFu);
        ASSERT_LT(steps, 2);
      }
    }
  }
}

// As Python's errors="replace": the longest beginning of a character is replaced as one.
TEST(Utf, BeginningsOfCharactersAreReplacedAsOne) {
  const std::string bad = "\xEF\xBF\xBD";
  const std::pair<std::string, std::string> rows[] = {{"a\xC3", "a" + bad},
                                                      {"\xE2\x82z", bad + "z"},
                                                      {"\xE2\x82", bad},
                                                      {"\xF0\x9F\x98z", bad + "z"},
                                                      {"\xF0\x9Fz", bad + "z"},
                                                      {"\xF0z", bad + "z"},
                                                      {"\xE0\x80", bad + bad},  // below U+0800
                                                      {"\xE0\xA0", bad},
                                                      {"\xED\xA0", bad + bad},  // a surrogate
                                                      {"\xED\x9F", bad},
                                                      {"\xF0\x80", bad + bad},  // below U+10000
                                                      {"\xF0\x90", bad},
                                                      {"\xF4\x90", bad + bad},  // beyond U+10FFFF
                                                      {"\xF4\x8F", bad},
                                                      {"\xF5\x80", bad + bad},
                                                      {"\xC1\x80", bad + bad},
                                                      {"\x80", bad},
                                                      {bad, bad}};
  for (const auto& [bytes, want] : rows) EXPECT_EQ(replace_invalid_utf8(bytes), want);
}

TEST(Utf, EmptyTextsStayEmpty) {
  EXPECT_EQ(to_utf32(""), U"");
  EXPECT_EQ(to_utf16(""), u"");
  EXPECT_EQ(to_utf8(std::u16string_view()), "");
  EXPECT_EQ(to_utf8(std::u32string_view()), "");
}

}  // namespace
}  // namespace wattn
