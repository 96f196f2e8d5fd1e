// Seven real BERT tokenizers against the results of the reference (tests/goldens/wordpiece). The tokenizers are not in this
// repository.
#include <gtest/gtest.h>

#include "native/tokenizer/golden_texts.h"
#include "native/tokenizer/sha256.h"
#include "native/tokenizer/tiny_tokenizer.h"
#include "tokenizer/formats/formats.h"

namespace wattn {
namespace {

using test::code_points_before;
using test::golden;
using test::golden_texts;
using test::json_list;
using test::read_file;
using test::sha256_hex;
using test::short_hash;

// JSON.stringify([ids, type_ids, special_tokens_mask, offsets]) with flat offsets in code points.
std::string canonical(const Encoding& encoding, std::u16string_view first, std::u16string_view second) {
  const std::vector<std::int32_t> before[] = {code_points_before(first), code_points_before(second)};
  std::vector<std::int32_t> offsets;
  for (std::size_t i = 0; i < encoding.size(); ++i) {
    const bool special = encoding.sequence_ids[i] < 0;
    const auto& map = before[special ? 0 : encoding.sequence_ids[i]];
    offsets.push_back(special ? 0 : map[static_cast<std::size_t>(encoding.offsets[i].begin)]);
    offsets.push_back(special ? 0 : map[static_cast<std::size_t>(encoding.offsets[i].end)]);
  }
  return "[" + json_list(encoding.ids) + "," + json_list(encoding.type_ids) + "," + json_list(encoding.special_tokens_mask) + "," +
         json_list(offsets) + "]";
}

class WordPieceGoldens : public testing::TestWithParam<std::string> {
 protected:
  Json read_golden(const std::string& name) {
    Result<Json> json = Json::parse(read_file(golden("wordpiece/" + name)), name);
    if (!json.ok()) {
      ADD_FAILURE() << json.error().message;
      std::exit(1);
    }
    return std::move(json).value();
  }

