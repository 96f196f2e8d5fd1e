// Trainers: vocabularies and merges as in the reference, invalid options, and unusual texts.
#include "tokenizer/training.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/utf.h"
#include "native/tokenizer/golden_texts.h"
#include "native/tokenizer/linear_time.h"
#include "native/tokenizer/tiny_tokenizer.h"
#include "tokenizer/trainers/scaled.h"
#include "tokenizer/trainers/seeds.h"
#include "tokenizer/trainers/string_table.h"

namespace wattn {
namespace {

Json parse(const std::string& text) {
  Result<Json> json = Json::parse(text, "tokenizer.json");
  EXPECT_TRUE(json.ok()) << text.substr(0, 200);
  return std::move(json).value();
}

Result<std::string> train(JsonRef description, const std::vector<std::u16string>& texts) {
  Result<Training> training = Training::from_json(description);
  if (!training.ok()) return training.error();
  for (const std::u16string& text : texts) {
    const Result<void> fed = training.value().feed(text);
    if (!fed.ok()) return fed.error();
  }
  while (training.value().step()) {
    EXPECT_LE(training.value().progress().done, training.value().progress().total);
    EXPECT_STRNE(training.value().progress().stage, "");
  }
  return training.value().result();
}

Result<std::string> train(const std::string& description, const std::vector<std::u16string>& texts) {
  return train(parse(description).root(), texts);
}

Tokenizer load(const std::string& file) {
  const Json json = parse(file);
  Result<Tokenizer> tokenizer = Tokenizer::from_json(json.root(), JsonRef());
  EXPECT_TRUE(tokenizer.ok()) << tokenizer.error().message;
  return std::move(tokenizer).value();
}

// Described in tests/goldens/README.md.
class TrainerGoldens : public ::testing::Test {
 protected:
  TrainerGoldens() : cases_(parse(test::read_file(test::golden("trainers/cases.json")))) {}

  static std::vector<std::u16string> texts_of(JsonRef indices) {
    std::vector<std::u16string> out;
    for (std::size_t i = 0; i < indices.size(); ++i) {
      out.push_back(test::golden_texts()[static_cast<std::size_t>(indices[i].as_int().value())]);
    }
    return out;
  }

