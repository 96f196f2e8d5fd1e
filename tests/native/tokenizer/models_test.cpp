// BPE, Unigram and WordLevel with a few tokens. Expected ids and offsets are those of the reference.
#include <gtest/gtest.h>

#include "native/tokenizer/tiny_tokenizer.h"

namespace wattn {
namespace {

using test::encode;
using test::make;
using test::TinyTokenizer;
using test::Tokens;
using test::tokens_of;

TinyTokenizer with_model(const std::string& model) {
  TinyTokenizer tiny;
  tiny.pre_tokenizer = "null";
  tiny.model = model;
  return tiny;
}

std::string bpe(const std::string& vocab, const std::string& merges, const std::string& more = "") {
  return R"({"type": "BPE", "vocab": )" + vocab + R"(, "merges": )" + merges + more + "}";
}

TEST(Bpe, MergesTheLowestRankFirstAndTheLeftmostOfEqualOnes) {
  const std::string vocab = R"({"a": 0, "b": 1, "c": 2, "ab": 3, "bc": 4, "abc": 5})";
  const Tokenizer early = make(with_model(bpe(vocab, R"(["a b", "b c", "ab c"])")));
  EXPECT_EQ(encode(early, u"abcbc").ids, (std::vector<std::int32_t>{5, 4}));
  const Tokenizer late = make(with_model(bpe(vocab, R"([["b", "c"], ["a", "b"]])")));
  EXPECT_EQ(encode(late, u"abcab").ids, (std::vector<std::int32_t>{0, 4, 3}));
  const Tokenizer run = make(with_model(bpe(R"({"a": 0, "aa": 1})", R"(["a a"])")));
  EXPECT_EQ(encode(run, u"aaaaa").ids, (std::vector<std::int32_t>{1, 1, 0}));
}

TEST(Bpe, LongWordsMergeLikeShortOnes) {
  const std::string vocab = R"({"a": 0, "b": 1, "ab": 2, "ba": 3, "abab": 4, "ababab": 5})";
  const Tokenizer tokenizer = make(with_model(bpe(vocab, R"(["b a", "a b", "ab ab", "abab ab"])")));
  for (std::size_t size = 2; size < 200; size += 7) {
    std::u16string word;
    for (std::size_t i = 0; i < size; ++i) word.push_back(i % 3 == 2 ? u'b' : u'a');
    // The parts between which nothing merges ("aa") are short words; together they are a long one.
    std::vector<std::int32_t> expected;
    for (std::size_t begin = 0; begin < size;) {
      std::size_t end = begin + 1;
      while (end < size && !(word[end] == u'a' && word[end - 1] == u'a')) ++end;
      const std::vector<std::int32_t> ids = encode(tokenizer, word.substr(begin, end - begin)).ids;
      expected.insert(expected.end(), ids.begin(), ids.end());
      begin = end;
    }
    EXPECT_EQ(encode(tokenizer, word).ids, expected) << size;
  }
}

TEST(Bpe, FallsBackToBytesAndEveryByteHasTheSpanOfItsCharacter) {
  const std::string vocab = R"({"<unk>": 0, "a": 1, "<0xC3>": 2, "<0xA9>": 3})";
  const Tokenizer tokenizer =
      make(with_model(bpe(vocab, "[]", R"(, "unk_token": "<unk>", "fuse_unk": true, "byte_fallback": true)")));
  const Encoding encoding = encode(tokenizer, u"aé中文a");
  EXPECT_EQ(encoding.ids, (std::vector<std::int32_t>{1, 2, 3, 0, 1}));
  EXPECT_EQ(encoding.offsets, (std::vector<TextSpan>{{0, 1}, {1, 2}, {1, 2}, {2, 4}, {4, 5}}));
}

TEST(Bpe, UnknownCharactersAreFusedOnRequestAndDroppedWithoutAnUnknownToken) {
  const std::string vocab = R"({"<unk>": 0, "a": 1})";
  EXPECT_EQ(encode(make(with_model(bpe(vocab, "[]", R"(, "unk_token": "<unk>")"))), u"axya").ids,
            (std::vector<std::int32_t>{1, 0, 0, 1}));
  EXPECT_EQ(encode(make(with_model(bpe(vocab, "[]"))), u"axya").ids, (std::vector<std::int32_t>{1, 1}));
}

TEST(Bpe, SupportsPrefixSuffixAndWholeWords) {
  const std::string vocab = R"({"a": 0, "##b": 1, "b</w>": 2, "a</w>": 3, "ab": 4, "b": 5})";
  EXPECT_EQ(encode(make(with_model(bpe(vocab, R"(["a ##b"])", R"(, "continuing_subword_prefix": "##")"))), u"ab").ids,
            (std::vector<std::int32_t>{4}));
  EXPECT_EQ(encode(make(with_model(bpe(vocab, "[]", R"(, "end_of_word_suffix": "</w>")"))), u"ab").ids,
            (std::vector<std::int32_t>{0, 2}));
  EXPECT_EQ(encode(make(with_model(bpe(vocab, "[]", R"(, "ignore_merges": true)"))), u"ab").ids, (std::vector<std::int32_t>{4}));
}

TEST(Bpe, RejectsDropoutAndMergesOfUnknownTokens) {
  const Result<Tokenizer> dropout = test::load_text(with_model(bpe(R"({"a": 0})", "[]", R"(, "dropout": 0.1)")).json());
  ASSERT_FALSE(dropout.ok());
  EXPECT_NE(dropout.error().message.find("model.dropout"), std::string::npos);
  const Result<Tokenizer> merge = test::load_text(with_model(bpe(R"({"a": 0})", R"(["a b"])")).json());
  ASSERT_FALSE(merge.ok());
  EXPECT_NE(merge.error().message.find("model.merges[0]"), std::string::npos) << merge.error().message;
}

std::string unigram(const std::string& vocab, const std::string& more = R"(, "unk_id": 0)") {
  return R"({"type": "Unigram", "vocab": )" + vocab + more + "}";
}

TEST(Unigram, ChoosesTheBestSumAndTheFirstOfEqualOnes) {
  const Tokenizer tokenizer =
      make(with_model(unigram(R"([["<unk>", 0], ["a", -1], ["b", -1], ["ab", -3], ["bb", -1.5], ["abb", -2.5]])")));
  EXPECT_EQ(encode(tokenizer, u"ab").ids, (std::vector<std::int32_t>{1, 2}));
  EXPECT_EQ(encode(tokenizer, u"abb").ids, (std::vector<std::int32_t>{5}));
}

TEST(Unigram, ConsecutiveUnknownCharactersAreOneTokenOrTheirBytes) {
  const std::string vocab = R"([["<unk>", 0], ["a", -1], ["<0xC3>", 0], ["<0xA9>", 0]])";
  const Encoding fused = encode(make(with_model(unigram(vocab))), u"aééa");
  EXPECT_EQ(fused.ids, (std::vector<std::int32_t>{1, 0, 1}));
  EXPECT_EQ(fused.offsets[1], (TextSpan{1, 3}));
  const Encoding bytes = encode(make(with_model(unigram(vocab, R"(, "unk_id": 0, "byte_fallback": true)"))), u"aé");
  EXPECT_EQ(bytes.ids, (std::vector<std::int32_t>{1, 2, 3}));
}

TEST(Unigram, WithoutAnUnknownTokenUnknownCharactersAreAnError) {
  const Tokenizer tokenizer = make(with_model(unigram(R"([["a", -1]])", R"(, "unk_id": null)")));
  EXPECT_TRUE(tokenizer.encode(u"aa", {}).ok());
  const Result<Encoding> encoding = tokenizer.encode(u"ax", {});
  ASSERT_FALSE(encoding.ok());
  EXPECT_EQ(encoding.error().code, ErrorCode::kInput);
}

TEST(WordLevel, LooksUpWholePreTokens) {
  TinyTokenizer tiny = with_model(R"({"type": "WordLevel", "vocab": {"<unk>": 0, "one": 1, "two": 2}, "unk_token": "<unk>"})");
  tiny.pre_tokenizer = R"({"type": "Whitespace"})";
  EXPECT_EQ(encode(make(tiny), u"one three two").ids, (std::vector<std::int32_t>{1, 0, 2}));
}

TEST(WordLevel, IsTheCharacterLevelWhenEveryCharacterIsAPreToken) {
  TinyTokenizer tiny = with_model(R"({"type": "WordLevel", "vocab": {"<unk>": 0, "a": 1, " ": 2, "é": 3}, "unk_token": "<unk>"})");
  tiny.pre_tokenizer = R"({"type": "Split", "pattern": {"Regex": "[\\s\\S]"}, "behavior": "Isolated", "invert": false})";
  tiny.decoder = R"({"type": "Fuse"})";
  const Tokenizer tokenizer = make(tiny);
  EXPECT_EQ(encode(tokenizer, u"a éx").ids, (std::vector<std::int32_t>{1, 2, 3, 0}));
  EXPECT_EQ(tokenizer.decode({1, 2, 3}, false, false).value(), "a é");
}

// T5's scores. Read as the nearest doubles, both splits have the same sum; the reference rounds its numbers twice.
TEST(Unigram, ScoresAreReadAsTheReferenceReadsThem) {
  TinyTokenizer tiny = with_model(
      R"({"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0.0], ["-", -5.129043102264404], ["---", -12.130167007446289]]})");
  tiny.pre_tokenizer = "null";
  EXPECT_EQ(tokens_of(make(tiny), encode(make(tiny), u"-------")), (Tokens{"---", "---", "-"}));
}

TEST(Unigram, TheStringsOfUnknownTokensAreTheirText) {
  TinyTokenizer tiny =
      with_model(R"({"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0], ["a", -1], ["b", -1], ["<m>", -9]]})");
  tiny.normalizer = R"({"type": "Lowercase"})";
  tiny.pre_tokenizer = "null";
  tiny.added = {test::added_token_json("<m>", {"lstrip", "special"})};
  const Encoding encoding = encode(make(tiny), u"aXYb <m>", {.return_tokens = true});
  EXPECT_EQ(encoding.ids, (std::vector<std::int32_t>{1, 0, 2, 3}));
  EXPECT_EQ(encoding.tokens, (Tokens{"a", "xy", "b", " <m>"}));
  EXPECT_TRUE(encode(make(tiny), u"a").tokens.empty());
}

