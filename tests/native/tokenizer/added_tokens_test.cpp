// Added tokens are found as in the reference, including odd cases.
#include <gtest/gtest.h>

#include "native/tokenizer/tiny_tokenizer.h"

namespace wattn {
namespace {

using test::added_token_json;
using test::encode;
using test::make;
using test::slices_of;
using test::TinyTokenizer;
using test::Tokens;
using test::tokens_of;

TinyTokenizer with_added(std::vector<std::string> added) {
  TinyTokenizer tiny;
  tiny.normalizer = R"({"type": "Lowercase"})";
  tiny.added = std::move(added);
  return tiny;
}

TEST(AddedTokens, AreFoundInTheRawTextBeforeAnythingElse) {
  const Tokenizer tokenizer = make(with_added({added_token_json("[SEP]", {"special"})}));
  const std::u16string text = u"A[SEP]b [sep]";
  const Encoding encoding = encode(tokenizer, text);
  EXPECT_EQ(tokens_of(tokenizer, encoding), (Tokens{"a", "[SEP]", "b", "[UNK]", "[UNK]", "[UNK]"}));
  EXPECT_EQ(slices_of(text, encoding), (std::vector<std::u16string>{u"A", u"[SEP]", u"b", u"[", u"sep", u"]"}));
  EXPECT_EQ(encoding.word_ids, (std::vector<std::int32_t>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(encoding.special_tokens_mask, std::vector<std::uint8_t>(6, 0));  // written in the text, not added to it
}

TEST(AddedTokens, NormalizedOnesAreFoundInTheNormalizedText) {
  const Tokenizer tokenizer = make(with_added({added_token_json("Foo", {"normalized"})}));
  EXPECT_EQ(tokens_of(tokenizer, encode(tokenizer, u"aFOOb")), (Tokens{"a", "foo", "b"}));  // the normalized content
  EXPECT_EQ(tokenizer.token_to_id("Foo"), 15);
}

TEST(AddedTokens, CanBeAddedLater) {
  Tokenizer tokenizer = make(with_added({added_token_json("Foo", {"normalized"})}));
  const std::int32_t before = tokenizer.vocab_size();
  ASSERT_TRUE(tokenizer.add_tokens({"<<ENT>>", "Foo", "a", "<<ENT>>", ""}).ok());
  EXPECT_EQ(tokenizer.vocab_size(), before + 1);
  EXPECT_EQ(tokenizer.num_ids(), before + 1);
  EXPECT_EQ(tokenizer.token_to_id("<<ENT>>"), before);
  EXPECT_EQ(tokenizer.token_to_id("Foo"), before - 1);  // from now on in the raw text, as what was added last
  EXPECT_EQ(tokens_of(tokenizer, encode(tokenizer, u"b<<ENT>>Foo<<ent>>foo c")),
            (Tokens{"b", "<<ENT>>", "Foo", "[UNK]", "[UNK]", "[UNK]", "[UNK]", "[UNK]", "[UNK]", "c"}));
  EXPECT_EQ(tokenizer.decode({3, before, before - 1}, true, false).value(), "");  // special, all three
}

TEST(AddedTokens, TheLongestMatchWins) {
  const Tokenizer tokenizer =
      make(with_added({added_token_json("<a"), added_token_json("<a>"), added_token_json("<a>b>"), added_token_json(">c")}));
  EXPECT_EQ(tokens_of(tokenizer, encode(tokenizer, u"<a>b<a<a>b><a>c")), (Tokens{"<a>", "b", "<a", "<a>b>", "<a>", "c"}));
}

TEST(AddedTokens, SingleWordMeansNoWordCharacterBesideIt) {
  const Tokenizer tokenizer = make(with_added({added_token_json("X", {"single_word"})}));
  EXPECT_EQ(tokens_of(tokenizer, encode(tokenizer, u"X aX -X- X\u0301 X_ X")),
            (Tokens{"X", "[UNK]", "[UNK]", "X", "[UNK]", "[UNK]", "[UNK]", "[UNK]", "X"}));
}

TEST(AddedTokens, IncludeWhitespaceOnTheSidesThatTheyStrip) {
  const Tokenizer tokenizer =
      make(with_added({added_token_json("<l>", {"lstrip"}), added_token_json("<r>", {"rstrip"}), added_token_json("<n>")}));
  const std::u16string text = u"a \t<l> b <r>\u3000 c <n> <r>  <l>";
  const Encoding encoding = encode(tokenizer, text);
  EXPECT_EQ(tokens_of(tokenizer, encoding), (Tokens{"a", "<l>", "b", "<r>", "c", "<n>", "<r>", "<l>"}));
  EXPECT_EQ(slices_of(text, encoding),
            (std::vector<std::u16string>{u"a", u" \t<l>", u"b", u"<r>\u3000 ", u"c", u"<n>", u"<r>  ", u"<l>"}));
}

TEST(AddedTokens, MayOverlapWhenOneBeginsWithWhitespaceOfAnother) {  // as in the reference
  const Tokenizer tokenizer = make(with_added({added_token_json(" X"), added_token_json("Y", {"lstrip", "rstrip"})}));
  const std::u16string text = u"a Y X Y b";
  const Encoding encoding = encode(tokenizer, text);
  EXPECT_EQ(tokens_of(tokenizer, encoding), (Tokens{"a", "Y", " X", "Y", "b"}));
  EXPECT_EQ(slices_of(text, encoding), (std::vector<std::u16string>{u"a", u" Y ", u" X", u" Y ", u"b"}));
}

TEST(AddedTokens, SpecialOnesCanBeReadAsOrdinaryText) {
  const Tokenizer tokenizer = make(with_added({added_token_json("[SEP]", {"special"}), added_token_json("<n>")}));
  EncodeOptions options;
  options.split_special_tokens = true;
  EXPECT_EQ(tokens_of(tokenizer, encode(tokenizer, u"a[SEP]<n>", options)), (Tokens{"a", "[UNK]", "[UNK]", "[UNK]", "<n>"}));
}

TEST(AddedTokens, GetTheirIdFromTheVocabularyOrTheNextOneInOrder) {  // the file's "id" is ignored, as in the reference
  const Tokenizer tokenizer = make(with_added(
      {added_token_json("new"), added_token_json("ab"), added_token_json("newer"), added_token_json("new", {"special"})}));
  EXPECT_EQ(tokenizer.token_to_id("new"), 15);
  EXPECT_EQ(tokenizer.token_to_id("ab"), 9);
  EXPECT_EQ(tokenizer.token_to_id("newer"), 16);
  EXPECT_EQ(tokenizer.vocab_size(), 17);
  EXPECT_EQ(tokenizer.num_ids(), 17);
  EXPECT_EQ(tokenizer.id_to_token(16), "newer");
}

TEST(AddedTokens, EmptyOnesAreIgnored) {
  const Tokenizer tokenizer = make(with_added({added_token_json("")}));
  EXPECT_EQ(tokenizer.vocab_size(), 15);
  EXPECT_EQ(tokens_of(tokenizer, encode(tokenizer, u"ab")), (Tokens{"ab"}));
}

TEST(AddedTokens, ThatNormalizeToNothingAreNeverFound) {  // the reference crashes on such a file
  TinyTokenizer tiny = with_added({added_token_json(" ", {"normalized"})});
  tiny.normalizer = R"({"type": "Strip", "strip_left": true, "strip_right": true})";
  EXPECT_EQ(tokens_of(make(tiny), encode(make(tiny), u" a b ")), (Tokens{"a", "b"}));
}

TEST(AddedTokens, SpecialOnesAreOmittedFromDecodedTextOnRequest) {
  TinyTokenizer tiny = with_added({added_token_json("[SEP]", {"special"}), added_token_json("<n>")});
  tiny.decoder = test::kWordPieceDecoder;
  const Tokenizer tokenizer = make(tiny);
  const std::vector<std::int32_t> ids = encode(tokenizer, u"abc [SEP] <n>").ids;
  EXPECT_EQ(tokenizer.decode(ids, false, false).value(), "abc [SEP] <n>");
  EXPECT_EQ(tokenizer.decode(ids, true, false).value(), "abc <n>");
}

}  // namespace
}  // namespace wattn