  Json cases_;
};

TEST_F(TrainerGoldens, VocabulariesAndMergesMatchTheReference) {
  int compared = 0;
  for (std::size_t i = 0; i < cases_.root().size(); ++i) {
    const JsonRef golden = cases_.root()[i];
    if (!golden["vocab"].exists()) continue;
    SCOPED_TRACE(golden["name"].describe());
    const Result<std::string> file = train(golden["description"], texts_of(golden["texts"]));
    ASSERT_TRUE(file.ok()) << file.error().message;
    const Json json = parse(file.value());
    const JsonRef model = json.root()["model"];
    ASSERT_EQ(model["vocab"].size(), golden["vocab"].size());
    for (std::size_t id = 0; id < golden["vocab"].size(); ++id) {
      const std::string_view token = golden["vocab"][id].as_string().value();
      ASSERT_EQ(model["vocab"][token].as_int_or(-1).value(), static_cast<std::int64_t>(id)) << token;
    }
    ASSERT_EQ(model["merges"].to_text(), golden["merges"].size() > 0 ? golden["merges"].to_text() : "null");
    ++compared;
  }
  EXPECT_EQ(compared, 7);
}

TEST_F(TrainerGoldens, UnigramPiecesAndScoresMatchTheReference) {
  int compared = 0;
  for (std::size_t i = 0; i < cases_.root().size(); ++i) {
    const JsonRef golden = cases_.root()[i];
    if (!golden["pieces"].exists()) continue;
    SCOPED_TRACE(golden["name"].describe());
    const Result<std::string> file = train(golden["description"], texts_of(golden["texts"]));
    ASSERT_TRUE(file.ok()) << file.error().message;
    const Json json = parse(file.value());
    const JsonRef vocab = json.root()["model"]["vocab"];
    EXPECT_EQ(vocab.size(), golden["pieces"].size());
    for (std::size_t id = 0; id < vocab.size(); ++id) {
      const std::string_view piece = vocab[id][0].as_string().value();
      const JsonRef score = golden["pieces"][piece];
      EXPECT_TRUE(score.exists()) << piece;
      if (score.is_number()) EXPECT_NEAR(vocab[id][1].as_number().value(), score.as_number().value(), 1e-6) << piece;
    }
    ++compared;
  }
  EXPECT_EQ(compared, 3);
}

constexpr const char* kKinds[] = {"BPE", "WordPiece", "Unigram", "WordLevel", "Char"};

std::string description(const std::string& kind, const std::string& more = "", const std::string& stages = "") {
  return R"({"trainer": {"type": ")" + kind + R"(", "special_tokens": ["<unk>", "<pad>"], "unk_token": "<unk>")" + more + "}" +
         stages + "}";
}

// "bde" and "bde b" would lose the same likelihood. Which of them stays follows from the order in which the reference adds up the
// parts that would take their places.
TEST(Training, UnigramBreaksTiesAsTheReference) {
  const std::string options = R"(, "vocab_size": 12, "shrinking_factor": 0.95, "n_sub_iterations": 1)";
  const Result<std::string> file = train(R"({"trainer": {"type": "Unigram", "special_tokens": ["<unk>"])" + options + "}}",
                                         {u"bbccdbb bbde b", u"bdebbb fccdbde bdeb", u"cd e fe feb cdbbb", u"bfeccd fbde fbde"});
  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_NE(file.value().find("[\"bde b\","), std::string::npos) << file.value();
  EXPECT_EQ(file.value().find("[\"bde\","), std::string::npos) << file.value();
}

TEST(Training, TheResultIsATokenizer) {
  const std::vector<std::u16string> texts = {u"the old boat and the old bridge",
                                             u"a boat, a bridge; \u4e2d\u6587 \U0001F600 \"quoted\\\" \x01"};
  for (const char* kind : kKinds) {
    SCOPED_TRACE(kind);
    const Result<std::string> file = train(description(kind, "", R"(, "pre_tokenizer": {"type": "WhitespaceSplit"})"), texts);
    ASSERT_TRUE(file.ok()) << file.error().message;
    const Tokenizer tokenizer = load(file.value());
    EXPECT_EQ(tokenizer.token_to_id("<unk>"), 0);
    EXPECT_EQ(tokenizer.token_to_id("<pad>"), 1);
    for (const std::u16string& text : texts) {
      const std::vector<std::int32_t> ids = tokenizer.encode(text, {}).value().ids;
      EXPECT_GT(ids.size(), 4U);
      EXPECT_EQ(std::count(ids.begin(), ids.end(), 0), 0) << "a text of the training has an unknown token";
    }
    EXPECT_EQ(tokenizer.encode(u"\u0416", {}).value().ids, std::vector<std::int32_t>{0});
  }
}

TEST(Training, NoTextsGiveAnEmptyVocabulary) {
  for (const char* kind : kKinds) {
    SCOPED_TRACE(kind);
    for (const std::vector<std::u16string>& texts : {std::vector<std::u16string>(), {u"", u"   "}, {u"a"}}) {
      const Result<std::string> file = train(description(kind, "", R"(, "pre_tokenizer": {"type": "WhitespaceSplit"})"), texts);
      ASSERT_TRUE(file.ok()) << file.error().message;
      EXPECT_EQ(load(file.value()).vocab_size(), texts.size() == 1 ? 3 : 2);
    }
  }
}

TEST(Training, RejectsUnknownOptions) {
  const std::pair<std::string, std::string> wrong[] = {
      {R"({"trainer": {"type": "Sparkle"}})",
       "train: option 'type': expected BPE, WordPiece, Unigram, WordLevel or Char, found \"Sparkle\""},
      {R"({})", "expected BPE"},
      {description("BPE", R"(, "vocab_size": 0)"), "train: option 'vocab_size': expected a whole number from 1 to"},
      {description("BPE", R"(, "vocab_size": 1)"), "room for the special tokens"},
      {description("WordPiece", R"(, "shrinking_factor": 0.5)"),
       "train: unknown option 'shrinking_factor'; known options: vocab_size"},
      {description("Unigram", R"(, "min_frequency": 2)"), "unknown option 'min_frequency'"},
      {description("Unigram", R"(, "shrinking_factor": 1)"), "'shrinking_factor': expected a number between 0 and 1, found 1"},
      {description("Unigram", R"(, "max_piece_length": 1000)"), "'max_piece_length': expected a whole number from 1 to 256"},
      {description("Char", R"(, "initial_alphabet": ["ab"])"), "'initial_alphabet': expected single characters"},
      {description("BPE", R"(, "initial_alphabet": "ab")"), "'initial_alphabet': expected an array of strings, found \"ab\""},
      {R"({"trainer": {"type": "WordLevel", "unk_token": "<u>"}})", "'unk_token': expected one of special_tokens, found \"<u>\""},
      {description("BPE", "", R"(, "normalizer": {"type": "Sparkle"})"), "normalizer.type: unknown normalizer"},
  };
  for (const auto& [text, message] : wrong) {
    const Result<std::string> file = train(text, {u"a"});
    ASSERT_FALSE(file.ok()) << text;
    EXPECT_NE(file.error().message.find(message), std::string::npos) << file.error().message;
  }
  const Result<std::string> small = train(description("Unigram", R"(, "vocab_size": 4)"), {u"abc"});
  ASSERT_FALSE(small.ok());
  EXPECT_EQ(small.error().code, ErrorCode::kInput);
  EXPECT_NE(small.error().message.find("'vocab_size': expected at least 5"), std::string::npos) << small.error().message;
}

#if !defined(__EMSCRIPTEN__)  // see linear_time.h
std::u16string repeat(std::u16string_view part, std::size_t units) {
  std::u16string out;
  while (out.size() < units) out += part;
  return out;
}

// One word of everything, as a pre-tokenizer makes of a text without whitespace.
TEST(Training, OneLongWordTakesLinearTime) {
  constexpr std::size_t kUnits = 30000;
  for (const char* kind : kKinds) {
    for (const std::u16string_view part : {u"a", u"ab", u"the old boat and the bridge "}) {
      const std::string of = description(kind, R"(, "vocab_size": 300)");
      const auto seconds_for = [&](std::size_t units) {
        const std::u16string text = repeat(part, units);
        return test::seconds([&] { EXPECT_TRUE(train(of, {text}).ok()); });
      };
      EXPECT_TRUE(test::takes_linear_time(seconds_for, kUnits)) << kind << ' ' << to_utf8(part);
    }
  }
}
#endif

TEST(Seeds, AreTheSubstringsWithSeveralContinuations) {
  WordTexts words;
  for (const std::u32string_view word : {U"abcd", U"abce", U"xbc"}) {
    words.chars += word;
    words.begins.push_back(static_cast<std::uint32_t>(words.chars.size()));
  }
  const Seeds seeds = find_seeds(words, {10, 20, 3}, 16, 100);
  std::vector<std::pair<std::u32string, double>> found;
  for (const SeedPiece& piece : seeds.pieces) found.emplace_back(words.chars.substr(piece.begin, piece.length), piece.score);
  // "bc" occurs three times with three continuations; "ab" is always followed by c. Single characters count their words.
  const std::vector<std::pair<std::u32string, double>> expected = {{U"c", 33}, {U"b", 33}, {U"a", 30}, {U"e", 20},
                                                                   {U"d", 10}, {U"x", 3},  {U"bc", 6}, {U"abc", 6}};
  ASSERT_EQ(found.size(), expected.size());
  EXPECT_TRUE(std::is_permutation(found.begin(), found.end(), expected.begin()));
  for (std::size_t position = 0; position < words.chars.size(); ++position) {
    for (std::uint32_t i = seeds.match_begin[position]; i < seeds.match_begin[position + 1]; ++i) {
      const SeedPiece& piece = seeds.pieces[seeds.matches[i]];
      EXPECT_EQ(words.chars.substr(position, piece.length), words.chars.substr(piece.begin, piece.length));
    }
  }
  EXPECT_EQ(seeds.matches.size(), 11U + 3 + 2);
  EXPECT_EQ(find_seeds(words, {10, 20, 3}, 2, 100).pieces.size(), 7U);
  EXPECT_EQ(find_seeds(words, {10, 20, 3}, 16, 7).pieces.size(), 7U);
  EXPECT_EQ(find_seeds(words, {10, 20, 3}, 16, 1).pieces.size(), 7U) << "all characters and one more";
}

TEST(Scaled, HoldsNumbersBeyondADouble) {
  Scaled product = {1, 0};
  for (int i = 0; i < 1000; ++i) {
    product.mantissa *= 1e-5;
    product.normalize();
  }
  EXPECT_NEAR(std::log2(product.mantissa) + static_cast<double>(product.exponent), 1000 * std::log2(1e-5), 1e-6);
  Scaled sum;
  sum.add(1, -2000);
  sum.add(1, -2001);
  sum.add(1, -9000);
  sum.normalize();
  EXPECT_EQ(sum.mantissa, 1.5);
  EXPECT_EQ(sum.exponent, -2000);
}

TEST(StringTable, NumbersStringsInOrderOfAppearance) {
  StringTable table;
  for (std::uint32_t i = 0; i < 1000; ++i) EXPECT_EQ(table.add("s" + std::to_string(i)), i);
  EXPECT_EQ(table.add(""), 1000U);
  for (std::uint32_t i = 0; i < 1000; ++i) EXPECT_EQ(table.find("s" + std::to_string(i)), i);
  EXPECT_EQ(table.find("s1000"), StringTable::kAbsent);
  EXPECT_EQ(table.size(), 1001U);
}

}  // namespace
}  // namespace wattn
