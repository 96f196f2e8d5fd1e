// The fast path of byte-level BPE gives the same results as the stages, which serve where tokens' strings are wanted.
#include "tokenizer/byte_words.h"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <random>
#include <set>

#include "native/tokenizer/linear_time.h"
#include "native/tokenizer/tiny_tokenizer.h"
#include "tokenizer/byte_alphabet.h"
#include "tokenizer/regex/regex.h"
#include "tokenizer/unicode.h"
#include "tokenizer/word_pattern.h"

namespace wattn {
namespace {

using test::added_token_json;
using test::TinyTokenizer;

constexpr std::string_view kGpt2 = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
constexpr std::string_view kOwnGpt2 = R"('(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
constexpr std::string_view kLlama3 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kQwen2 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kQwen35 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kO200k =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
    R"(\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kTekken = R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|)"
                                     R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|)"
                                     R"(\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kPatterns[] = {kGpt2, kOwnGpt2, kLlama3, kQwen2, kQwen35, kO200k, kTekken};

std::string split_json(std::string_view regex) {
  return R"({"type": "Split", "pattern": {"Regex": )" + json_text(regex) + R"(}, "behavior": "Isolated", "invert": false})";
}
std::string bytes_json(bool use_regex) {
  return R"({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": )" +
         std::string(use_regex ? "true}" : "false}");
}
std::string sequence_json(const std::vector<std::string>& steps) {
  std::string out;
  for (const std::string& step : steps) out += (out.empty() ? "" : ", ") + step;
  return R"({"type": "Sequence", "pretokenizers": [)" + out + "]}";
}

// Words, runs and characters at which the patterns, and rules of text, turn.
std::u16string hostile_text(std::mt19937& random) {
  static constexpr std::u16string_view kParts[] = {u" ",
                                                   u" ",
                                                   u"  ",
                                                   u"\n",
                                                   u"\r\n",
                                                   u"\n\n",
                                                   u"\t",
                                                   u"\u00A0",
                                                   u"\u3000",
                                                   u"\u2028",
                                                   u"\u0085",
                                                   u"\v",
                                                   u"the",
                                                   u"The",
                                                   u" quick",
                                                   u"HTTPServer",
                                                   u"iPhone",
                                                   u"\u00e9t\u00e9",
                                                   u"stra\u00dfe",
                                                   u"\u01C5",
                                                   u"\u0130",
                                                   u"'s",
                                                   u"'S",
                                                   u"'ll",
                                                   u"'LL",
                                                   u"'Re",
                                                   u"'\u017F",
                                                   u"'",
                                                   u"''",
                                                   u"\u2019s",
                                                   u"don't",
                                                   u"I'VE",
                                                   u"1",
                                                   u"12",
                                                   u"12345",
                                                   u"\u0663\u0664",
                                                   u"\u00bd",
                                                   u"\u2167",
                                                   u"!",
                                                   u"...",
                                                   u"?!\n",
                                                   u"/",
                                                   u"!/\r\n/",
                                                   u"//\n",
                                                   u"_",
                                                   u"e\u0301",
                                                   u"\u0301",
                                                   u"\u0301\u0302",
                                                   u"\u0903",
                                                   u"\u20DD",
                                                   u"\u4e2d\u56fd",
                                                   u"\u4eba\u6c11\u5171\u548c\u56fd",
                                                   u"\u65e5\u672c\u8a9e\u3092",
                                                   u"\u02b0",
                                                   u"\u0939\u093f\u0928\u094d\u0926\u0940",
                                                   u"\u0e44\u0e17\u0e22",
                                                   u"\ud55c\uad6d",
                                                   u"\u1112\u1161\u11ab",
                                                   u"\u0410\u043d\u043d\u0430",
                                                   u"\U0001F600",
                                                   u"\U0001F468\u200d\U0001F469\u200d\U0001F467",
                                                   u"\U0001F1E9\U0001F1EA",
                                                   u"\uFE0F",
                                                   u"\U00010400",
                                                   u"\U00011DE0",
                                                   u"\U0001D7D8",
                                                   u"\U000E0001",
                                                   u"\U000FFFFE",
                                                   u"\u0378",
                                                   u"\uFFFD",
                                                   u"\u200b",
                                                   u"\u00ad",
                                                   u"\uFEFF",
                                                   u"<|end|>",
                                                   u"<|",
                                                   u"<pad>",
                                                   u" <mask> ",
                                                   u"xx",
                                                   u"if (a[i] == 0) {\n    return",
                                                   u"0x1F",
                                                   u"#include",
                                                   u"A\u4e2dB"};
  std::u16string text;
  for (std::size_t i = random() % 14; i > 0; --i) {
    const auto kind = random() % 16;
    if (kind == 0) {
      text.push_back(static_cast<char16_t>(random()));  // any unit, lone surrogates too
    } else if (kind == 1) {
      text.push_back(static_cast<char16_t>(random() % 0x80));
    } else if (kind == 2) {
      text.append(1 + random() % 40, u" \nab1'"[random() % 6]);
    } else {
      text += kParts[random() % std::size(kParts)];
    }
  }
  return text;
}

