#include "core/fields.h"

#include <gtest/gtest.h>

#include <functional>

namespace wattn {
namespace {

constexpr const char* kText = R"({"type": "x", "yes": true, "word": "gelu", "letter": "é", "size": 12, "zero": 0, "negative": -1,
    "half": 0.5, "one": 1.0, "big": 99999999999, "list": [1], "nothing": null, "no_list": [], "no_object": {}, "object": {"a": 1}})";

const Json& document() {
  static const Json json = std::move(Json::parse(kText, "config.json")).value();
  return json;
}

using Read = std::function<void(Fields&)>;

Error error_of(const Read& read) {
  Fields fields(document().root());
  read(fields);
  return fields.error();
}

TEST(Fields, ReturnValues) {
  Fields fields(document().root());
  EXPECT_TRUE(fields.boolean("yes"));
  EXPECT_TRUE(fields.boolean_or("nothing", true));
  EXPECT_EQ(fields.string("word"), "gelu");
  EXPECT_EQ(fields.string_or("absent", "none"), "none");
  EXPECT_EQ(fields.character("letter"), U'é');
  EXPECT_EQ(fields.size("size", 12), 12);
  EXPECT_EQ(fields.size_or("absent", 12, -3), -3);
  EXPECT_EQ(fields.integer_or("negative", 5, -1, 12), -1);
  EXPECT_EQ(fields.integer_or("nothing", 500, -1, 12), 500);  // a fallback may be out of range
  EXPECT_EQ(fields.number_or("half", 1, 0.5), 0.5);
  EXPECT_EQ(fields.number_or("absent", 7, 1), 7);
  EXPECT_EQ(fields.id("zero"), 0);
  EXPECT_EQ(fields.array("list").size(), 1u);
  EXPECT_TRUE(fields.has("list"));
  EXPECT_FALSE(fields.has("nothing"));
  EXPECT_FALSE(fields.has("absent"));
  constexpr std::pair<std::string_view, int> kWords[] = {{"relu", 1}, {"gelu", 2}};
  EXPECT_EQ(fields.choice("word", kWords), 2);
  EXPECT_EQ(fields.choice("absent", kWords, "relu"), 1);
  EXPECT_TRUE(fields.ok());
  EXPECT_TRUE(fields.result().ok());
}

TEST(Fields, ExpectValuesThatMayBeAbsent) {
  Fields fields(document().root());
  for (const char* key : {"absent", "nothing"}) {
    fields.expect(key, false);
    fields.expect(key, 3);
    fields.expect(key, "word");
  }
  fields.expect("yes", true);
  fields.expect("size", 12);
  fields.expect("one", 1);
  fields.expect("word", "gelu");
  for (const char* key : {"absent", "nothing", "no_list", "no_object"}) fields.absent(key);
  EXPECT_TRUE(fields.ok()) << fields.error().message;
}

