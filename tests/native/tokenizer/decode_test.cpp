// Decoding ids to text.
#include <gtest/gtest.h>

#include <iterator>
#include <random>
#include <string_view>

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
  EXPECT_EQ(tokenizer.decode({4, 3, 1, 2, 7}, false, false).value(),
            "ited do not.");                                             // cleaned token by token: " do" and " not" stay
  EXPECT_EQ(tokenizer.decode({3, 1}, false, false).value(), "##ed do");  // the first token keeps its prefix
  EXPECT_EQ(tokenizer.decode({10, 11, 1, 8}, false, false).value(), "I'm don't");
  EXPECT_EQ(tokenizer.decode({}, false, false).value(), "");
}

TEST(Decode, WithoutCleanUpLeavesTheSpaces) {
  const Tokenizer tokenizer = make(tiny_with_decoder(R"({"type": "WordPiece", "prefix": "##", "cleanup": false})"));
  EXPECT_EQ(tokenizer.decode({4, 5, 6, 7}, false, false).value(), "it ' s .");
  EXPECT_EQ(tokenizer.decode({4, 5, 6, 7}, false, true).value(), "it's.");  // transformers' clean-up sees the whole text
  EXPECT_EQ(tokenizer.decode({4, 1, 2}, false, true).value(), "it do not");
}

// What the pieces of these ids say, or "?" for one that is not alone.
std::string join_pieces(const Tokenizer& tokenizer, const std::vector<std::int32_t>& ids, bool skip_special_tokens) {
  std::string all, text;
  bool is_first = true;
  for (const std::int32_t id : ids) {
    const auto piece = tokenizer.decode_piece(id, is_first, skip_special_tokens, text);
    if (piece == Tokenizer::Piece::kSkipped) continue;
    all += piece == Tokenizer::Piece::kText ? text : "?";
    is_first = false;
  }
  return all;
}

TEST(Decode, JoinsThePiecesOfTokens) {
  TinyTokenizer tiny = tiny_with_decoder(test::kWordPieceDecoder);
  tiny.added = {test::added_token_json("[SEP]", {"special"})};
  const Tokenizer words = make(tiny);
  const std::vector<std::int32_t> ids = {12, 3, 99, 1, 4, 3, 12, 5, 6, 8, 7, 10, 11, -1};
  for (const bool skip : {false, true}) EXPECT_EQ(join_pieces(words, ids, skip), words.decode(ids, skip, false).value());
  EXPECT_EQ(join_pieces(words, {3, 3}, false), "##eded");

  tiny = tiny_with_decoder(R"({"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always"})");
  tiny.vocab = {"[UNK]", "▁", "▁do", "▁▁not▁", std::string(64, 'x'), std::string(65, 'x')};
  const Tokenizer marks = make(tiny);
  for (const std::vector<std::int32_t>& some : {std::vector{1, 2, 3, 2}, {2, 1, 1}, {3, 3}, {4, 4}, {}})
    EXPECT_EQ(join_pieces(marks, some, false), marks.decode(some, false, false).value());
  EXPECT_EQ(join_pieces(marks, {2, 5, 2}, false), "do? do");

  tiny = tiny_with_decoder(R"({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true})");
  tiny.vocab = {"[UNK]", "a", "Ã", "©", "Ã©"};
  EXPECT_EQ(join_pieces(make(tiny), {1, 4, 2, 3}, false), "a\u00E9??");  // the bytes C3 A9 together and apart

  EXPECT_EQ(join_pieces(make(tiny_with_decoder("null")), {4, 7}, false), "??");
  EXPECT_EQ(join_pieces(make(tiny_with_decoder(R"({"type": "Fuse"})")), {4, 7}, false), "??");
}

TEST(Decode, WithoutADecoderPutsSpacesBetweenTokens) {
  const Tokenizer tokenizer = make(tiny_with_decoder("null"));
  EXPECT_EQ(tokenizer.decode({4, 3, 7}, false, false).value(), "it ##ed .");
}

TEST(Decode, SkipsUnknownIds) {
  const Tokenizer tokenizer = make(tiny_with_decoder(test::kWordPieceDecoder));
  EXPECT_EQ(tokenizer.decode({-1, 4, 12, INT32_MAX, INT32_MIN, 9}, false, false).value(), "its");
}

// "<s>" is found in normalized text, so its string is "▁<s>".
TEST(Decode, SkipsSpecialTokensWhoseStringIsNormalized) {
  TinyTokenizer tiny = tiny_with_decoder(R"({"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always"})");
  tiny.normalizer = R"({"type": "Prepend", "prepend": "▁"})";
  tiny.vocab = {"[UNK]", "▁do", "<s>", "<n>"};
  tiny.added = {test::added_token_json("<s>", {"normalized", "special"}), test::added_token_json("<n>", {"normalized"})};
  const Tokenizer tokenizer = make(tiny);
  EXPECT_EQ(tokenizer.id_to_token(2), "▁<s>");
  EXPECT_EQ(tokenizer.decode({2, 1, 2, 3}, false, false).value(), "<s> do <s> <n>");
  EXPECT_EQ(tokenizer.decode({2, 1, 2, 3}, true, false).value(), "do <n>");
}

// The texts are those of transformers' CLIPTokenizer.
TEST(Decode, PutsSpacesWhereTheWordsOfClipEnd) {
  TinyTokenizer tiny;
  tiny.decoder = R"({"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true})";
  tiny.added = {test::added_token_json("<|endoftext|>", {"special"})};
  tiny.model = R"({"type": "BPE", "end_of_word_suffix": "</w>", "merges": [],
    "vocab": {"hi</w>": 0, "b": 1, "o</w>": 2, "Ã": 3, "©</w>": 4, "Ċ": 5, "Ċ</w>": 6, "<|endoftext|>": 7}})";
  const auto decode = [&](const std::string& config, const std::vector<std::int32_t>& ids, bool skip) {
    const Result<Tokenizer> tokenizer = test::load_text(tiny.json(), config);
    return tokenizer.ok() ? tokenizer.value().decode(ids, skip, false).value() : tokenizer.error().message;
  };
  for (const char* name : {"CLIPTokenizer", "CLIPTokenizerFast"}) {
    const std::string config = "{\"tokenizer_class\": \"" + std::string(name) + "\"}";
    EXPECT_EQ(decode(config, {0, 1, 2, 3, 4, 7}, false), "hi bo é <|endoftext|>");
    EXPECT_EQ(decode(config, {0, 1, 2, 3, 4, 7}, true), "hi bo é");
    EXPECT_EQ(decode(config, {6, 0, 5}, false), "hi");
    EXPECT_EQ(decode(config, {}, false), "");
  }
  EXPECT_EQ(decode("{}", {0, 1}, false), "hi</w>b");
}