TEST(TokenModel, OldFilesDoNotNameItsType) {
  EXPECT_TRUE(test::load_text(with_model(R"({"vocab": {"a": 0}, "merges": []})").json()).ok());
  EXPECT_TRUE(test::load_text(with_model(R"({"vocab": [["a", 0]], "unk_id": 0})").json()).ok());
  EXPECT_TRUE(test::load_text(with_model(R"({"vocab": {"a": 0}, "unk_token": "a"})").json()).ok());
}

TEST(ByteLevel, MapsBytesSplitsLikeGpt2AndTrimsSpansOnRequest) {
  std::vector<std::string> tokens;
  std::string vocab = "{";
  for (const char* token : {"h", "i", "\\u0120", "\\u00c3", "\\u00a9", "hi", "\\u0120hi"}) {
    vocab += (vocab.size() > 1 ? ", \"" : "\"") + std::string(token) + "\": " + std::to_string(tokens.size());
    tokens.emplace_back(token);
  }
  TinyTokenizer tiny = with_model(bpe(vocab + "}", R"(["h i", "\u0120 hi"])"));
  tiny.pre_tokenizer = R"({"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true})";
  tiny.post_processor = R"({"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true})";
  tiny.decoder = R"({"type": "ByteLevel"})";
  const Tokenizer tokenizer = make(tiny);
  const Encoding encoding = encode(tokenizer, u"hi hié");
  EXPECT_EQ(encoding.ids, (std::vector<std::int32_t>{6, 6, 3, 4}));
  EXPECT_EQ(encoding.offsets, (std::vector<TextSpan>{{0, 2}, {3, 5}, {5, 6}, {5, 6}}));
  EXPECT_EQ(tokenizer.decode(encoding.ids, false, false).value(), " hi hié");
  EXPECT_EQ(tokenizer.decode({3}, false, false).value(), "\xEF\xBF\xBD");
}