TEST(WordPattern, KindsAreThoseOfTheRegularExpressions) {
  const auto in = [](std::u32string_view set, char32_t c) {
    static std::map<std::u32string_view, Regex> all;
    auto found = all.find(set);
    if (found == all.end()) found = all.emplace(set, Regex::compile(set).value()).first;
    std::vector<TextMatch> matches;
    found->second.find_all(std::u32string(1, c), matches);
    return !matches.empty();
  };
  for (char32_t c = 0; c < 0x110000; ++c) {
    if (c >= 0x30000 && c % 101 != 0) continue;
    const unsigned kind = c < 0x80 ? unsigned{kAsciiKinds[c]} : unsigned{char_kind(c)};
    ASSERT_EQ((kind & kKindUpper) != 0, in(UR"([\p{Lu}\p{Lt}\p{Lm}\p{Lo}])", c)) << static_cast<unsigned>(c);
    ASSERT_EQ((kind & kKindLower) != 0, in(UR"([\p{Ll}\p{Lm}\p{Lo}])", c)) << static_cast<unsigned>(c);
    ASSERT_EQ((kind & kKindMark) != 0, in(UR"(\p{M})", c)) << static_cast<unsigned>(c);
    ASSERT_EQ((kind & kKindNumber) != 0, in(UR"(\p{N})", c)) << static_cast<unsigned>(c);
    ASSERT_EQ((kind & (kKindNumber | kKindNewNumber)) != 0, has_flag(c, kCharNumber)) << static_cast<unsigned>(c);
    ASSERT_EQ((kind & kKindSpace) != 0, in(UR"(\s)", c)) << static_cast<unsigned>(c);
    ASSERT_EQ((kind & kKindNewline) != 0, c == U'\r' || c == U'\n') << static_cast<unsigned>(c);
  }
}

TEST(WordPattern, DividesAsTheRegularExpression) {
  std::mt19937 random(11);
  for (const std::string_view regex : kPatterns) {
    const std::optional<WordPattern> pattern = WordPattern::read(regex);
    ASSERT_TRUE(pattern.has_value()) << regex;
    const Regex slow = Regex::compile(to_utf32(regex)).value();
    for (int round = 0; round < 20000; ++round) {
      const std::string text = to_utf8(hostile_text(random));
      std::vector<TextMatch> matches;
      slow.find_all(to_utf32(text), matches);
      const char* const end = text.data() + text.size();
      const char* at = text.data();
      for (const TextMatch& match : matches) {
        const std::string word = to_utf8(to_utf32(text).substr(match.begin, match.end - match.begin));
        const char* const next = pattern->word_end(at, end);
        ASSERT_EQ(std::string(at, next), word) << regex << "\n" << json_text(text) << " at " << at - text.data();
        at = next;
      }
      ASSERT_EQ(at, end) << json_text(text);
    }
  }
}

