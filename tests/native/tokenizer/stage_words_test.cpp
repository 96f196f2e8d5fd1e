// The fast path between spaces gives the same ids as the stages, which serve where tokens' strings are wanted.
#include "tokenizer/stage_words.h"

#include <gtest/gtest.h>

#include <random>

#include "native/tokenizer/linear_time.h"
#include "native/tokenizer/tiny_tokenizer.h"

namespace wattn {
namespace {

using test::added_token_json;

struct Case {
  std::string normalizer, pre_tokenizer, model, added = "";
  bool is_fast = true;
};

constexpr const char* kReplaceSpaces =
    R"({"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "▁"}, {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}]})";
constexpr const char* kAlbert =
    R"({"type": "Sequence", "normalizers": [{"type": "Replace", "pattern": {"String": "``"}, "content": "\""}, {"type": "NFKD"},
        {"type": "StripAccents"}, {"type": "Lowercase"}, {"type": "Nmt"}, {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "},
        {"type": "Strip", "strip_left": %LEFT%, "strip_right": true}]})";
constexpr const char* kTwoSteps =
    R"({"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always"}]})";

std::string with(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != text.npos; at = text.find(from, at + to.size())) text.replace(at, from.size(), to);
  return text;
}
std::string metaspace(const char* scheme, const char* split = "true") {
  return with(R"({"type": "Metaspace", "replacement": "▁", "prepend_scheme": ")" + std::string(scheme) + R"(", "split": %})", "%",
              split);
}

std::string bpe(std::initializer_list<const char*> merges, const char* more = "") {
  std::vector<std::string> tokens;
  for (const char* token :
       {"<unk>", "▁", "a", "b", "c", "x", ",", "é", "e", "▁▁", "▁a", "ab", "▁ab", "abc", "▁b", "a▁", "<0xE4>", "<0xB8>"}) {
    tokens.emplace_back(token);
  }
  std::string list;
  for (const char* merge : merges) list += (list.empty() ? "\"" : ", \"") + std::string(merge) + "\"";
  return R"({"type": "BPE", "unk_token": "<unk>", "fuse_unk": true, "byte_fallback": true, "vocab": )" + test::vocab_json(tokens) +
         ", \"merges\": [" + list + "]" + more + "}";
}
const std::string kBpe = bpe({"▁ ▁", "▁ a", "a b", "▁ ab", "ab c", "▁ b"});

std::string unigram() {
  std::string vocab;
  double score = -1;
  for (const char* token :
       {"<unk>", "▁", "a", "b", "c", "x", ",", "\\\"", "e", "é", "▁a", "ab", "▁ab", "abc", "▁▁", "▁x", "a▁b", "ee", "中"}) {
    vocab += (vocab.empty() ? "[\"" : ", [\"") + std::string(token) + "\", " + std::to_string(score -= 0.37) + "]";
  }
  return R"({"type": "Unigram", "unk_id": 0, "vocab": [)" + vocab + "]}";
}

std::string word_piece() {
  std::vector<std::string> tokens;
  for (const char* token :
       {"[UNK]", "a", "b", "c", "##a", "##b", "##c", "ab", "##bc", "x", "##x", ",", "`", "e", "##e", "é", "##é", "中", "[", "]"}) {
    tokens.emplace_back(token);
  }
  return R"({"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 20, "vocab": )" +
         test::vocab_json(tokens) + "}";
}

std::vector<Case> cases() {
  std::vector<Case> all;
  const std::string raw = added_token_json("<s>", {"special"}), normalized = added_token_json("<s>", {"normalized", "special"});
  const std::string strips = added_token_json("<m>", {"lstrip", "rstrip"}), spaces = added_token_json("▁▁"),
                    inner = added_token_json("a b");
  const std::string bert = with(test::kBertNormalizer, "true", "true"),
                    cased = with(bert, R"("lowercase": true)", R"("lowercase": false)");
  const std::string bert_words = R"({"type": "BertPreTokenizer"})";
  for (const std::string& added : {std::string(), raw, normalized, strips, raw + ", " + strips, spaces, inner}) {
    const std::size_t first = all.size();
    all.push_back({bert, bert_words, word_piece(), added});
    all.push_back({cased, bert_words, word_piece(), added});
    all.push_back(
        {with(bert, R"("handle_chinese_chars": true)", R"("handle_chinese_chars": false)"), bert_words, word_piece(), added});
    all.push_back({with(bert, R"("clean_text": true)", R"("clean_text": false)"), bert_words, word_piece(), added});
    all.push_back({kReplaceSpaces, "null", kBpe, added});
    all.push_back({"null", metaspace("first", "false"), kBpe, added});
    all.push_back({"null", metaspace("never"), kBpe, added});
    all.push_back({"null", kTwoSteps, unigram(), added});
    for (const char* left : {"true", "false"}) {
      all.push_back({with(kAlbert, "%LEFT%", left), kTwoSteps, unigram(), added});
      for (const char* scheme : {"always", "first", "never"})
        all.push_back({with(kAlbert, "%LEFT%", left), metaspace(scheme), unigram(), added});
    }
    all.push_back(
        {R"({"type": "Sequence", "normalizers": [{"type": "NFKC"}, {"type": "Strip", "strip_left": true, "strip_right": true}]})",
         metaspace("always"), unigram(), added});
    all.push_back(
        {R"({"type": "Lowercase"})",
         R"({"type": "Sequence", "pretokenizers": [{"type": "Punctuation", "behavior": "Isolated"}, )" + metaspace("first") + "]}",
         unigram(), added});
    for (std::size_t i = first; i < all.size(); ++i) {
      const bool is_bert = all[i].pre_tokenizer == bert_words;
      all[i].is_fast = is_bert ? added != normalized : added != inner;
    }
  }
  // These have no such path: a token goes on after a space, a piece may, a word may be a token, punctuation takes the space.
  all.push_back({kReplaceSpaces, "null", bpe({"▁ a", "a ▁", "a b"}), "", false});
  all.push_back({kReplaceSpaces, "null", unigram(), "", false});
  all.push_back({kReplaceSpaces, "null", bpe({"▁ a", "a b"}, R"(, "ignore_merges": true)"), "", false});
  all.push_back({"null",
                 R"({"type": "Sequence", "pretokenizers": [{"type": "Punctuation", "behavior": "MergedWithNext"}, )" +
                     metaspace("first") + "]}",
                 unigram(), "", false});
  all.push_back({R"({"type": "Replace", "pattern": {"String": "a b"}, "content": "x"})", metaspace("first"), unigram(), "", false});
  all.push_back(
      {R"({"type": "Replace", "pattern": {"Regex": "a\\s+b"}, "content": "x"})", metaspace("first"), unigram(), "", false});
  return all;
}