// Two steps of 2^14 for one: the second would make 2^28 characters.
TEST(Decode, RefusesATextThatGrowsTooLong) {
  const std::string step = R"({"type": "Replace", "pattern": {"String": "d"}, "content": ")" + std::string(1 << 14, 'd') + "\"}";
  for (const int steps : {1, 2}) {
    const Tokenizer tokenizer =
        make(tiny_with_decoder(R"({"type": "Sequence", "decoders": [)" + step + (steps == 2 ? "," + step : "") + "]}"));
    const Result<std::string> text = tokenizer.decode({1}, false, true);
    EXPECT_EQ(text.ok(), steps == 1);
    if (steps == 1) continue;
    EXPECT_EQ(text.error().code, ErrorCode::kOutOfMemory);
    EXPECT_EQ(text.error().message, "decode: expected a text of at most 2^28 bytes, found a longer one");
  }
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

TEST(CleanUp, IsThatOfPythonForAnyText) {
  constexpr std::string_view kPairs[][2] = {{" .", "."},     {" ?", "?"},   {" !", "!"},   {" ,", ","},     {" ' ", "'"},
                                            {" n't", "n't"}, {" 'm", "'m"}, {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
  constexpr std::string_view kParts[] = {" ", " ", " ", "'", "'", ".", "?", "!", ",", "n't", "n", "t", "m", "s", "ve", "re", "é"};
  std::mt19937 random(1);
  for (int round = 0; round < 20'000; ++round) {
    std::string text;
    for (std::size_t parts = random() % 12; parts > 0; --parts) text += kParts[random() % std::size(kParts)];
    std::string expected = text, found = text;
    for (const auto& [from, to] : kPairs) replace_all(expected, from, to);
    clean_up_tokenization(found);
    ASSERT_EQ(found, expected) << "'" << text << "'";
  }
}

}  // namespace
}  // namespace wattn
