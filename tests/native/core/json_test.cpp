#include "core/json.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <iomanip>
#include <limits>
#include <random>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace wattn {
namespace {

Json parse(std::string_view text) {
  Result<Json> json = Json::parse(text, "file.json");
  if (!json.ok()) {
    ADD_FAILURE() << json.error().message;
    std::exit(1);
  }
  return std::move(json).value();
}

template <class T>
void expect_error(const Result<T>& result, std::initializer_list<std::string_view> words) {
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, ErrorCode::kModelFormat);
  for (const std::string_view word : words) {
    EXPECT_NE(result.error().message.find(word), std::string::npos) << result.error().message << " should say " << word;
  }
}

TEST(Json, ReadsTypedValues) {
  const Json json = parse(
      R"({"text": "a\u00e9\u0000", "int": -9223372036854775808, "number": 1.5e3, "yes": true, "no": null, "list": [1, [2]]})");
  const JsonRef root = json.root();
  EXPECT_EQ(root["text"].as_string().value(), std::string_view("a\xC3\xA9\0", 4));
  EXPECT_EQ(root["int"].as_int().value(), INT64_MIN);
  EXPECT_EQ(root["number"].as_number().value(), 1500);
  EXPECT_TRUE(root["yes"].as_bool().value());
  EXPECT_TRUE(root["no"].is_null());
  EXPECT_TRUE(root["no"].exists());
  EXPECT_EQ(root["list"].size(), 2u);
  EXPECT_EQ(root["list"][1][0].as_int().value(), 2);
  EXPECT_EQ(root.size(), 6u);
  EXPECT_EQ(root["text"].size(), 0u);
}

TEST(Json, MembersKeepFileOrderAndTheLastOfARepeatedKey) {
  const Json json = parse(R"({"b": 1, "x": 9, "a": 2, "x": [0], "": 3, "x": 4})");
  std::string keys;
  for (const auto& [key, value] : json.root().members()) keys += std::string(key) + std::to_string(value.as_int().value()) + " ";
  EXPECT_EQ(keys, "b1 a2 3 x4 ");
  EXPECT_EQ(json.root()["x"].as_int().value(), 4);
  EXPECT_EQ(json.root().size(), 4u);
  EXPECT_TRUE(json.root()["a"].members().empty());
}

TEST(Json, ErrorsNameFilePathExpectedAndFound) {
  const Json json = parse(R"({"model": {"vocab": {"a": "x"}, "list": [0, {"deep": 1.5}]}})");
  const JsonRef root = json.root();
  expect_error(root["model"]["vocab"]["a"].as_int(), {"file.json: model.vocab.a", "an integer", "\"x\""});
  expect_error(root["model"]["list"][1]["deep"].as_int(), {"model.list[1].deep", "1.5"});
  expect_error(root["model"]["list"].as_string(), {"model.list", "a string", "an array of 2"});
  expect_error(root["model"].as_bool(), {"true or false", "an object"});
  expect_error(root["model"]["absent"].as_string(), {"model.absent", "nothing"});
  expect_error(root["absent"]["further"]["still"].as_string(), {"absent", "nothing"});
  expect_error(root["model"]["list"][9].as_int(), {"model.list", "nothing"});
  expect_error(JsonRef().as_int(), {"nothing"});
}

TEST(Json, IntegersAreWholeAndFit) {
  const Json json = parse("[1.0, 9223372036854775807, 9223372036854775808, 1e3, true, \"1\"]");
  expect_error(json.root()[0].as_int(), {"an integer", "1.0"});
  EXPECT_EQ(json.root()[1].as_int().value(), INT64_MAX);
  expect_error(json.root()[2].as_int(), {"9223372036854775808"});
  expect_error(json.root()[3].as_int(), {"an integer"});
  expect_error(json.root()[4].as_int(), {"an integer"});
  expect_error(json.root()[5].as_number(), {"a number"});
}

