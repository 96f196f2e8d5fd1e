// Decoding by a table gives the same texts as the decoders over lists of tokens.
#include "tokenizer/decode_table.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "core/json.h"
#include "native/tokenizer/tiny_tokenizer.h"

namespace wattn {
namespace {

using test::added_token_json;
using test::make;
using test::TinyTokenizer;

TinyTokenizer tiny_with(const std::string& decoder) {
  TinyTokenizer tiny;
  tiny.decoder = decoder;
  tiny.vocab = {"[UNK]",
                "▁",
                "▁▁",
                "▁do",
                "##ed",
                "not",
                "'",
                "'m",
                "<0xE4>",
                "<0xB8>",
                "<0xAD>",
                "<0x41>",
                "<0x4>",
                "<0xzz>",
                "Ġthe",
                "Ã",
                "©",
                "Ã©",
                "ä¸",
                "Ń",
                "x",
                "xx",
                "",
                ".",
                "▁a▁b▁",
                "a##ed▁",
                "中",
                "Ġwordsof15b",
                "Ġ",
                "ĠĠĠĠĠĠĠĠĠĠĠĠĠĠĠĠĠ",
                std::string(13, 'y'),
                std::string(14, 'y'),
                std::string(15, 'y'),
                std::string(300, 'z'),
                std::string(1000, 'w')};
  tiny.added = {added_token_json("[SEP]", {"special"}), added_token_json("[KEEP]", {})};
  return tiny;
}

std::string sequence(const std::vector<std::string>& steps) {
  std::string out;
  for (const std::string& step : steps) out += (out.empty() ? "" : ", ") + step;
  return R"({"type": "Sequence", "decoders": [)" + out + "]}";
}

const std::string kReplace = R"({"type": "Replace", "pattern": {"String": "▁"}, "content": " "})";
const std::string kBytes = R"({"type": "ByteFallback"})";
const std::string kFuse = R"({"type": "Fuse"})";
const std::string kStrip = R"({"type": "Strip", "content": " ", "start": 1, "stop": 0})";
const std::string kStripX = R"({"type": "Strip", "content": "x", "start": 1, "stop": 1})";
const std::string kByteLevel = R"({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true})";
const std::string kMetaspace = R"({"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always"})";
const std::string kBeginning = R"({"type": "SentencePiece", "remove_extra_whitespaces": true})";
const std::string kOneMark = R"({"type": "SentencePiece", "remove_extra_whitespaces": false})";
const std::string kWordPiece = R"({"type": "WordPiece", "prefix": "##", "cleanup": true})";

const std::vector<std::string>& with_table() {
  static const std::vector<std::string> kAll = {
      kByteLevel,
      kMetaspace,
      kWordPiece,
      R"({"type": "WordPiece", "prefix": "##", "cleanup": false})",
      R"({"type": "Metaspace", "replacement": "▁", "prepend_scheme": "never"})",
      kFuse,
      kReplace,
      kStripX,
      sequence({kReplace, kBytes, kFuse, kStrip}),
      sequence({kReplace, kBytes, kFuse}),
      sequence({kReplace, kBytes}),
      sequence({kBeginning, kReplace, kBytes, kFuse}),
      sequence({kOneMark, kReplace, kBytes, kFuse}),
      sequence({kBytes, kFuse, kMetaspace}),
      sequence({kStripX, kMetaspace}),
      sequence({kMetaspace, kStripX, kFuse}),
      sequence({kByteLevel, R"({"type": "WordEnd", "suffix": "x"})"}),
      sequence({sequence({kReplace}), sequence({kBytes, kFuse}), kStrip}),
      sequence({kFuse, R"({"type": "BPEDecoder", "suffix": "y"})"}),
  };
  return kAll;
}

const std::vector<std::string>& without_table() {
  static const std::vector<std::string> kAll = {
      R"({"type": "BPEDecoder", "suffix": "y"})",
      R"({"type": "CTC", "pad_token": "x", "word_delimiter_token": "▁", "cleanup": true})",
      sequence({}),
      sequence({kBytes, kReplace, kFuse}),
      sequence({kReplace, kBeginning, kFuse}),
      sequence({kMetaspace, kByteLevel}),
  };
  return kAll;
}

// What the decoders make of the tokens that are shown.
std::string by_list(const Tokenizer& tokenizer, const std::vector<std::int32_t>& ids, bool skip) {
  std::vector<std::string> tokens;
  for (const std::int32_t id : ids) {
    const std::string_view token = tokenizer.id_to_token(id);
    const bool exists = tokenizer.token_to_id(token) == id;
    if (exists && !(skip && token == "[SEP]")) tokens.emplace_back(token);
  }
  return tokenizer.tokens_to_string(tokens).value();
}

TEST(DecodeTable, GivesWhatTheDecodersGive) {
  std::mt19937 random(7);
  for (const std::vector<std::string>* decoders : {&with_table(), &without_table()}) {
    for (const std::string& decoder : *decoders) {
      const Tokenizer tokenizer = make(tiny_with(decoder));
      EXPECT_EQ(tokenizer.decodes_by_table(), decoders == &with_table()) << decoder;
      const std::int32_t most = tokenizer.num_ids() + 2;
      for (int round = 0; round < 400; ++round) {
        std::vector<std::int32_t> ids(random() % (round % 10 == 0 ? 300 : 12));
        // Half of the texts begin with many marks, or have runs of bytes.
        const int kind = static_cast<int>(random() % 4);
        for (std::int32_t& id : ids) id = static_cast<std::int32_t>(random() % static_cast<unsigned>(most)) - 1;
        for (std::size_t i = 0; kind == 0 && i < ids.size() / 2; ++i) ids[i] = 1 + static_cast<std::int32_t>(random() % 2);
        for (std::int32_t& id : ids) id = kind == 1 && random() % 3 ? 8 + static_cast<std::int32_t>(random() % 4) : id;
        for (const bool skip : {false, true}) {
          ASSERT_EQ(tokenizer.decode(ids, skip, false).value(), by_list(tokenizer, ids, skip)) << decoder << " " << round;
        }
      }
    }
  }
}

TEST(DecodeTable, KeepsRunsOfBytesTogetherAcrossWhatIsSkipped) {
  const Tokenizer tokenizer = make(tiny_with(sequence({kReplace, kBytes, kFuse, kStrip})));
  const std::int32_t sep = *tokenizer.token_to_id("[SEP]");
  EXPECT_EQ(tokenizer.decode({8, 9, sep, 10}, true, false).value(), "中");
  EXPECT_EQ(tokenizer.decode({8, -1, 9, 99, 10}, false, false).value(), "中");
  EXPECT_EQ(tokenizer.decode({8, 9, 22, 10}, false, false).value(), "\uFFFD\uFFFD\uFFFD");  // the empty token ends the run
  EXPECT_EQ(tokenizer.decode({3, 8, 9}, false, false).value(), "do\uFFFD\uFFFD");
}

TEST(DecodeTable, KnowsTokensThatAreAddedLater) {
  Tokenizer tokenizer = make(tiny_with(kByteLevel));
  const std::int32_t next = tokenizer.num_ids();
  EXPECT_EQ(tokenizer.decode({20, next}, false, false).value(), "x");
  ASSERT_TRUE(tokenizer.add_tokens({"<later>"}).ok());
  EXPECT_EQ(tokenizer.decode({20, next}, false, false).value(), "x<later>");
  EXPECT_EQ(tokenizer.decode({20, next}, true, false).value(), "x");
}

}  // namespace
}  // namespace wattn