TEST(WordPattern, LeavesOtherPatternsAlone) {
  for (const std::string_view regex : {R"(\w+|\W+)", "", R"( ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S))"}) {
    EXPECT_FALSE(WordPattern::read(regex).has_value()) << regex;
  }
  for (const std::string_view regex : kPatterns) {
    EXPECT_FALSE(WordPattern::read(std::string(regex) + "|x").has_value());
    EXPECT_FALSE(WordPattern::read(regex.substr(1)).has_value());
  }
}

// A byte-level BPE with merges of random neighbours in hostile texts, some of which make a token in two ways.
std::string random_bpe(unsigned seed, bool ignore_merges) {
  std::mt19937 random(seed);
  std::vector<std::string> tokens;
  for (const std::uint16_t c : kByteChars) tokens.push_back(to_utf8(std::u32string(1, c)));
  std::vector<std::pair<std::string, std::string>> merges;
  std::set<std::string> known(tokens.begin(), tokens.end());
  std::set<std::pair<std::string, std::string>> used;
  for (int round = 0; round < 400; ++round) {
    const std::string text = to_utf8(hostile_text(random));
    std::vector<std::string> word;
    for (const char c : text) word.push_back(tokens[static_cast<unsigned char>(c)]);
    for (int merge = 0; merge < 6 && word.size() > 1; ++merge) {
      for (std::size_t i = 0; i + 1 < word.size(); ++i) {  // so that longer ones come about
        if (!used.count({word[i], word[i + 1]})) continue;
        word[i] += word[i + 1];
        word.erase(word.begin() + static_cast<std::ptrdiff_t>(i) + 1);
      }
      if (word.size() < 2) break;
      const std::size_t at = random() % (word.size() - 1);
      if (word[at].size() + word[at + 1].size() > 40 || !used.insert({word[at], word[at + 1]}).second) continue;
      merges.emplace_back(word[at], word[at + 1]);
      known.insert(word[at] + word[at + 1]);
    }
  }
  tokens.assign(known.begin(), known.end());
  std::shuffle(tokens.begin(), tokens.end(), random);
  std::string vocab, list;
  for (std::size_t i = 0; i < tokens.size(); ++i) vocab += (i ? ", " : "") + json_text(tokens[i]) + ": " + std::to_string(i);
  for (const auto& [left, right] : merges) list += (list.empty() ? "[" : ", [") + json_text(left) + ", " + json_text(right) + "]";
  return R"({"type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null, "end_of_word_suffix": null,
    "fuse_unk": false, "byte_fallback": false, "ignore_merges": )" +
         std::string(ignore_merges ? "true" : "false") + R"(, "vocab": {)" + vocab + R"(}, "merges": [)" + list + "]}";
}

TinyTokenizer tiny_bpe(unsigned seed) {
  TinyTokenizer tiny;
  tiny.model = random_bpe(seed, seed % 2 == 0);
  tiny.decoder = bytes_json(true);
  return tiny;
}

void expect_same(const Tokenizer& tokenizer, std::u16string_view text, EncodeOptions options) {
  const Encoding fast = tokenizer.encode(text, options).value();
  options.return_tokens = true;
  const Encoding stages = tokenizer.encode(text, options).value();
  options.return_tokens = false;
  options.ids_only = true;
  const Encoding ids = tokenizer.encode_utf8(to_utf8(text), options).value();
  const std::string shown = json_text(to_utf8(text));
  ASSERT_EQ(fast.ids, stages.ids) << shown;
  ASSERT_EQ(fast.offsets, stages.offsets) << shown;
  ASSERT_EQ(fast.word_ids, stages.word_ids) << shown;
  ASSERT_EQ(fast.sequence_ids, stages.sequence_ids) << shown;
  ASSERT_EQ(fast.num_tokens_untruncated, stages.num_tokens_untruncated) << shown;
  ASSERT_EQ(ids.ids, stages.ids) << shown;
  ASSERT_EQ(ids.num_tokens_untruncated, stages.num_tokens_untruncated) << shown;
  ASSERT_TRUE(ids.offsets.empty());
}