  // The tokenizer that GetParam() names, checked by its hash.
  std::optional<Tokenizer> read_tokenizer(JsonRef about) {
    const std::string folder = test::shared_data();
    if (folder.empty()) return std::nullopt;
    const std::string bytes = read_file(folder + std::string(about["file"].as_string().value()));
    EXPECT_EQ(sha256_hex(bytes), about["sha256"].as_string().value());
    const std::string_view path = about["file"].as_string().value();
    Result<Tokenizer> tokenizer = load_tokenizer({{path.substr(path.rfind('/') + 1), bytes}});
    EXPECT_TRUE(tokenizer.ok()) << tokenizer.error().message;
    if (!tokenizer.ok()) return std::nullopt;
    return std::move(tokenizer).value();
  }
};

EncodeOptions read_truncation(JsonRef json) {
  EncodeOptions options;
  options.max_length = static_cast<std::int32_t>(json["max_length"].as_int().value());
  options.overlap = static_cast<std::int32_t>(json["stride"].as_int().value());
  options.truncation_side = json["direction"].as_string().value() == "left" ? Side::kLeft : Side::kRight;
  const std::string_view strategy = json["strategy"].as_string().value();
  options.strategy = strategy == "only_first"    ? TruncationStrategy::kOnlyFirst
                     : strategy == "only_second" ? TruncationStrategy::kOnlySecond
                                                 : TruncationStrategy::kLongestFirst;
  options.return_overflowing = true;
  return options;
}

TEST_P(WordPieceGoldens, MatchTheReference) {
  const Json about = read_golden(GetParam() + ".json");
  const std::optional<Tokenizer> tokenizer = read_tokenizer(about.root());
  if (!tokenizer) GTEST_SKIP() << "no real tokenizers (set WATTN_SHARED_DATA to the folder that has tokenizers/)";
  const JsonRef same_as = about.root()["same_as"];
  const Json answers = read_golden((same_as.exists() ? std::string(same_as.as_string().value()) : GetParam()) + ".json");
  const Json cases = read_golden("cases.json");
  ASSERT_EQ(golden_texts().size(), answers.root()["singles"].size());

  EncodeOptions without_specials;
  without_specials.add_special_tokens = false;
  for (std::size_t i = 0; i < golden_texts().size(); ++i) {
    const Encoding encoding = test::encode(*tokenizer, golden_texts()[i]);
    EXPECT_EQ(short_hash(canonical(encoding, golden_texts()[i], {})), answers.root()["singles"][i].as_string().value())
        << "text " << i;
    EXPECT_EQ(short_hash(canonical(test::encode(*tokenizer, golden_texts()[i], without_specials), golden_texts()[i], {})),
              answers.root()["without_specials"][i].as_string().value())
        << "text " << i;
    EXPECT_EQ(short_hash(tokenizer->decode(encoding.ids, false, false).value()), answers.root()["decoded"][i].as_string().value())
        << "text " << i;
    EXPECT_EQ(short_hash(tokenizer->decode(encoding.ids, true, false).value()),
              answers.root()["decoded_without_specials"][i].as_string().value())
        << "text " << i;
  }

  const auto encode_case = [&](JsonRef one, const EncodeOptions& options, std::u16string_view& first, std::u16string_view& second) {
    first = golden_texts()[static_cast<std::size_t>(one[0].as_int().value())];
    second = one[1].is_null() ? std::u16string_view() : golden_texts()[static_cast<std::size_t>(one[1].as_int().value())];
    return one[1].is_null() ? tokenizer->encode(first, options) : tokenizer->encode_pair(first, second, options);
  };
  std::u16string_view first, second;
  const JsonRef pairs = cases.root()["pairs"];
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const Result<Encoding> encoding = encode_case(pairs[i], {}, first, second);
    EXPECT_EQ(short_hash(canonical(encoding.value(), first, second)), answers.root()["pairs"][i].as_string().value())
        << "pair " << i;
  }
  const JsonRef truncations = cases.root()["truncations"], truncated = cases.root()["truncated"];
  for (std::size_t how = 0; how < truncations.size(); ++how) {
    for (std::size_t i = 0; i < truncated.size(); ++i) {
      const Result<Encoding> encoding = encode_case(truncated[i], read_truncation(truncations[how]), first, second);
      const std::string_view expected = answers.root()["truncated"][how][i].as_string().value();
      SCOPED_TRACE(testing::Message() << "truncation " << how << " case " << i);
      if (!encoding.ok()) {
        EXPECT_TRUE(expected == "error" || expected == "panic") << expected << " but " << encoding.error().message;
        EXPECT_EQ(encoding.error().code, ErrorCode::kInput);
        continue;
      }
      std::string windows = "[" + canonical(encoding.value(), first, second);
      for (const Encoding& window : encoding.value().overflowing) windows += "," + canonical(window, first, second);
      EXPECT_EQ(short_hash(windows + "]"), expected);
    }
  }
}

std::vector<std::int32_t> read_numbers(JsonRef json) {
  std::vector<std::int32_t> out;
  for (std::size_t i = 0; i < json.size(); ++i) out.push_back(static_cast<std::int32_t>(json[i].as_int().value()));
  return out;
}

// Complete results: ids, offsets in UTF-16 units, word ids, masks, truncated as in sentence-transformers.
TEST(MiniLmGoldens, TokensOffsetsWordsAndTruncationMatchTheReference) {
  std::string path = test::real_model("all-MiniLM-L6-v2/tokenizer.json");
  if (!test::has_file(path)) path = test::shared_data() + "tokenizers/st-all-MiniLM-L6-v2/tokenizer.json";
  if (!test::has_file(path)) GTEST_SKIP() << "no checkpoint in " << WATTN_MODELS_DIR << ", and no WATTN_SHARED_DATA";
  const Result<Tokenizer> tokenizer = test::load_text(read_file(path));
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().message;
  const Result<Json> expected = Json::parse(read_file(golden("minilm/tokens.json")), "tokens.json");
  ASSERT_EQ(expected.value().root().size(), golden_texts().size());
  EncodeOptions options;
  options.max_length = 256;
  for (std::size_t i = 0; i < golden_texts().size(); ++i) {
    SCOPED_TRACE(testing::Message() << "text " << i);
    const JsonRef row = expected.value().root()[i];
    const Encoding encoding = test::encode(tokenizer.value(), golden_texts()[i], options);
    EXPECT_EQ(encoding.ids, read_numbers(row["ids"]));
    EXPECT_EQ(encoding.word_ids, read_numbers(row["words"]));
    EXPECT_EQ(encoding.num_tokens_untruncated, row["tokens_before_truncation"].as_int().value());
    std::string special;
    std::vector<std::int32_t> offsets;
    for (std::size_t t = 0; t < encoding.size(); ++t) {
      special += static_cast<char>('0' + encoding.special_tokens_mask[t]);
      offsets.push_back(encoding.offsets[t].begin);
      offsets.push_back(encoding.offsets[t].end);
    }
    EXPECT_EQ(special, row["special"].as_string().value());
    EXPECT_EQ(offsets, read_numbers(row["offsets_utf16"].exists() ? row["offsets_utf16"] : row["offsets"]));
  }
}

INSTANTIATE_TEST_SUITE_P(RealTokenizers, WordPieceGoldens,
                         testing::Values("all-MiniLM-L6-v2", "baai-bge-small-en", "bert-base-cased", "bert-base-multilingual-cased",
                                         "bert-base-uncased", "gte-small", "st-all-MiniLM-L6-v2"),
                         [](const testing::TestParamInfo<std::string>& info) {
                           std::string name = info.param;
                           for (char& c : name) {
                             if (c == '-') c = '_';
                           }
                           return name;
                         });

}  // namespace
}  // namespace wattn
