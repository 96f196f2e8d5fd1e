#include "constraints/byte_regex.h"

#include <gtest/gtest.h>

#include <string>

namespace wattn {
namespace {

TEST(Regexes, EqualExpressionsHaveOneId) {
  Regexes r;
  EXPECT_EQ(r.either({r.text("a"), r.text("b")}), r.range('a', 'b'));
  EXPECT_EQ(r.both({r.text("ab"), Regexes::kAnything}), r.text("ab"));
  EXPECT_EQ(r.no(r.no(r.text("ab"))), r.text("ab"));
  EXPECT_EQ(r.concat(r.text("a"), r.text("bc")), r.text("abc"));
  EXPECT_EQ(r.repeat(r.text("a"), 1, 1), r.text("a"));
}

TEST(Regexes, CountsRepetitions) {
  Regexes r;
  const RegexId some = r.repeat(r.text("ab"), 2, 3);
  for (int count = 0; count < 6; ++count) {
    std::string text;
    for (int i = 0; i < count; ++i) text += "ab";
    EXPECT_EQ(r.matches(some, text), count == 2 || count == 3) << count;
  }
  EXPECT_FALSE(r.matches(some, "aba"));
}

TEST(Regexes, AndNotAreOfWholeTexts) {
  Regexes r;
  const RegexId letters = r.repeat(r.range('a', 'z'), 0, Regexes::kNoLimit);
  const RegexId other = r.both({letters, r.no(r.text("foo"))});
  EXPECT_TRUE(r.matches(other, "fo"));
  EXPECT_FALSE(r.matches(other, "foo"));
  EXPECT_TRUE(r.matches(other, "fooo"));
  EXPECT_FALSE(r.matches(other, "1"));
}

// (aa)* and (aaa)*, of 4 to 5: nothing; of 4 to 6: one text. What cannot be completed is nothing at once.
TEST(Regexes, WhatCannotBeCompletedIsNothing) {
  Regexes r;
  const RegexId a = r.text("a");
  const RegexId sixes = r.both({r.repeat(r.text("aa"), 0, Regexes::kNoLimit), r.repeat(r.text("aaa"), 0, Regexes::kNoLimit)});
  EXPECT_FALSE(r.is_possible(r.both({sixes, r.repeat(a, 4, 5)})));
  const RegexId one = r.both({sixes, r.repeat(a, 4, 6)});
  EXPECT_TRUE(r.is_possible(one));
  EXPECT_TRUE(r.matches(one, "aaaaaa"));
  EXPECT_EQ(r.after(one, "b"), Regexes::kNothing);
  EXPECT_EQ(r.after(one, "aaaaaaa"), Regexes::kNothing);
  EXPECT_FALSE(r.gave_up());
}

TEST(Regexes, OneOfManyTexts) {
  Regexes r;
  const RegexId texts = r.one_of({"yes", "no", "yesterday", "yes"});
  for (const char* text : {"yes", "no", "yesterday"}) EXPECT_TRUE(r.matches(texts, text)) << text;
  for (const char* text : {"", "y", "yest", "noo"}) EXPECT_FALSE(r.matches(texts, text)) << text;
}

TEST(Regexes, MultiplesOfANumber) {
  Regexes r;
  const RegexId sevens = r.multiple(7, 0), quarters = r.multiple(25, 2);
  for (int number = 0; number < 500; ++number) EXPECT_EQ(r.matches(sevens, std::to_string(number)), number % 7 == 0) << number;
  for (const char* text : {"0.25", "1.5", "3", "10.75"}) EXPECT_TRUE(r.matches(quarters, text)) << text;
  for (const char* text : {"0.2", "1.55", "0.251"}) EXPECT_FALSE(r.matches(quarters, text)) << text;
}

}  // namespace
}  // namespace wattn