TEST(Fields, NameThePathWhatTheyExpectedAndWhatTheyFound) {
  constexpr std::pair<std::string_view, int> kWords[] = {{"relu", 1}, {"silu", 2}};
  const struct {
    Read read;
    ErrorCode code;
    const char* message;
  } rows[] = {
      {[](Fields& f) { f.boolean("word"); }, ErrorCode::kModelFormat, "config.json: word: expected true or false, found \"gelu\""},
      {[](Fields& f) { f.size("zero", 9); }, ErrorCode::kModelFormat,
       "config.json: zero: expected a whole number from 1 to 9, found 0"},
      {[](Fields& f) { f.size("size", 11); }, ErrorCode::kModelFormat, "size: expected a whole number from 1 to 11, found 12"},
      {[](Fields& f) { f.size("half", 11); }, ErrorCode::kModelFormat, "half: expected an integer, found 0.5"},
      {[](Fields& f) { f.size("absent", 11); }, ErrorCode::kModelFormat, "absent: expected an integer, found nothing"},
      {[](Fields& f) { f.size_or("zero", 9, 1); }, ErrorCode::kModelFormat, "zero: expected a whole number from 1 to 9"},
      {[](Fields& f) { f.integer_or("negative", 0, 0, 9); }, ErrorCode::kModelFormat,
       "negative: expected a whole number from 0 to 9"},
      {[](Fields& f) { f.integer_or("size", 0, 0, 9); }, ErrorCode::kModelFormat, "size: expected a whole number from 0 to 9"},
      {[](Fields& f) { f.number_or("zero", 1, 9); }, ErrorCode::kModelFormat, "zero: expected a number above 0, at most 9"},
      {[](Fields& f) { f.number_or("size", 1, 9); }, ErrorCode::kModelFormat, "size: expected a number above 0, at most 9"},
      {[](Fields& f) { f.id("negative"); }, ErrorCode::kModelFormat, "negative: expected a number between 0 and 2^31 - 1"},
      {[](Fields& f) { f.id("big"); }, ErrorCode::kModelFormat, "big: expected a number between 0 and 2^31 - 1"},
      {[](Fields& f) { f.character("word"); }, ErrorCode::kModelFormat, "word: expected one character"},
      {[](Fields& f) { f.array("object"); }, ErrorCode::kModelFormat, "object: expected an array"},
      {[&](Fields& f) { f.choice("word", kWords); }, ErrorCode::kUnsupported,
       "word: expected one of \"relu\", \"silu\", found \"gelu\""},
      {[&](Fields& f) { f.choice("absent", kWords, "gelu"); }, ErrorCode::kUnsupported, "absent: expected one of"},
      {[&](Fields& f) { f.choice("size", kWords, "relu"); }, ErrorCode::kModelFormat, "size: expected a string"},
      {[](Fields& f) { f.expect("yes", false); }, ErrorCode::kUnsupported, "yes: expected false, found true"},
      {[](Fields& f) { f.expect("word", false); }, ErrorCode::kModelFormat, "word: expected true or false"},
      {[](Fields& f) { f.expect("size", 3); }, ErrorCode::kUnsupported, "size: expected 3, found 12"},
      {[](Fields& f) { f.expect("half", 1); }, ErrorCode::kUnsupported, "half: expected 1, found 0.5"},
      {[](Fields& f) { f.expect("word", "relu"); }, ErrorCode::kUnsupported, "word: expected \"relu\", found \"gelu\""},
      {[](Fields& f) { f.absent("object"); }, ErrorCode::kUnsupported, "object: expected nothing (not supported), found an object"},
      {[](Fields& f) { f.absent("zero"); }, ErrorCode::kUnsupported, "zero: expected nothing"},
  };
  for (const auto& row : rows) {
    const Error error = error_of(row.read);
    EXPECT_EQ(error.code, row.code) << row.message;
    EXPECT_NE(error.message.find(row.message), std::string::npos) << row.message << "\n" << error.message;
  }
}

TEST(Fields, KeepTheFirstError) {
  const Error error = error_of([](Fields& fields) {
    fields.size("zero", 9);
    fields.boolean("word");
    fields.fail(input_error("late"));
    EXPECT_EQ(fields.size_or("absent", 9, 4), 4);  // reads continue
    EXPECT_FALSE(fields.result().ok());
  });
  EXPECT_NE(error.message.find("zero"), std::string::npos) << error.message;
}

TEST(Fields, CanRejectUnknownMembers) {
  const JsonRef object = document().root()["object"];
  EXPECT_TRUE(Fields(object, {"a"}).ok());
  const Fields fields(object, {"b"});
  EXPECT_EQ(fields.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(fields.error().message.find("object.a: unknown field"), std::string::npos) << fields.error().message;
  EXPECT_TRUE(Fields(Json::parse(R"({"type": 1})", "a").value().root(), {}).ok());
}

TEST(Fields, RequireAnObject) {
  for (const char* key : {"list", "size", "absent"}) {
    const Fields fields(document().root()[key]);
    EXPECT_EQ(fields.error().code, ErrorCode::kModelFormat) << key;
    EXPECT_NE(fields.error().message.find("expected an object"), std::string::npos) << fields.error().message;
  }
}

}  // namespace
}  // namespace wattn
