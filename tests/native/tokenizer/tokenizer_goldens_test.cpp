// Real tokenizers of every model, and randomly composed ones, against the results of the reference (tests/goldens/tokenizers). The
// real ones are not in this repository.
#include <gtest/gtest.h>

#include "native/tokenizer/golden_texts.h"
#include "native/tokenizer/sha256.h"
#include "native/tokenizer/tiny_tokenizer.h"
#include "tokenizer/formats/formats.h"

namespace wattn {
namespace {

using test::golden;
using test::read_file;

// The text that tools/goldens/tokenizers.py hashes. Offsets count code points of their own text.
std::string lines_of(const Tokenizer& tokenizer, const Encoding& encoding, std::u16string_view first, std::u16string_view second) {
  const std::vector<std::int32_t> before[] = {test::code_points_before(first), test::code_points_before(second)};
  std::vector<std::int32_t> offsets;
  for (std::size_t i = 0; i < encoding.size(); ++i) {
    const bool special = encoding.sequence_ids[i] < 0;
    const auto& map = before[special ? 0 : encoding.sequence_ids[i]];
    offsets.push_back(special ? 0 : map[static_cast<std::size_t>(encoding.offsets[i].begin)]);
    offsets.push_back(special ? 0 : map[static_cast<std::size_t>(encoding.offsets[i].end)]);
  }
  std::string out;
  for (const auto& list :
       {test::json_list(encoding.ids), test::json_list(encoding.type_ids), test::json_list(encoding.special_tokens_mask),
        test::json_list(offsets), test::json_list(encoding.word_ids), test::json_list(encoding.sequence_ids)}) {
    out += list + "\n";
  }
  for (const std::string& token : encoding.tokens) out += token + (&token == &encoding.tokens.back() ? "" : "\x1F");
  out += "\n";
  return out + tokenizer.decode(encoding.ids, false, false).value() + "\n" + tokenizer.decode(encoding.ids, true, false).value() +
         "\n";
}

std::string answer(const Tokenizer& tokenizer, std::u16string_view first, std::optional<std::u16string_view> second = {}) {
  const EncodeOptions options{.return_tokens = true};
  const Result<Encoding> encoding = second ? tokenizer.encode_pair(first, *second, options) : tokenizer.encode(first, options);
  if (!encoding.ok()) return "error";
  EXPECT_EQ(encoding.value().tokens.size(), encoding.value().size());
  return test::short_hash(lines_of(tokenizer, encoding.value(), first, second.value_or(std::u16string_view())));
}

Json read_golden(const std::string& name) {
  Result<Json> json = Json::parse(read_file(golden("tokenizers/" + name)), name);
  if (!json.ok()) {
    ADD_FAILURE() << json.error().message;
    std::exit(1);
  }
  return std::move(json).value();
}

class RealTokenizer : public testing::TestWithParam<std::string> {};

TEST_P(RealTokenizer, MatchesTheReference) {
  const Json about = read_golden(GetParam() + ".json");
  const std::string folder = test::shared_data();
  if (folder.empty()) GTEST_SKIP() << "no real tokenizers (set WATTN_SHARED_DATA to the folder that has tokenizers/)";
  std::vector<std::string> names, bytes;
  for (const auto& [path, sha256] : about.root()["files"].members()) {
    names.push_back(std::string(path.substr(path.rfind('/') + 1)));
    bytes.push_back(read_file(folder + std::string(path)));
    ASSERT_EQ(test::sha256_hex(bytes.back()), sha256.as_string().value());
  }
  std::vector<TokenizerFile> files;
  for (std::size_t i = 0; i < names.size(); ++i) files.push_back({names[i], bytes[i]});
  const Result<Tokenizer> tokenizer = load_tokenizer(files);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().message;

  const std::vector<std::u16string>& texts = test::golden_texts();
  const JsonRef answers = about.root()["answers"], pairs = about.root()["pairs"];
  ASSERT_EQ(answers.size(), texts.size());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    EXPECT_EQ(answer(tokenizer.value(), texts[i]), answers[i].as_string().value()) << "text " << i;
  }
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    EXPECT_EQ(answer(tokenizer.value(), texts[7 * i], texts[7 * i + 3]), pairs[i].as_string().value()) << "pair " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(EveryModel, RealTokenizer,
                         testing::Values("albert-base-v2-derived", "gpt2", "llama2-repaired", "openai-gpt", "phi-2", "roberta-base",
                                         "t5-small"),
                         [](const testing::TestParamInfo<std::string>& info) {
                           std::string name = info.param;
                           for (char& c : name) {
                             if (c == '-') c = '_';
                           }
                           return name;
                         });

// The first 300 code points.
std::u16string_view beginning(const std::u16string& text) {
  std::size_t position = 0;
  for (int i = 0; i < 300 && position < text.size(); ++i) next_code_point(std::u16string_view(text), position);
  return std::u16string_view(text).substr(0, position);
}

TEST(RandomTokenizers, MatchTheReference) {
  const Json all = read_golden("components.json");
  const std::vector<std::u16string>& texts = test::golden_texts();
  for (std::size_t number = 0; number < all.root().size(); ++number) {
    SCOPED_TRACE(testing::Message() << "tokenizer " << number);
    const JsonRef row = all.root()[number];
    const Result<Tokenizer> tokenizer = Tokenizer::from_json(row["tokenizer"], JsonRef());
    ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().message;
    std::vector<std::u16string_view> chosen;
    for (std::size_t i = 0; i < row["texts"].size(); ++i) {
      chosen.push_back(beginning(texts[static_cast<std::size_t>(row["texts"][i].as_int().value())]));
    }
    for (std::size_t i = 0; i < row["answers"].size(); ++i) {
      const std::string_view expected = row["answers"][i].as_string().value();
      const std::size_t pair = i < chosen.size() ? 0 : 4 * (i - chosen.size());
      const std::string found =
          i < chosen.size() ? answer(tokenizer.value(), chosen[i]) : answer(tokenizer.value(), chosen[pair], chosen[pair + 1]);
      if (expected == "error") continue;  // the reference may fail where we do not
      EXPECT_EQ(found, expected) << "answer " << i;
    }
  }
}

}  // namespace
}  // namespace wattn