Result<Tokenizer> made(const Case& of) {
  const Result<Json> json =
      Json::parse(R"({"version": "1.0", "added_tokens": [)" + of.added + R"(], "normalizer": )" + of.normalizer +
                      R"(, "pre_tokenizer": )" + of.pre_tokenizer + R"(, "model": )" + of.model + "}",
                  "tokenizer.json");
  return json.ok() ? Tokenizer::from_json(json.value().root()) : Result<Tokenizer>(json.error());
}

std::string random_text(std::mt19937& random) {
  static constexpr const char* kParts[] = {" ",
                                           " ",
                                           " ",
                                           "  ",
                                           "\t",
                                           "\n",
                                           "\r\n",
                                           "a",
                                           "ab",
                                           "abc",
                                           "b",
                                           "x",
                                           "ABC",
                                           ",",
                                           "``",
                                           "`",
                                           "\"",
                                           "é",
                                           "É",
                                           "é",
                                           "́",
                                           "中",
                                           "中中",
                                           "　",
                                           " ",
                                           "​",
                                           "▁",
                                           "▁▁",
                                           "<s>",
                                           "<m>",
                                           "a b",
                                           "[",
                                           "<",
                                           "\x1f",
                                           "—",
                                           "؀",
                                           "ab, abc",
                                           "a\u4dc0b",
                                           "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
                                           "abcabcabcabcabc",
                                           "ＡＢ",
                                           "ﬁ",
                                           "\x01",
                                           "~"};
  std::string text;
  for (std::size_t i = random() % 16; i > 0; --i) text += kParts[random() % std::size(kParts)];
  return text;
}

TEST(StageWords, GiveTheIdsOfTheStages) {
  std::mt19937 random(5);
  for (const Case& each : cases()) {
    const Result<Tokenizer> tokenizer = made(each);
    ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().message;
    for (int round = 0; round < 1500; ++round) {
      const std::string text = random_text(random);
      for (const bool leaves : {false, true}) {
        const EncodeOptions fast{.split_special_tokens = leaves, .ids_only = true},
            stages{.split_special_tokens = leaves, .return_tokens = true};
        const Result<Encoding> found = tokenizer.value().encode_utf8(text, fast),
                               expected = tokenizer.value().encode_utf8(text, stages);
        ASSERT_EQ(found.ok(), expected.ok()) << json_text(text);
        ASSERT_EQ(found.value().ids, expected.value().ids)
            << json_text(text) << " " << each.normalizer << each.pre_tokenizer << each.model << each.added;
        ASSERT_EQ(found.value().unknown, expected.value().unknown) << json_text(text);
      }
    }
  }
}

TEST(StageWords, ServeTheStagesThatTellHowTheyCut) {
  const auto read = [](const std::string& text) { return Json::parse(text, "tokenizer.json").value(); };
  for (const Case& each : cases()) {
    const Json normalizer_json = read(each.normalizer), words_json = read(each.pre_tokenizer), model_json = read(each.model);
    const auto normalizer = each.normalizer == "null" ? nullptr : read_normalizer(normalizer_json.root()).value();
    const auto pre_tokenizer = each.pre_tokenizer == "null" ? nullptr : read_pre_tokenizer(words_json.root()).value();
    const auto model = read_model(model_json.root()).value();
    const AddedTokens added = AddedTokens::from_json(read("[" + each.added + "]").root(), *model, normalizer.get()).value();
    const auto words = kStageWords.make(normalizer.get(), pre_tokenizer.get(), added, *model);
    for (const char* text : {"ab", " ab a,  b é", "abc ab\n"}) {
      TextTokens out;
      EXPECT_EQ(words->tokenize(text, false, ByteWords::Wanted::kIds, out), each.is_fast)
          << text << each.normalizer << each.pre_tokenizer << each.model << each.added;
      EXPECT_EQ(out.ids.empty(), !each.is_fast);
    }
  }
}

TEST(StageWords, TakeLinearTime) {
  for (const Case& each : {Case{"null", kTwoSteps, unigram()}, Case{kReplaceSpaces, "null", kBpe},
                           Case{test::kBertNormalizer, R"({"type": "BertPreTokenizer"})", word_piece()}}) {
    const Tokenizer tokenizer = made(each).value();
    for (const char* part : {"ab", " ", "a ", "é", " é", "中", ", ", "<s", "\t"}) {
      const auto seconds_for = [&](std::size_t units) {
        std::string text;
        for (std::size_t i = 0; i < units; ++i) text += part;
        return test::seconds([&] { (void)tokenizer.encode_utf8(text, {.ids_only = true}); });
      };
      EXPECT_TRUE(test::takes_linear_time(seconds_for, 50000)) << part;
    }
  }
}

}  // namespace
}  // namespace wattn
