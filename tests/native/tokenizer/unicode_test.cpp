// The Unicode tables against the reference library for each of the 1,112,064 scalar values (tests/goldens/unicode).
#include "tokenizer/unicode.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <set>

#include "core/json.h"
#include "core/utf.h"
#include "native/support/files.h"
#include "native/tokenizer/sha256.h"
#include "tokenizer/normalizers/normalizer.h"
#include "tokenizer/normalizers/text_forms.h"

namespace wattn {
namespace {

using test::golden;
using test::read_file;
using test::sha256_hex;

constexpr char32_t kEnd = 0x110000;
bool is_surrogate(char32_t c) { return c >= 0xD800 && c <= 0xDFFF; }

const JsonRef& goldens(const std::string& name) {
  static std::map<std::string, std::pair<Result<Json>, JsonRef>> files;
  const auto found = files.find(name);
  if (found != files.end()) return found->second.second;
  Result<Json> json = Json::parse(read_file(golden("unicode/" + name)), name);
  if (!json.ok()) ADD_FAILURE() << json.error().message;
  const JsonRef root = json.ok() ? json.value().root() : JsonRef();
  return files.emplace(name, std::make_pair(std::move(json), root)).first->second.second;
}

char32_t code_point(JsonRef json) { return static_cast<char32_t>(json.as_int().value()); }

// [[first, last], ...] as one bit per code point.
std::vector<bool> read_ranges(JsonRef ranges) {
  std::vector<bool> has(kEnd, false);
  EXPECT_GT(ranges.size(), 0u);
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    for (char32_t c = code_point(ranges[i][0]); c <= code_point(ranges[i][1]); ++c) has[c] = true;
  }
  return has;
}

void expect_property(const std::string& name, const std::function<bool(char32_t)>& ours) {
  const std::vector<bool> expected = read_ranges(goldens("properties.json")[name]);
  int wrong = 0;
  for (char32_t c = 0; c < kEnd; ++c) {
    if (is_surrogate(c) || ours(c) == expected[c]) continue;
    if (++wrong <= 5)
      ADD_FAILURE() << name << " of U+" << std::hex << static_cast<std::uint32_t>(c) << " should be " << expected[c];
  }
  EXPECT_EQ(wrong, 0);
}

std::u32string run_form(char32_t c, NormalForm form) {
  NormalizedText text;
  text.push(c, {0, 1});
  apply_normal_form(text, form);
  return text.chars;
}

// Compares a mapping with [[code point, result...], ...]; code points that are not listed stay unchanged, except those with
// skip(c).
void expect_mapping(JsonRef rows, const std::function<std::u32string(char32_t)>& ours, const std::function<bool(char32_t)>& skip) {
  std::map<char32_t, std::u32string> expected;
  EXPECT_GT(rows.size(), 0u);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::u32string& result = expected[code_point(rows[i][0])];
    for (std::size_t j = 1; j < rows[i].size(); ++j) result.push_back(code_point(rows[i][j]));
  }
  int wrong = 0;
  for (char32_t c = 0; c < kEnd; ++c) {
    if (is_surrogate(c) || skip(c)) continue;
    const auto found = expected.find(c);
    if (ours(c) == (found == expected.end() ? std::u32string(1, c) : found->second)) continue;
    if (++wrong <= 5) ADD_FAILURE() << "U+" << std::hex << static_cast<std::uint32_t>(c) << " gives " << to_utf8(ours(c));
  }
  EXPECT_EQ(wrong, 0);
}

std::unique_ptr<Normalizer> normalizer_of(const std::string& json) {
  const Result<Json> parsed = Json::parse(json, "normalizer");
  Result<std::unique_ptr<Normalizer>> normalizer = read_normalizer(parsed.value().root());
  EXPECT_TRUE(normalizer.ok()) << normalizer.error().message;
  return std::move(normalizer).value();
}

std::string bert(const char* clean_and_chinese, const char* strip_accents, const char* lowercase) {
  return std::string(R"({"type": "BertNormalizer", "clean_text": )") + clean_and_chinese + R"(, "handle_chinese_chars": )" +
         clean_and_chinese + R"(, "strip_accents": )" + strip_accents + R"(, "lowercase": )" + lowercase + "}";
}

