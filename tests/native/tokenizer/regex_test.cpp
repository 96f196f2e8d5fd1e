// Regular expressions: matches as in Oniguruma, errors, and time.
#include "tokenizer/regex/regex.h"

#include <gtest/gtest.h>

#include <ctime>

#include "core/utf.h"

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
}

TEST(Regex, FoldsTheCaseOfAsciiLettersAsInUnicode) {
  EXPECT_EQ(matches("(?i:'s|'ll)", "'S'\u017F'Ll's"), "'S|'\u017F|'Ll|'s");
  EXPECT_EQ(matches("(?i)k", "kK\u212A"), "k|K|\u212A");
  EXPECT_EQ(matches("(?i:a)b", "ABAb"), "Ab");
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
  };
  for (const auto& [pattern, expected] : cases) {
    const Result<Regex> regex = Regex::compile(to_utf32(pattern));
    ASSERT_FALSE(regex.ok()) << pattern;
    EXPECT_EQ(regex.error().code, ErrorCode::kUnsupported);
    EXPECT_NE(regex.error().message.find(expected), std::string::npos) << regex.error().message;
  }
}

TEST(Regex, NestingIsLimited) {
  EXPECT_FALSE(Regex::compile(std::u32string(100000, U'(')).ok());
  EXPECT_FALSE(Regex::compile(std::u32string(100000, U'[')).ok());
}

// Patterns on which backtracking takes quadratic or exponential time.
TEST(Regex, TakesLinearTimeOnTheWorstPatterns) {
#if defined(__SANITIZE_ADDRESS__)
  constexpr std::size_t kChars = 1 << 14;
#else
  constexpr std::size_t kChars = 1 << 18;
#endif
  const auto seconds = [](const Regex& regex, std::size_t chars) {
    double best = 1e9;
    for (int i = 0; i < 3; ++i) {
      std::vector<TextMatch> found;
      const std::clock_t start = std::clock();
      regex.find_all(std::u32string(chars, U'a') + U"c", found);
      best = std::min(best, static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
    }
    return best;
  };
  for (const char32_t* pattern : {U"(?:a|aa)+b", U"a+$", U"a*a*a*b", U"a*b|a", U"(?:a+a+)+b", U"a(?=a*b)|a{3}"}) {
    const Result<Regex> regex = Regex::compile(pattern);
    ASSERT_TRUE(regex.ok()) << regex.error().message;
    const double once = seconds(regex.value(), kChars);
    EXPECT_LT(seconds(regex.value(), 4 * kChars), 10 * once + 0.1) << to_utf8(pattern);
  }
}

}  // namespace
}  // namespace wattn