TEST(ByteWords, EncodesAsTheStages) {
  std::mt19937 random(5);
  unsigned seed = 0;
  for (const std::string& pre_tokenizer :
       {bytes_json(true), sequence_json({split_json(kGpt2), bytes_json(false)}),
        sequence_json({split_json(kLlama3), bytes_json(false)}), sequence_json({split_json(kQwen2), bytes_json(false)}),
        sequence_json({split_json(kQwen35), bytes_json(false)}), sequence_json({split_json(kO200k), bytes_json(false)}),
        sequence_json({split_json(kTekken), bytes_json(false)}),
        sequence_json({R"({"type": "Digits", "individual_digits": true})", bytes_json(true)})}) {
    for (const char* normalizer : {"null", R"({"type": "NFC"})"}) {
      TinyTokenizer tiny = tiny_bpe(++seed);
      tiny.pre_tokenizer = pre_tokenizer;
      tiny.normalizer = normalizer;
      tiny.added = {added_token_json("<|end|>", {"special"}), added_token_json("<pad>", {"normalized"}),
                    added_token_json("<mask>", {"lstrip", "rstrip"}), added_token_json("xx", {"single_word", "normalized"})};
      if (seed % 3 == 0) tiny.added.push_back(added_token_json("  ", {"normalized"}));
      if (seed % 4 < 2)
        tiny.post_processor = R"({"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true})";
      const Tokenizer tokenizer = test::make(tiny);
      for (int round = 0; round < 1500; ++round) {
        EncodeOptions options;
        options.split_special_tokens = random() % 4 == 0;
        if (random() % 4 == 0) options.max_length = static_cast<std::int32_t>(random() % 9);
        ASSERT_NO_FATAL_FAILURE(expect_same(tokenizer, hostile_text(random), options)) << pre_tokenizer;
      }
    }
  }
}

// Words longer than any cache takes, and texts that fill them.
TEST(ByteWords, EncodesLongWordsAsTheStages) {
  std::mt19937 random(6);
  for (unsigned seed = 0; seed < 4; ++seed) {
    TinyTokenizer tiny = tiny_bpe(seed);
    tiny.pre_tokenizer = bytes_json(true);
    const Tokenizer tokenizer = test::make(tiny);
    for (int round = 0; round < 60; ++round) {
      std::u16string text;
      for (int part = 0; part < 40; ++part) {
        std::u16string run = hostile_text(random);
        std::erase_if(run, [](char16_t c) { return c == u' ' || c == u'\n'; });
        text += run + (random() % 8 ? u"" : u" ");
      }
      text.append(random() % 400, u"a\u4e2d "[random() % 3]);
      ASSERT_NO_FATAL_FAILURE(expect_same(tokenizer, text, {}));
    }
  }
}

TEST(ByteWords, TakesLinearTimeForOneWord) {
  TinyTokenizer tiny = tiny_bpe(1);
  tiny.pre_tokenizer = bytes_json(true);
  const Tokenizer tokenizer = test::make(tiny);
  for (const std::string_view part : {"a", "ab", "\xE4\xB8\xAD\xE5\x9B\xBD", "'", "<|"}) {
    const auto seconds_for = [&](std::size_t size) {
      std::string text;
      while (text.size() < size) text += part;
      return test::seconds([&] { (void)tokenizer.encode_utf8(text, {.ids_only = true}).value(); });
    };
    EXPECT_TRUE(test::takes_linear_time(seconds_for, 1 << 18)) << part;
  }
}

}  // namespace
}  // namespace wattn
