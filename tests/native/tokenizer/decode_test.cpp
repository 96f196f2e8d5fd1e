// Decoding ids to text.
#include <gtest/gtest.h>

#include "native/tokenizer/tiny_tokenizer.h"
#include "tokenizer/decoders/clean_up.h"

namespace wattn {
namespace {

using test::make;
using test::TinyTokenizer;

TinyTokenizer tiny_with_decoder(const std::string& decoder) {
  TinyTokenizer tiny;
  tiny.decoder = decoder;
  tiny.vocab = {"[UNK]", "do", "not", "##ed", "it", "'", "s", ".", "n't", "##s", "I", "'m"};
  return tiny;
}

TEST(Decode, JoinsContinuedWordsAndCleansUp) {
  const Tokenizer tokenizer = make(tiny_with_decoder(test::kWordPieceDecoder));
  EXPECT_EQ(tokenizer.decode({4, 3, 1, 2, 7}, false, false), "ited do not.");  // cleaned token by token: " do" and " not" stay
  EXPECT_EQ(tokenizer.decode({3, 1}, false, false), "##ed do");                // the first token keeps its prefix
  EXPECT_EQ(tokenizer.decode({10, 11, 1, 8}, false, false), "I'm don't");
  EXPECT_EQ(tokenizer.decode({}, false, false), "");
}

TEST(Decode, WithoutCleanUpLeavesTheSpaces) {
  const Tokenizer tokenizer = make(tiny_with_decoder(R"({"type": "WordPiece", "prefix": "##", "cleanup": false})"));
  EXPECT_EQ(tokenizer.decode({4, 5, 6, 7}, false, false), "it ' s .");
  EXPECT_EQ(tokenizer.decode({4, 5, 6, 7}, false, true), "it's.");  // transformers' clean-up sees the whole text
  EXPECT_EQ(tokenizer.decode({4, 1, 2}, false, true), "it do not");
}

TEST(Decode, WithoutADecoderPutsSpacesBetweenTokens) {
  const Tokenizer tokenizer = make(tiny_with_decoder("null"));
  EXPECT_EQ(tokenizer.decode({4, 3, 7}, false, false), "it ##ed .");
}

TEST(Decode, SkipsUnknownIds) {
  const Tokenizer tokenizer = make(tiny_with_decoder(test::kWordPieceDecoder));
  EXPECT_EQ(tokenizer.decode({-1, 4, 12, INT32_MAX, INT32_MIN, 9}, false, false), "its");
}

TEST(CleanUp, ReplacesLikePython) {
  std::string text = "aaaa";
  replace_all(text, "aa", "a");
  EXPECT_EQ(text, "aa");
  text = " ' ' ' .";
  clean_up_tokenization(text);
  EXPECT_EQ(text, "'' '.");
  text = "we do not , I 've , you 're";
  clean_up_wordpiece(text);
  EXPECT_EQ(text, "we don't, I've, you're");
}

}  // namespace
}  // namespace wattn