TEST(Json, DefaultsReplaceAbsentAndNullButNotOtherTypes) {
  const Json json = parse(R"({"null": null, "wrong": []})");
  const JsonRef root = json.root();
  for (const char* key : {"null", "absent"}) {
    EXPECT_EQ(root[key].as_string_or("x").value(), "x");
    EXPECT_EQ(root[key].as_int_or(7).value(), 7);
    EXPECT_EQ(root[key].as_number_or(0.5).value(), 0.5);
    EXPECT_TRUE(root[key].as_bool_or(true).value());
  }
  EXPECT_FALSE(root["wrong"].as_string_or("x").ok());
  EXPECT_FALSE(root["wrong"].as_int_or(7).ok());
  EXPECT_FALSE(root["wrong"].as_number_or(0.5).ok());
  EXPECT_FALSE(root["wrong"].as_bool_or(true).ok());
}

TEST(Json, NamesWhatItFoundInsteadOfJson) {
  expect_error(Json::parse("", "file.json"), {"file.json", "an empty file"});
  expect_error(Json::parse("\n <!doctype html><p>404", "file.json"), {"HTML"});
  expect_error(Json::parse("{\"a\": 1", "file.json"), {"does not parse", "7 bytes"});
  const std::vector<std::string_view> broken = {"{",
                                                "[1,]",
                                                "{\"a\" 1}",
                                                "nul",
                                                "01",
                                                "\"\\ud800\"",
                                                "\"\\udc00\"",
                                                "\"\xFF\"",
                                                "[1] 2",
                                                "{\"a\":1}\x01",
                                                " ",
                                                "[1e999]",
                                                "[-]",
                                                "[.5]",
                                                "[1.]",
                                                "[-NaN]",
                                                "[nan]",
                                                "[Inf]",
                                                "[-Inf]",
                                                "[Infinite]",
                                                "[+Infinity]",
                                                "{'a': 1}",
                                                "[1] // no",
                                                "{\"a\": 1,}",
                                                "\"\t\"",
                                                "\"\\x41\"",
                                                std::string_view("[1]\0", 4),
                                                std::string_view("[1]\0[2]", 7),
                                                std::string_view("\0", 1),
                                                std::string_view("\"a\0\"", 4)};
  for (const std::string_view text : broken) {
    SCOPED_TRACE(text);
    expect_error(Json::parse(text, "file.json"), {"file.json"});
  }
}

TEST(Json, WhatPythonWritesForNumbersThatAreNotFiniteIsReadUnlessItIsAskedFor) {
  const Json json = parse(R"({"limits": [0.0, Infinity, -Infinity, NaN], "other": 1})");
  EXPECT_EQ(json.root()["other"].as_int().value(), 1);
  EXPECT_EQ(json.root()["limits"].to_text(), "[0.0,Infinity,-Infinity,NaN]");
  for (const std::size_t i : {1, 2, 3}) {
    const JsonRef value = json.root()["limits"][i];
    EXPECT_FALSE(value.is_null() || value.is_string());
    expect_error(value.as_number(), {"limits[", "expected a number"});
    expect_error(value.as_int(), {"expected an integer"});
  }
}

TEST(Json, AByteOrderMarkIsSkipped) { EXPECT_EQ(parse("\xEF\xBB\xBF[3]").root()[0].as_int().value(), 3); }

TEST(Json, NestingNeedsNoStack) {
  constexpr std::size_t kDepth = 200000;
  const Json json = parse(std::string(kDepth, '[') + "1" + std::string(kDepth, ']'));
  EXPECT_TRUE(json.root().is_array());
  expect_error(json.root().as_int(), {"an integer"});
  EXPECT_FALSE(Json::parse(std::string(kDepth, '['), "file.json").ok());
}

TEST(Json, TextOfAValueReadsBackUnchanged) {
  const std::string text = R"({"a":[1,-2,2.5,1e300,true,null,"\"\\é\u0000"],"b":{},"c":[],"d":{"e":18446744073709551615}})";
  EXPECT_EQ(parse(text).root().to_text(), text);
  EXPECT_EQ(JsonRef().to_text(), "null");
}

