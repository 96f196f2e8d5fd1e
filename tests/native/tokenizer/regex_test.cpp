// Regular expressions: matches as in Oniguruma, errors, and time.
#include "tokenizer/regex/regex.h"

#include <gtest/gtest.h>

#include "core/utf.h"
#include "native/tokenizer/linear_time.h"

namespace wattn {
namespace {

// All matches, separated by |.
std::string matches(std::string_view pattern, std::string_view text) {
  const Result<Regex> regex = Regex::compile(to_utf32(pattern));
  if (!regex.ok()) return regex.error().message;
  const std::u32string chars = to_utf32(text);
  std::vector<TextMatch> found;
  regex.value().find_all(chars, found);
  std::string out;
  for (const TextMatch& match : found)
    out += (out.empty() ? "" : "|") + to_utf8(chars.substr(match.begin, match.end - match.begin));
  return out;
}

TEST(Regex, TakesTheFirstAlternativeThatMatchesNotTheLongest) {
  EXPECT_EQ(matches("a|ab", "ab"), "a");
  EXPECT_EQ(matches("ab|a", "aab"), "a|ab");
  EXPECT_EQ(matches("(a|ab)(c|bcd)", "abcd"), "abcd");
  EXPECT_EQ(matches("a+?b?", "aab"), "a|ab");
  EXPECT_EQ(matches("a*?b", "aab"), "aab");
}

TEST(Regex, GivesBackCharacters) {
  EXPECT_EQ(matches("a*ab", "aaab"), "aaab");
  EXPECT_EQ(matches(R"(\s+(?!\S)|\s+)", "a   b  "), "  | |  ");
  EXPECT_EQ(matches("a{2,3}a", "aaaa"), "aaaa");
}

TEST(Regex, PossessiveQuantifiersGiveNothingBack) {
  EXPECT_EQ(matches("a++a", "aaa"), "");
  EXPECT_EQ(matches("a*+b", "aab"), "aab");
  EXPECT_EQ(matches("a?+a", "aa"), "aa");
  EXPECT_EQ(matches("a?+a", "a"), "");
  EXPECT_EQ(matches("a{1,2}+a", "aaaa"), "aaaa");  // not possessive: a quantifier on another
}

TEST(Regex, LooksAroundWithoutConsuming) {
  EXPECT_EQ(matches("a(?=b)", "abac"), "a");
  EXPECT_EQ(matches("a(?!bc|d)", "abcabxad"), "a");
  EXPECT_EQ(matches("(?<=a)b", "abb"), "b");
  EXPECT_EQ(matches("(?<!a)b", "abb"), "b");
  EXPECT_EQ(matches(R"(\bab\b)", "ab cab ab"), "ab|ab");
  EXPECT_EQ(matches("^a|b$", "a\nab\n"), "a|a|b");
  EXPECT_EQ(matches(R"(\Aa|b\z)", "a\nab"), "a|b");
  EXPECT_EQ(matches(R"([ab]\Z)", "a\nab\n"), "b");
  EXPECT_EQ(matches(R"([ab]\Z)", "ba"), "a");
}

TEST(Regex, SupportsCharacterClasses) {
  EXPECT_EQ(matches(R"(\p{L}+)", "aé中1_"), "aé中");
  EXPECT_EQ(matches(R"([^\s\p{L}\p{N}]+)", "a.!é ?1"), ".!|?");
  EXPECT_EQ(matches(R"(\p{Han}+|\p{Hiragana}+)", "中文かな"), "中文|かな");
  EXPECT_EQ(matches(R"(\p{^L}+)", "a1b"), "1");
  EXPECT_EQ(matches(R"([a-z&&[^aeiou]]+)", "hello"), "h|ll");
  EXPECT_EQ(matches(R"( ?[^(\s|[.,!?])]+)", "a b. c|d"), "a| b| c|d");
  EXPECT_EQ(matches(R"(\w+)", "a²_\u200D"), "a²_");
  EXPECT_EQ(matches(".+", "a\nb"), "a|b");
  EXPECT_EQ(matches(R"(\x61\x{62}\u0063)", "abc"), "abc");
  EXPECT_EQ(matches(R"(\x4A\x{6a}\u004b)", "JjK"), "JjK");
  EXPECT_EQ(matches(R"(\h+)", "x09aFg"), "09aF");
  EXPECT_EQ(matches(R"(\H+)", "x09aFg"), "x|g");
  EXPECT_EQ(matches(R"(\p{Letter}|\P{Any}|\p{any}\p{Nd})", "a 1"), "a| 1");
  EXPECT_EQ(matches(R"([\b\t]+)", "a\b\tb"), "\b\t");
  EXPECT_EQ(matches("[a-z&&[^b]&&[^c]]+", "abcd"), "a|d");
  EXPECT_EQ(matches("[-a]+|[a-]", "-a"), "-a");
  EXPECT_EQ(matches("a{|b{,}|c{x", "a{b{,}c{x"), "a{|b{,}|c{x");
  EXPECT_EQ(matches("a{,2}b", "aaab"), "aab");
}

TEST(Regex, FoldsTheCaseOfAsciiLettersAsInUnicode) {
  EXPECT_EQ(matches("(?i:'s|'ll)", "'S'\u017F'Ll's"), "'S|'\u017F|'Ll|'s");
  EXPECT_EQ(matches("(?i)k", "kK\u212A"), "k|K|\u212A");
  EXPECT_EQ(matches("(?i:a)b", "ABAb"), "Ab");
  EXPECT_EQ(matches("(?i:a(?-i:b))", "ABAb"), "Ab");
  EXPECT_EQ(matches("(?i)s1s", "S1\u017F"), "S1\u017F");
}

TEST(Regex, FindsEmptyMatchesExceptDirectlyAfterAnother) {
  std::vector<TextMatch> found;
  const Result<Regex> regex = Regex::compile(U"a*");
  regex.value().find_all(U"baac", found);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].end, 0u);
  EXPECT_EQ(found[1].begin, 1u);
  EXPECT_EQ(found[1].end, 3u);
  EXPECT_EQ(found[2].begin, 4u);
}