TEST(Metaspace, PrependsAlwaysNeverOrOnlyToTheFirst) {
  const auto tokens = [](const std::string& scheme) {
    TinyTokenizer tiny =
        with_model(R"({"type": "WordLevel", "vocab": {"<unk>": 0, "▁a": 1, "a": 2, "▁": 3, "<s>": 4}, "unk_token": "<unk>"})");
    tiny.pre_tokenizer = R"({"type": "Metaspace", "replacement": "▁", "split": true, "prepend_scheme": ")" + scheme + "\"}";
    tiny.added = {test::added_token_json("<s>", {"special"})};
    const Tokenizer tokenizer = make(tiny);
    return tokens_of(tokenizer, encode(tokenizer, u"a a<s>a"));
  };
  EXPECT_EQ(tokens("always"), (Tokens{"▁a", "▁a", "<s>", "▁a"}));
  EXPECT_EQ(tokens("first"), (Tokens{"▁a", "▁a", "<s>", "a"}));
  EXPECT_EQ(tokens("never"), (Tokens{"a", "▁a", "<s>", "a"}));
}

std::string decoded(const std::string& decoder, std::vector<std::int32_t> ids) {
  TinyTokenizer tiny = with_model(
      R"({"type": "WordLevel", "vocab": {"<unk>": 0, "▁a": 1, "b</w>": 2, "<0xC3>": 3, "<0xA9>": 4, " x ": 5, "|": 6, "<pad>": 7}, "unk_token": "<unk>"})");
  tiny.decoder = decoder;
  return make(tiny).decode(ids, false, false).value();
}