// The name in the goldens and its normalizer.
const std::vector<std::pair<std::string, std::string>> kNormalizers = {
    {"NFD", R"({"type": "NFD"})"},
    {"NFC", R"({"type": "NFC"})"},
    {"NFKD", R"({"type": "NFKD"})"},
    {"NFKC", R"({"type": "NFKC"})"},
    {"lowercase", R"({"type": "Lowercase"})"},
    {"Lowercase", R"({"type": "Lowercase"})"},
    {"StripAccents", R"({"type": "StripAccents"})"},
    {"bert_strip_accents", bert("false", "true", "false")},
    {"bert_uncased", bert("true", "null", "true")},
    {"bert_cased", bert("true", "false", "false")},
    {"bert_lower_keep_accents", bert("true", "false", "true")},
};

TEST(UnicodeTables, FlagsMatchTheReferenceForEveryCodePoint) {
  const auto flag = [](CharFlag f) { return [f](char32_t c) { return has_flag(c, f); }; };
  expect_property("clean_text_removed", flag(kCharRemoved));
  expect_property("whitespace", flag(kCharWhitespace));
  expect_property("clean_text_to_space", [](char32_t c) { return has_flag(c, kCharWhitespace) && !has_flag(c, kCharRemoved); });
  expect_property("chinese", flag(kCharChinese));
  expect_property("punctuation", flag(kCharPunctuation));
  // Recorded after NFD, so characters that decompose are unknown; block_hashes.json covers them.
  expect_property("accent", [](char32_t c) { return has_flag(c, kCharAccent) && !has_flag(c, kCharDecomposes); });
  expect_property("combining_mark", flag(kCharMark));
  expect_property("not_recomposed", flag(kCharNotComposed));
}

TEST(UnicodeTables, CombiningClassesMatchTheReferenceForEveryCodePoint) {
  std::vector<std::uint8_t> expected(kEnd, 0);
  for (const auto& [name, ranges] : goldens("combining_class.json").members()) {
    const std::vector<bool> has = read_ranges(ranges);
    for (char32_t c = 0; c < kEnd; ++c) {
      if (has[c]) expected[c] = static_cast<std::uint8_t>(std::stoi(std::string(name)));
    }
  }
  int wrong = 0;
  for (char32_t c = 0; c < kEnd; ++c) {
    const CharProperties properties = char_properties(c);
    if (properties.flags & kCharDecomposes) continue;  // not in the goldens; the results of NFD cover them
    if (properties.combining_class != expected[c] && ++wrong <= 5) {
      ADD_FAILURE() << "U+" << std::hex << static_cast<std::uint32_t>(c) << " has class " << std::dec
                    << int{properties.combining_class};
    }
  }
  EXPECT_EQ(wrong, 0);
}

TEST(UnicodeTables, LowercaseMatchesTheReferenceForEveryCodePoint) {
  const auto lower = [](char32_t c) {
    char32_t out[2];
    return std::u32string(out, static_cast<std::size_t>(to_lowercase(c, out)));
  };
  expect_mapping(goldens("mappings.json")["lowercase"], lower, [](char32_t) { return false; });
}

TEST(UnicodeTables, NormalFormsMatchTheReferenceForEveryCodePoint) {
  const JsonRef mappings = goldens("mappings.json");
  const auto none = [](char32_t) { return false; };
  expect_mapping(mappings["NFD"], [](char32_t c) { return run_form(c, NormalForm::kNfd); }, is_hangul_syllable);
  expect_mapping(mappings["NFC"], [](char32_t c) { return run_form(c, NormalForm::kNfc); }, none);
  std::set<char32_t> same_as_nfd;  // NFKD is only listed where it differs
  const JsonRef listed = mappings["NFKD_where_not_NFD"];
  std::set<char32_t> in_list;
  for (std::size_t i = 0; i < listed.size(); ++i) in_list.insert(code_point(listed[i][0]));
  for (char32_t c = 0; c < kEnd; ++c) {
    if (is_surrogate(c) || in_list.contains(c)) continue;
    ASSERT_EQ(run_form(c, NormalForm::kNfkd), run_form(c, NormalForm::kNfd)) << std::hex << static_cast<std::uint32_t>(c);
  }
  expect_mapping(
      listed, [](char32_t c) { return run_form(c, NormalForm::kNfkd); }, [&](char32_t c) { return !in_list.contains(c); });
}

TEST(UnicodeTables, HangulIsDecomposedAndComposedByArithmetic) {
  for (char32_t c = kHangulFirst; c <= kHangulLast; ++c) {
    const char32_t index = c - kHangulFirst;
    std::u32string jamo = {0x1100 + index / 588, 0x1161 + index % 588 / 28};
    if (index % 28) jamo.push_back(0x11A7 + index % 28);
    ASSERT_EQ(run_form(c, NormalForm::kNfd), jamo);
    char32_t composed = compose(jamo[0], jamo[1]);
    if (jamo.size() == 3) composed = compose(composed, jamo[2]);
    ASSERT_EQ(composed, c);
  }
}