TEST(Regex, NamesUnsupportedConstructs) {
  const std::pair<const char*, const char*> cases[] = {
      {R"((a)\1)", R"(\1)"},
      {"(?>a)", "the group (?>"},
      {"(?<name>a)", "the group (?<"},
      {"(?<=ab)c", "a lookbehind for anything but one character"},
      {"(ab)++", "a possessive quantifier on anything but one character"},
      {"(a?)*", "repeating something that can be empty"},
      {"a**", "a quantifier without an operand"},
      {R"(\X)", R"(\X)"},
      {R"(\p{Nonsense})", "Nonsense"},
      {"[[:alpha:]]", "POSIX"},
      {"[a", "a class without ]"},
      {"(a", "a group without )"},
      {"a)", "an unmatched )"},
      {"(?i:é)", "beyond ASCII"},
      {"(?i:ss)", "ligature"},
      {"((a{100}){100}){100}", "more than 1000 parts"},
      {"a{1001}", "more than 1000 repeats"},
      {"\\", "a backslash at the end"},
      {R"(\pL)", "\\p without {..}"},
      {R"(\p{L)", "\\p{ without }"},
      {R"(\xg)", "an invalid character number"},
      {R"(\x{110000})", "an invalid character number"},
      {R"(\x{61)", "an invalid character number"},
      {R"(\u12)", "an invalid character number"},
      {"[]a]", "a class that is empty or begins with ]"},
      {"[b-a]", "a range of characters that lacks an end or is out of order"},
      {"[a-[b]]", "a range of characters that lacks an end or is out of order"},
      {R"([a-\w])", "a range of characters that lacks an end or is out of order"},
      {"[a-", "a range of characters that lacks an end or is out of order"},
      {"a{2}{3}", "a quantifier on a quantifier"},
      {"a{2}?", "a lazy {n}"},
      {"a{1,1001}", "more than 1000 repeats"},
      {"a{3,2}", "an interval whose ends are out of order"},
      {"+a", "a quantifier without an operand"},
      {"a|?", "a quantifier without an operand"},
      {"b(?i)a", "(?i) that is not at the beginning"},
      {"(?\u00e9)", "the group (?."},
      {"(?i:ff)", "ligature"},
      {"(?i:fi)", "ligature"},
      {"(?i:fl)", "ligature"},
      {"(?i:st)", "ligature"},
      {"((?:a|){2})*", "repeating something that can be empty"},
  };
  for (const auto& [pattern, expected] : cases) {
    const Result<Regex> regex = Regex::compile(to_utf32(pattern));
    ASSERT_FALSE(regex.ok()) << pattern;
    EXPECT_EQ(regex.error().code, ErrorCode::kUnsupported);
    EXPECT_NE(regex.error().message.find(expected), std::string::npos) << regex.error().message;
  }
}

TEST(Regex, ClassesAreLimited) {
  std::string pattern;
  for (int i = 0; i < 65; ++i)
    pattern += "[a" + std::string(1, static_cast<char>('0' + i % 10)) + static_cast<char>('A' + i / 10) + "]";
  EXPECT_NE(matches(pattern, "").find("more than 64 classes of characters"), std::string::npos);
}

TEST(Regex, TheSameCharacterCountsOnce) {
  std::string text;
  for (int i = 0; i < 70; ++i) text += "ab";
  EXPECT_EQ(matches(text, text), text);
}

TEST(Regex, NestingIsLimited) {
  EXPECT_FALSE(Regex::compile(std::u32string(100000, U'(')).ok());
  EXPECT_FALSE(Regex::compile(std::u32string(100000, U'[')).ok());
}

#if !defined(__EMSCRIPTEN__)  // see linear_time.h
// Patterns on which backtracking takes quadratic or exponential time.
TEST(Regex, TakesLinearTimeOnTheWorstPatterns) {
#if defined(WATTN_SANITIZED)
  constexpr std::size_t kChars = 1 << 14;
#else
  constexpr std::size_t kChars = 1 << 18;
#endif
  for (const char32_t* pattern : {U"(?:a|aa)+b", U"a+$", U"a*a*a*b", U"a*b|a", U"(?:a+a+)+b", U"a(?=a*b)|a{3}"}) {
    const Result<Regex> regex = Regex::compile(pattern);
    ASSERT_TRUE(regex.ok()) << regex.error().message;
    const auto seconds_for = [&](std::size_t chars) {
      const std::u32string text = std::u32string(chars, U'a') + U"c";
      std::vector<TextMatch> found;
      return test::seconds([&] { regex.value().find_all(text, found); });
    };
    EXPECT_TRUE(test::takes_linear_time(seconds_for, kChars)) << to_utf8(pattern);
  }
}
#endif

}  // namespace
}  // namespace wattn