TEST(Decoders, ConvertTokensToText) {
  EXPECT_EQ(decoded(R"({"type": "Metaspace", "replacement": "▁", "add_prefix_space": true})", {1, 1}), "a a");
  EXPECT_EQ(decoded(R"({"type": "Metaspace", "replacement": "▁", "prepend_scheme": "never"})", {1, 1}), " a a");
  EXPECT_EQ(decoded(R"({"type": "BPEDecoder", "suffix": "</w>"})", {2, 2}), "b b");
  EXPECT_EQ(decoded(R"({"type": "ByteFallback"})", {3, 4, 1}), "é▁a");
  EXPECT_EQ(decoded(R"({"type": "ByteFallback"})", {4, 4}), "\xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_EQ(decoded(R"({"type": "Strip", "content": " ", "start": 1, "stop": 2})", {5, 5}), "xx");
  EXPECT_EQ(decoded(R"({"type": "Replace", "pattern": {"Regex": "\\s+"}, "content": "_"})", {5}), "_x_");
  EXPECT_EQ(decoded(R"({"type": "CTC", "pad_token": "<pad>", "word_delimiter_token": "|", "cleanup": true})", {2, 2, 7, 2, 6, 2}),
            "b</w>b</w> b</w>");
  EXPECT_EQ(
      decoded(R"({"type": "Sequence", "decoders": [{"type": "Fuse"}, {"type": "Strip", "content": "▁", "start": 1, "stop": 0}]})",
              {1, 1}),
      "a▁a");
}

}  // namespace
}  // namespace wattn