TEST(UnicodeTables, EveryBlockOfEveryNormalizerHasTheReferencesHash) {
  constexpr char32_t kBlock = 4096;
  for (const auto& [name, blocks] : goldens("block_hashes.json").members()) {
    std::unique_ptr<Normalizer> normalizer;
    for (const auto& [known, json] : kNormalizers) {
      if (known == name) normalizer = normalizer_of(json);
    }
    ASSERT_TRUE(normalizer) << name;
    for (char32_t block = 0; block < kEnd; block += kBlock) {
      std::string lines;
      for (char32_t c = block; c < block + kBlock; ++c) {
        if (is_surrogate(c)) continue;
        NormalizedText text;
        text.push(c, {0, 1});
        normalizer->normalize(text);
        if (text.chars == std::u32string(1, c)) continue;
        char hex[16];
        std::snprintf(hex, sizeof hex, "%X=", static_cast<unsigned>(c));
        lines += hex;
        for (std::size_t i = 0; i < text.size(); ++i) {
          std::snprintf(hex, sizeof hex, i ? " %X" : "%X", static_cast<unsigned>(text.chars[i]));
          lines += hex;
        }
        lines += '\n';
      }
      char key[16];
      std::snprintf(key, sizeof key, "%X", static_cast<unsigned>(block));
      const JsonRef expected = blocks[key];
      if (lines.empty()) {
        EXPECT_FALSE(expected.exists()) << name << " block " << key;
      } else {
        EXPECT_EQ(sha256_hex(lines), expected.as_string().value()) << name << " block " << key;
      }
    }
  }
}

TEST(UnicodeTables, SequencesOfCodePointsNormalizeAsInTheReference) {
  const JsonRef file = goldens("sequences.json");
  const JsonRef columns = file["columns"], rows = file["rows"];
  ASSERT_GT(rows.size(), 100u);
  for (std::size_t column = 1; column < columns.size(); ++column) {
    const std::string name(columns[column].as_string().value());
    std::unique_ptr<Normalizer> normalizer;
    for (const auto& [known, json] : kNormalizers) {
      if (known == name) normalizer = normalizer_of(json);
    }
    ASSERT_TRUE(normalizer) << name;
    for (std::size_t row = 0; row < rows.size(); ++row) {
      NormalizedText text = read_utf8(rows[row][0].as_string().value());
      normalizer->normalize(text);
      EXPECT_EQ(to_utf8(text.chars), rows[row][column].as_string().value()) << name << " row " << row;
    }
  }
}

// Not in the goldens: the reference's \w and number classes, as counts over all code points and a few edge cases.
TEST(UnicodeTables, WordAndNumberFollowTheNewestUnicode) {
  int words = 0, numbers = 0;
  for (char32_t c = 0; c < kEnd; ++c) {
    words += has_flag(c, kCharWord);
    numbers += has_flag(c, kCharNumber);
  }
  EXPECT_EQ(words, 144667);
  EXPECT_EQ(numbers, 1924);
  EXPECT_TRUE(has_flag(U'_', kCharWord));
  EXPECT_TRUE(has_flag(0x200D, kCharWord));  // ZERO WIDTH JOINER
  EXPECT_FALSE(has_flag(U'-', kCharWord));
  EXPECT_FALSE(has_flag(0xB2, kCharWord));  // SUPERSCRIPT TWO is a number but not a word character
  EXPECT_TRUE(has_flag(0xB2, kCharNumber));
  EXPECT_TRUE(has_flag(0x16130, kCharNumber));  // GURUNG KHEMA DIGIT ZERO, Unicode 16.0
}

TEST(UnicodeTables, ValuesPastTheLastCodePointHaveNoProperties) {
  for (const char32_t c : {char32_t{0x110000}, char32_t{0x7FFFFFFF}, char32_t{0xFFFFFFFF}}) {
    EXPECT_EQ(char_properties(c).flags, 0);
    char32_t out[kLongestDecomposition];
    EXPECT_EQ(to_lowercase(c, out), 1);
    EXPECT_EQ(decompose(c, true, out), 1);
    EXPECT_EQ(out[0], c);
  }
}

}  // namespace
}  // namespace wattn
