// Words, as found by Python's re with \w+(?:[-_]\w+)*|\S.
#include <gtest/gtest.h>

#include "tokenizer/tokenizer.h"

namespace wattn {
namespace {

std::vector<std::u16string> words_of(std::u16string_view text) {
  std::vector<std::u16string> out;
  for (const TextSpan& word : split_words(text)) {
    out.emplace_back(text.substr(static_cast<std::size_t>(word.begin), static_cast<std::size_t>(word.end - word.begin)));
  }
  return out;
}

TEST(SplitWords, JoinsHyphensAndUnderscoresBetweenWordCharacters) {
  using Words = std::vector<std::u16string>;
  EXPECT_EQ(words_of(u""), Words());
  EXPECT_EQ(words_of(u" \t\x1c\x1f\u0085\u00a0\u3000"), Words());
  EXPECT_EQ(words_of(u"a-b_c--d-"), (Words{u"a-b_c", u"-", u"-", u"d", u"-"}));
  EXPECT_EQ(words_of(u"_-_a-_b"), (Words{u"_-_a-_b"}));
  EXPECT_EQ(words_of(u"-a"), (Words{u"-", u"a"}));
  EXPECT_EQ(words_of(u"it's 3.5\u00bd"), (Words{u"it", u"'", u"s", u"3", u".", u"5\u00bd"}));
  // A combining mark is no word character for Python; U+FEFF and U+200B are no spaces.
  EXPECT_EQ(words_of(u"cafe\u0301s"), (Words{u"cafe", u"\u0301", u"s"}));
  EXPECT_EQ(words_of(u"\ufeff\u200b"), (Words{u"\ufeff", u"\u200b"}));
  EXPECT_EQ(words_of(u"\U0001F600\U00010400-\U00010401"), (Words{u"\U0001F600", u"\U00010400-\U00010401"}));
  EXPECT_EQ(words_of(u"a\xD800-b\xDC00"), (Words{u"a", u"\xD800", u"-", u"b", u"\xDC00"}));
}

}  // namespace
}  // namespace wattn