TEST(Json, NumbersReadAsTheNearestDouble) {
  const auto bits_of = [](const std::string& text) {
    return std::bit_cast<std::uint64_t>(parse("[" + text + "]").root()[0].as_number().value());
  };
  // Includes ties between two doubles, the smallest, the largest, and more digits than a double holds. Bits from Python's float().
  const std::pair<std::string, std::uint64_t> known[] = {{"0.1", 0x3FB999999999999A},
                                                         {"-0.0", 0x8000000000000000},
                                                         {"9007199254740993.0", 0x4340000000000000},
                                                         {"9007199254740992.99999999999999999999999999999", 0x4340000000000000},
                                                         {"9007199254740993.00000000000000000000000000001", 0x4340000000000001},
                                                         {"2.2250738585072011e-308", 0x000FFFFFFFFFFFFF},
                                                         {"5e-324", 1},
                                                         {"2.4703282292062327e-324", 0},
                                                         {"2.4703282292062328e-324", 1},
                                                         {"1.7976931348623157e308", 0x7FEFFFFFFFFFFFFF},
                                                         {"1e-400", 0},
                                                         {"123456789012345678901234567890", 0x45F8EE90FF6C373E},
                                                         {"6.631236846766476e-316", 0x8000000},
                                                         {"0." + std::string(400, '0') + "1", 0},
                                                         {"1" + std::string(300, '7') + ".5e-200", 0x54C0417D76BD1F8B}};
  for (const auto& [text, bits] : known) EXPECT_EQ(bits_of(text), bits) << text;
  std::vector<std::string> texts;
  std::mt19937_64 random(1);
  for (int i = 0; i < 20000; ++i) {
    const double value = std::bit_cast<double>(random());
    if (std::isfinite(value)) texts.push_back((std::ostringstream() << std::setprecision(1 + i % 20) << value).str());
    // Numbers of the size of scores, with 1 to 25 digits; and halfway between two doubles, or just beside it.
    const double score = -20 * std::ldexp(static_cast<double>(random() >> 11), -53);
    texts.push_back((std::ostringstream() << std::fixed << std::setprecision(1 + i % 25) << score).str());
    const double whole = std::ldexp(static_cast<double>(random() >> 11), i % 12);
    const std::string beside = i % 3 == 0 ? "" : i % 3 == 1 ? "1" : std::string(i % 800, '0') + "1";
    const std::uint64_t tie = (random() >> 10 | 1);  // 54 bits
    texts.push_back(std::to_string(tie) + ".0" + beside);
    texts.push_back((std::ostringstream() << std::fixed << std::setprecision(0) << whole).str() + ".5");
  }
  for (const std::string& text : texts) {
    const auto read = Json::parse("[" + text + "]", "file.json");
    const double expected = std::strtod(text.c_str(), nullptr);
    if (std::isinf(expected)) {
      EXPECT_FALSE(read.ok()) << text;  // out of range
      continue;
    }
    ASSERT_TRUE(read.ok()) << text;
    EXPECT_EQ(bits_of(text), std::bit_cast<std::uint64_t>(expected)) << text;
  }
  for (const char* spelling : {"1e309", "0e400", "-0e999"}) EXPECT_FALSE(Json::parse(spelling, "file.json").ok()) << spelling;
}

TEST(Json, NumbersReadBackUnchanged) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 20000; ++i) {
    const double value = std::bit_cast<double>(random());
    if (!std::isfinite(value)) continue;
    const double read = parse("[" + json_text(value) + "]").root()[0].as_number().value();
    EXPECT_EQ(std::bit_cast<std::uint64_t>(read), std::bit_cast<std::uint64_t>(value)) << json_text(value);
  }
  EXPECT_EQ(json_text(1.0), "1.0");
  EXPECT_EQ(json_text(std::numeric_limits<double>::quiet_NaN()), "null");
  EXPECT_EQ(json_text(-std::numeric_limits<double>::infinity()), "null");
}

