// Texts that only an attacker would send: nothing may crash, read out of bounds or take more than linear time.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "native/tokenizer/linear_time.h"
#include "native/tokenizer/tiny_tokenizer.h"

namespace wattn {
namespace {

using test::added_token_json;
using test::encode;
using test::make;
using test::TinyTokenizer;
using test::Tokens;
using test::tokens_of;

Tokenizer bert() {
  TinyTokenizer tiny;
  tiny.normalizer = test::kBertNormalizer;
  tiny.post_processor = test::kBertTemplate;
  tiny.decoder = test::kWordPieceDecoder;
  tiny.added = {added_token_json("[CLS]", {"special"}), added_token_json("[SEP]", {"special"}),
                added_token_json("[MASK]", {"special", "lstrip"})};
  return make(tiny);
}

std::u16string repeat(std::u16string_view part, std::size_t units) {
  std::u16string out;
  while (out.size() < units) out += part;
  return out;
}

TEST(HostileText, EmptyAndInvisibleTextsGiveOnlySpecialTokens) {
  const Tokenizer tokenizer = bert();
  for (const std::u16string& text : {std::u16string(), std::u16string(u"   \t\r\n\u3000"), std::u16string(50, u'\0'),
                                     std::u16string(7, char16_t(0xDC00)), std::u16string(u"\u200b\u00ad\ufeff\u0301\u0301")}) {
    const Encoding encoding = encode(tokenizer, text);
    EXPECT_EQ(tokens_of(tokenizer, encoding), (Tokens{"[CLS]", "[SEP]"}));
    EXPECT_EQ(tokenizer.encode_pair(text, text, {}).value().size(), 3u);
  }
}

TEST(HostileText, NulIsACharacterLikeAnyOther) {
  TinyTokenizer tiny;
  tiny.pre_tokenizer = R"({"type": "WhitespaceSplit"})";
  tiny.vocab = {"[UNK]", "a\\u0000b"};
  const Tokenizer tokenizer = make(tiny);
  EXPECT_EQ(encode(tokenizer, std::u16string(u"a\0b", 3)).ids, (std::vector<std::int32_t>{1}));
  EXPECT_EQ(tokenizer.id_to_token(1), std::string_view("a\0b", 3));
}

TEST(HostileText, LoneSurrogatesCountOneUnitEach) {
  TinyTokenizer tiny;
  tiny.vocab = {"[UNK]", "a", "\\ufffd", "##\\ufffd", "##a"};
  const Tokenizer tokenizer = make(tiny);
  const std::u16string text = {char16_t(0xDE00), u'a', char16_t(0xD83D), char16_t(0xD83D), u'a', char16_t(0xD83D)};
  const Encoding encoding = encode(tokenizer, text);
  EXPECT_EQ(encoding.ids, (std::vector<std::int32_t>{2, 4, 3, 3, 4, 3}));
  for (std::int32_t i = 0; i < 6; ++i) EXPECT_EQ(encoding.offsets[static_cast<std::size_t>(i)], (TextSpan{i, i + 1}));
}

TEST(HostileText, OnlySpecialTokensWrittenOut) {
  const Tokenizer tokenizer = bert();
  const Encoding encoding = encode(tokenizer, repeat(u"[SEP][CLS] [MASK]", 17 * 100));
  EXPECT_EQ(encoding.size(), 302u);
  EXPECT_EQ(tokenizer.decode(encoding.ids, true, false).value(), "");
}

TEST(HostileText, OffsetsStayInsideTheTextAndInOrderForRandomUnits) {
  const Tokenizer tokenizer = bert();
  std::mt19937 random(7);
  const std::u16string_view parts[] = {u"[SEP]",      u" [MASK]", u"ab", u"Ⅷ",      u"\u0344", u"e\u0316\u0301",
                                       u"\U0001F600", u"한국",    u"中", u"\u0130", u"unable"};
  for (int round = 0; round < 3000; ++round) {
    std::u16string text;
    for (std::size_t i = random() % 30; i > 0; --i) {
      if (random() % 2) {
        text += parts[random() % std::size(parts)];
      } else {
        text.push_back(static_cast<char16_t>(random() % 4 ? random() % 0x300 : random()));
      }
    }
    EncodeOptions options;
    options.split_special_tokens = random() % 4 == 0;
    options.add_special_tokens = random() % 4 != 0;
    if (random() % 2) options.max_length = static_cast<std::int32_t>(random() % 12);
    options.return_overflowing = random() % 2;
    options.overlap = static_cast<std::int32_t>(random() % 4);
    options.truncation_side = random() % 2 ? Side::kLeft : Side::kRight;
    options.strategy = static_cast<TruncationStrategy>(random() % 3);
    const Result<Encoding> result = random() % 2 ? tokenizer.encode(text, options) : tokenizer.encode_pair(text, text, options);
    if (!result.ok()) {
      EXPECT_EQ(result.error().code, ErrorCode::kInput);
      continue;
    }
    const Encoding& encoding = result.value();
    if (options.max_length) {
      EXPECT_LE(encoding.size(), static_cast<std::size_t>(*options.max_length));
    }
    TextSpan last[2];
    for (std::size_t i = 0; i < encoding.size(); ++i) {
      if (encoding.sequence_ids[i] < 0) continue;
      TextSpan& before = last[encoding.sequence_ids[i]];
      const TextSpan& span = encoding.offsets[i];
      EXPECT_LE(before.begin, span.begin);
      EXPECT_LE(before.end, span.end);
      EXPECT_LT(span.begin, span.end);
      EXPECT_LE(span.end, static_cast<std::int32_t>(text.size()));
      before = span;
    }
    (void)tokenizer.decode(encoding.ids, random() % 2, random() % 2).value();
  }
}

// The normalized text at the offsets is the token: single characters, and words without neighbours.
TEST(HostileText, TheTextAtTheOffsetsTokenizesToTheTokenAgain) {
  TinyTokenizer tiny;
  tiny.normalizer = test::kBertNormalizer;
  tiny.vocab = {"[UNK]"};
  for (char c = 'a'; c <= 'z'; ++c) {
    tiny.vocab.emplace_back(1, c);
    tiny.vocab.push_back(std::string("##") + c);
  }
  for (const char* token : {"中", "한", "##국", "##th", "##e", "the", "##ing", "!", "é"}) {
    if (std::find(tiny.vocab.begin(), tiny.vocab.end(), token) == tiny.vocab.end()) tiny.vocab.emplace_back(token);
  }
  const Tokenizer tokenizer = make(tiny);
  std::mt19937 random(11);
  const std::u16string_view parts[] = {u"the",     u"É",      u"x", u" ",  u"中", u"ING",    u"!",
                                       u"e\u0301", u"\u200b", u"ﬁ", u"\t", u"Å",  u"\u0000", u"z\u0323\u0307"};
  for (int round = 0; round < 2000; ++round) {
    std::u16string text;
    for (std::size_t i = random() % 20; i > 0; --i) text += parts[random() % std::size(parts)];
    const Encoding encoding = encode(tokenizer, text);
    const std::vector<std::u16string> slices = test::slices_of(text, encoding);
    for (std::size_t i = 0; i < encoding.size(); ++i) {
      if (encoding.ids[i] == 0) continue;
      std::string token(tokenizer.id_to_token(encoding.ids[i]));
      if (token.starts_with("##")) token.erase(0, 2);
      std::string again;
      for (const std::int32_t id : encode(tokenizer, slices[i]).ids) {
        const std::string part(tokenizer.id_to_token(id));
        again += part.starts_with("##") ? part.substr(2) : part;
      }
      EXPECT_EQ(again, token) << to_utf8(text);
    }
  }
}

#if !defined(__EMSCRIPTEN__)  // see linear_time.h

bool encodes_in_linear_time(const Tokenizer& tokenizer, std::u16string_view part, std::size_t units) {
  return test::takes_linear_time(
      [&](std::size_t some) {
        const std::u16string text = repeat(part, some);
        return test::seconds([&] { EXPECT_TRUE(tokenizer.encode(text, {}).ok()); });
      },
      units);
}

TEST(HostileText, TimeGrowsWithTheLength) {
#if defined(WATTN_SANITIZED)
  constexpr std::size_t kUnits = 1 << 14;  // sanitized builds are slow
#else
  constexpr std::size_t kUnits = 1 << 18;
#endif
  TinyTokenizer tiny;
  tiny.normalizer =
      R"({"type": "Sequence", "normalizers": [{"type": "NFKC"}, )" + std::string(test::kBertNormalizer) + R"(, {"type": "NFC"}]})";
  tiny.max_input_chars = "2000000000";
  tiny.added = {added_token_json("[SEP]", {"special", "lstrip", "rstrip"}), added_token_json("  ", {"rstrip"}),
                added_token_json("aaaaaaaaaaaaaaab"), added_token_json("!!!!!!!!!?", {"normalized"})};
  const Tokenizer tokenizer = make(tiny);
  for (const std::u16string_view part : {u"a", u"abc", u" ", u"!", u"\u0301", u"\u0301\u0316", u"a\u0301", u"中", u"한", u"[SEP]",
                                         u"[SEP] ", u"[", u"\u0130", u"\U0001F600", u"\uFDFA"}) {
    EXPECT_TRUE(encodes_in_linear_time(tokenizer, part, kUnits)) << to_utf8(part);
  }
}

TEST(HostileText, TimeGrowsWithTheLengthForEveryModel) {
#if defined(WATTN_SANITIZED)
  constexpr std::size_t kUnits = 1 << 12;
#else
  constexpr std::size_t kUnits = 1 << 15;
#endif
  TinyTokenizer bpe;  // byte level
  bpe.pre_tokenizer = R"({"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true})";
  bpe.post_processor = R"({"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true})";
  bpe.added = {added_token_json("<s>", {"special", "lstrip", "rstrip"}), added_token_json("  ", {"rstrip"})};
  bpe.model =
      R"({"type": "BPE", "vocab": {"a": 0, "b": 1, "\u0120": 2, "aa": 3, "ab": 4, "aaaa": 5, "ba": 6, "\u0120\u0120": 7, "!": 8},
    "merges": ["a b", "a a", "aa aa", "b a", "\u0120 \u0120"]})";
  TinyTokenizer fallback = bpe;
  fallback.pre_tokenizer = fallback.post_processor = "null";
  fallback.normalizer = R"({"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": "_"})";
  fallback.model =
      R"({"type": "BPE", "unk_token": "u", "fuse_unk": true, "byte_fallback": true, "vocab": {"u": 0, "a": 1, "<0x62>": 2, "aa": 3},
    "merges": ["a a"]})";
  TinyTokenizer unigram = fallback;
  unigram.normalizer =
      R"({"type": "SentencePiece", "user_defined": [], "add_dummy_prefix": true, "remove_extra_whitespaces": true})";
  unigram.model =
      R"({"type": "Unigram", "unk_id": 0, "vocab": [["u", 0], ["a", -1], ["aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab", -2], ["b", -1]]})";
  TinyTokenizer words = unigram;
  words.pre_tokenizer = R"({"type": "Metaspace", "replacement": "_", "prepend_scheme": "always"})";
  words.model = R"({"type": "WordLevel", "vocab": {"u": 0, "_a": 1}, "unk_token": "u"})";
  for (const TinyTokenizer& tiny : {bpe, fallback, unigram, words}) {
    const Tokenizer tokenizer = make(tiny);
    for (const std::u16string_view part :
         {u"a", u"ab", u"aab", u" ", u"!", u"\u0301", u"\u4e2d", u"a ", u"<s>", u" <s>", u"  \n", u"\U0001F600"}) {
      EXPECT_TRUE(encodes_in_linear_time(tokenizer, part, kUnits)) << to_utf8(part) << tiny.model;
    }
  }
}

#endif

}  // namespace
}  // namespace wattn
