// The fast path gives the same results as the stages. A tokenizer whose pre-tokenizer is in a Sequence of one has no fast path, so
// it serves for comparison.
#include "tokenizer/ascii_words.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <random>

#include "native/tokenizer/tiny_tokenizer.h"

namespace wattn {
namespace {

using test::added_token_json;
using test::TinyTokenizer;

constexpr const char* kOneByOne = R"({"type": "Sequence", "pretokenizers": [{"type": "BertPreTokenizer"}]})";

std::string bert_normalizer(unsigned bits) {
  const auto flag = [&](unsigned bit) { return bits >> bit & 1 ? "true" : "false"; };
  return std::string(R"({"type": "BertNormalizer", "clean_text": )") + flag(0) + R"(, "handle_chinese_chars": )" + flag(1) +
         R"(, "strip_accents": )" + flag(2) + R"(, "lowercase": )" + flag(3) + "}";
}

TinyTokenizer tiny_bert(unsigned normalizer_bits) {
  TinyTokenizer tiny;
  tiny.normalizer = bert_normalizer(normalizer_bits);
  tiny.post_processor = test::kBertTemplate;
  tiny.max_input_chars = "20";
  for (const char* token :
       {"x", "##x", "!", "[", "-", "##\u0301", "\u4e2d", "A", "##A", "i", "\u00e9", "##\u00e9", "E", "unable"}) {
    tiny.vocab.emplace_back(token);
  }
  return tiny;
}

void expect_same(const Encoding& fast, const Encoding& stages, std::u16string_view text) {
  EXPECT_EQ(fast.ids, stages.ids) << to_utf8(text);
  EXPECT_EQ(fast.offsets, stages.offsets) << to_utf8(text);
  EXPECT_EQ(fast.word_ids, stages.word_ids) << to_utf8(text);
}

std::u16string random_text(std::mt19937& random) {
  static constexpr std::u16string_view kParts[] = {u" ",          u" ",
                                                   u"  ",         u"a",
                                                   u"ab ",        u"ABC ",
                                                   u"unable",     u" un",
                                                   u"!",          u"...",
                                                   u"[",          u"[SEP]",
                                                   u"[SEP",       u"[X]",
                                                   u" x",         u"\t",
                                                   u"\n",         u"\r\n",
                                                   u"\u00e9",     u"\u00c9a",
                                                   u"e\u0301",    u"\u0301",
                                                   u"\u0344",     u"\u0323",
                                                   u"\u4e2d",     u"\u3000",
                                                   u"\u00a0",     u"\u0130",
                                                   u"\u2013",     u"\ufffd",
                                                   u"\xd800",     u"\xde00",
                                                   u"\U0001F600", u"\u200b",
                                                   u"\x0b",       u"\x1c",
                                                   u"\x7f",       u"aaaaaaaaaaaaaaa",
                                                   u"bbbbbbbb",   u"-x-"};
  std::u16string text;
  for (std::size_t i = random() % 24; i > 0; --i) {
    if (random() % 8 == 0)
      text += static_cast<char16_t>(random() % 4 ? random() % 0x80 : random());
    else
      text += kParts[random() % std::size(kParts)];
    if (random() % 16 == 0) text += u" a plain stretch of some words ";
  }
  if (random() % 4 == 0) text.insert(random() % (text.size() + 1), 1, u'\0');
  return text;
}

TEST(AsciiWords, AgreesWithTheStagesOnRandomTexts) {
  const std::vector<std::string> added[] = {
      {},
      {added_token_json("[SEP]", {"special"}), added_token_json("[X]", {"lstrip", "rstrip"})},
      {added_token_json(" x", {"single_word"}), added_token_json("\u00c9a"), added_token_json("a b c d e f g h i")}};
  std::mt19937 random(5);
  for (unsigned variant = 0; variant < 48; ++variant) {
    TinyTokenizer tiny = tiny_bert(variant % 16);
    tiny.added = added[variant / 16];
    const Tokenizer fast = test::make(tiny);
    tiny.pre_tokenizer = kOneByOne;
    const Tokenizer stages = test::make(tiny);
    for (int round = 0; round < 100; ++round) {
      const std::u16string text = random_text(random);
      EncodeOptions options;
      options.split_special_tokens = random() % 4 == 0;
      expect_same(test::encode(fast, text, options), test::encode(stages, text, options), text);
    }
  }
}

std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

TEST(AsciiWords, AgreesWithTheStagesOnRealTexts) {
  const std::string data = test::shared_data();
  if (data.empty()) GTEST_SKIP() << "no shared data";
  const std::string json = read_text(data + "tokenizers/bert-base-uncased/tokenizer.json");
  const std::string pre_tokenizer = R"({"type":"BertPreTokenizer"})";
  const std::size_t at = json.find(pre_tokenizer);
  ASSERT_NE(at, std::string::npos);
  Result<Tokenizer> fast = test::load_text(json);
  Result<Tokenizer> stages = test::load_text(std::string(json).replace(at, pre_tokenizer.size(), kOneByOne));
  ASSERT_TRUE(fast.ok() && stages.ok());
  std::string text = read_text(data + "text/wikitext2/wiki.valid.raw").substr(0, 100'000);
  for (std::size_t begin = 0, end = 0; end < text.size(); begin = end + 1) {
    end = std::min(text.find('\n', begin), text.size());
    const std::u16string line = to_utf16(std::string_view(text).substr(begin, end - begin));
    expect_same(test::encode(fast.value(), line), test::encode(stages.value(), line), line);
  }
}

// The stages of a tiny tokenizer, by themselves.
struct Stages {
  explicit Stages(const TinyTokenizer& tiny)
      : json(Json::parse(tiny.json(), "tokenizer.json").value()),
        normalizer(read_normalizer(json.root()["normalizer"]).value()),
        pre_tokenizer(read_pre_tokenizer(json.root()["pre_tokenizer"]).value()),
        model(read_model(json.root()["model"]).value()),
        added(AddedTokens::from_json(json.root()["added_tokens"], *model, normalizer.get()).value()),
        words(AsciiWords::make(normalizer.get(), pre_tokenizer.get(), added, *model)) {}
  Json json;
  std::unique_ptr<Normalizer> normalizer;
  std::unique_ptr<PreTokenizer> pre_tokenizer;
  std::unique_ptr<TokenModel> model;
  AddedTokens added;
  std::unique_ptr<AsciiWords> words;
};

TEST(AsciiWords, ReadsPlainTextUpToTheFirstOtherWord) {
  const Stages stages(tiny_bert(15));
  ASSERT_TRUE(stages.words);
  TextTokens out;
  EXPECT_EQ(stages.words->tokenize(u"Ab,  c! [x", 0, out), 10u);
  EXPECT_EQ(out.num_words, 6);
  out.clear();
  EXPECT_EQ(stages.words->tokenize(u"ab a\u00e9 b", 0, out), 3u);
  EXPECT_EQ(out.num_words, 1);
  EXPECT_EQ(stages.words->tokenize(std::u16string_view(u"a b\0c", 5), 0, out), 2u);
}

TEST(AsciiWords, EndsTheSlowPathAtWhitespaceALittleLater) {
  TinyTokenizer tiny = tiny_bert(15);
  tiny.added = {added_token_json("[SEP]", {"special"})};
  const Stages stages(tiny);
  ASSERT_TRUE(stages.words);
  EXPECT_EQ(stages.words->slow_path_end(u"\u00e9 a b", 0), 5u);
  EXPECT_EQ(stages.words->slow_path_end(u"\u00e9 abcdefghi abcdefghi abc", 0), 21u);
  EXPECT_EQ(stages.words->slow_path_end(u"\u00e9 abcdefghi \u00e9 abcdefghi abc", 0), 27u);
  EXPECT_EQ(stages.words->slow_path_end(u"\u00e9 [SEP", 0), 6u);
  EXPECT_EQ(stages.words->slow_path_end(u"\u00e9 [SEP]", 0), std::nullopt);
}

TEST(AsciiWords, ExistsOnlyForStagesThatDescribeThemselves) {
  TinyTokenizer tiny = tiny_bert(15);
  tiny.pre_tokenizer = kOneByOne;
  EXPECT_FALSE(Stages(tiny).words);
  tiny = tiny_bert(15);
  tiny.normalizer = R"({"type": "NFC"})";
  EXPECT_FALSE(Stages(tiny).words);
  tiny = tiny_bert(15);
  tiny.added = {added_token_json("[X]", {"normalized"})};
  EXPECT_FALSE(Stages(tiny).words);
}

}  // namespace
}  // namespace wattn