TEST(Json, KeysOfAnyLengthAreDistinct) {
  std::string text = "{", expected;
  for (std::size_t length = 0; length < 40; ++length) {
    for (const char last : {'a', 'b'}) {
      const std::string key = length == 0 ? std::string() : std::string(length - 1, 'x') + last;
      text += (text == "{" ? "\"" : ",\"") + key + "\":" + std::to_string(length);
    }
  }
  const Json json = parse(text + "}");
  EXPECT_EQ(json.root().size(), 79u);  // the empty key occurs twice
  EXPECT_EQ(json.root()[std::string(38, 'x') + "b"].as_int().value(), 39);
}

TEST(Json, StringsReadBackUnchanged) {
  for (const std::string_view text : {std::string_view("plain [words]"), std::string_view(""), std::string_view("\"\\/"),
                                      std::string_view("a\0b\n\x1F\x7F", 6), std::string_view("\u00e9 \u6771\U0001F600")}) {
    EXPECT_EQ(parse("[" + json_text(text) + "]").root()[0].as_string().value(), text);
  }
  EXPECT_EQ(json_text("a\xFFz"), "\"a\xEF\xBF\xBDz\"");
  EXPECT_EQ(json_text("\"\\\b\f\n\r\t/\x01\x1F\x7F"), R"("\"\\\b\f\n\r\t/\u0001\u001F)"
                                                      "\x7F\"");
}

// Keys whose hashes share their low bits, as in a file made for that purpose: still the last of each wins.
TEST(Json, CollidingKeysAreFound) {
  const auto mixed = [](std::uint64_t hash) {
    hash *= 0x9E3779B97F4A7C15;
    return hash ^ (hash >> 32);
  };
  std::vector<std::string> keys;
  std::mt19937_64 random(3);
  while (keys.size() < 1000) {
    char key[9] = {};
    const std::uint64_t letters = random();
    for (int i = 0; i < 9; ++i) key[i] = static_cast<char>('0' + (letters >> 6 * i & 63));
    std::uint64_t word = 0;
    std::memcpy(&word, key, 8);
    const std::uint64_t hash = mixed(mixed(9 ^ word) ^ static_cast<std::uint64_t>(key[8]));
    if ((hash & 0xFFF) == 0x123) keys.emplace_back(key, 9);
  }
  std::string text = "{";
  for (int round = 0; round < 2; ++round) {
    for (std::size_t i = 0; i < keys.size(); ++i) {
      text += (text.size() > 1 ? ",\n" : "") + json_text(keys[i]) + ":" + std::to_string(1000 * round + static_cast<int>(i));
    }
  }
  const Json json = parse(text + "}");
  const auto members = json.root().members();
  ASSERT_EQ(members.size(), keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i) {
    EXPECT_EQ(members[i].first, keys[i]);
    EXPECT_EQ(members[i].second.as_int().value(), 1000 + static_cast<std::int64_t>(i));
  }
}

TEST(Json, LongValuesAreShortenedInMessages) {
  const Json json = parse("[\"" + std::string(1000, 'x') + "\"]");
  const Result<std::int64_t> number = json.root()[0].as_int();
  ASSERT_FALSE(number.ok());
  EXPECT_LT(number.error().message.size(), 200u);
}

TEST(Json, MessagesAreInAscii) {
  const auto shown = [](std::string_view text) { return parse("[" + json_text(text) + "]").root()[0].describe(); };
  EXPECT_EQ(shown("a \"b\"\n\u00e9\u6771\U0001F600"), R"("a \"b\"\n\u00E9\u6771\uD83D\uDE00")");
  EXPECT_EQ(shown(std::string(58, 'x')), '"' + std::string(58, 'x') + '"');
  EXPECT_EQ(shown(std::string(59, 'x')), '"' + std::string(59, 'x') + "...");
  std::string faces;
  for (int i = 0; i < 1000; ++i) faces += "\U0001F600";
  EXPECT_EQ(shown(faces), R"("\uD83D\uDE00\uD83D\uDE00\uD83D\uDE00\uD83D\uDE00\uD83D\uDE0)"
                          "...");
}

}  // namespace
}  // namespace wattn
