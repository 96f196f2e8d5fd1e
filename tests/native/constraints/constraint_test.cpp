// What texts each kind of constraint accepts.
#include "constraints/constraint.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "constraints/pattern.h"
#include "native/constraints/support.h"

namespace wattn {
namespace {

struct Case {
  const char* text;
  std::vector<std::string> accepted, refused;
};

void check(ConstraintKind kind, const std::vector<Case>& cases) {
  for (const auto& [text, accepted, refused] : cases) {
    Constrained own(kind, text);
    ASSERT_TRUE(own.ok()) << text << ": " << own.error().message;
    for (const std::string& each : accepted) EXPECT_TRUE(own.accepts(each)) << text << " accepts " << each;
    for (const std::string& each : refused) EXPECT_FALSE(own.accepts(each)) << text << " refuses " << each;
  }
}

TEST(Pattern, IsThatOfJavaScript) {
  check(ConstraintKind::kRegex,
        {{"[a-c]{2,3}\\d", {"ab1", "abc9"}, {"a1", "abcd1", "ab", "ab12"}},
         {"(?!foo)[a-z]+", {"fo", "x", "barfoo"}, {"foo", "foox"}},
         {"(?=.{3}$)[a-z]*", {"abc"}, {"ab", "abcd"}},
         {"a|b(c|d)?|", {"", "a", "b", "bd"}, {"ac", "bcd"}},
         {"[^a-z\\d]", {"é", "-", "\n"}, {"a", "5", ""}},
         {".", {"é", "😀"}, {"\n", "\r", ""}},
         {"\\u{1F600}|\\ud83d\\ude01|\\x41", {"😀", "😁", "A"}, {"a"}},
         {"^a$", {"a"}, {"aa"}},
         {"(a*)*b", {"b", "aab"}, {"a"}},
         {"a\\nb|\\t|\\r\\f\\v", {"a\nb", "\t", "\r\f\v"}, {"anb", "a b", "t"}},
         {"[a-]|[x-y-]", {"a", "-", "x", "y"}, {"b", "z"}},
         {"[\\u0100-\\u07fe]", {"\u0100", "\u07FE"}, {"\u00FF", "\u07FF", "\u0800"}},
         {"[\\u0801-\\uabcd]", {"\u0801", "\u0FFF", "\uABCD"}, {"\u0800", "\uABCE"}},
         {"[\\u{10001}-\\u{43210}]", {"\U00010001", "\U0002FFFF", "\U00043210"}, {"\uFFFF", "\U00010000", "\U00043211"}},
         {"\\w+\\s\\S", {"a_1 x"}, {"a1x"}}});
}

TEST(Pattern, HasBoundariesOfWords) {
  check(ConstraintKind::kRegex, {{"\\bab\\b.*", {"ab", "ab c", "ab-c"}, {"abc", "ab_", "ab1"}},
                                 {".*\\bcat\\b.*", {"cat", "a cat!", "the-cat", "cat cat"}, {"cats", "concat", "", "ca t"}},
                                 {"[a-c-]+\\b[c-]+", {"a-", "-c", "ab-c", "-a-"}, {"ab", "-", "--", "cc"}},
                                 {"a\\Bb|a\\B", {"ab"}, {"a"}},
                                 {"(a|-)?\\B(b|-)", {"ab", "-", "--"}, {"b", "a-", "-b"}},
                                 {"\\B", {""}, {"a"}},
                                 {"x*\\b(?=y|-)[^]*", {"y", "x-", "xx-z"}, {"xy", "-", "x"}},
                                 {"[\\b]", {"\b"}, {"b"}}});
  check(ConstraintKind::kJsonSchema, {{R"({"type":"string","pattern":"\\bn\\b"})",
                                       {R"("n")", R"("a n")", R"("\nn")", R"("n\n")", R"("\"n\"")"},
                                       {R"("\n")", R"("an")", R"("n1")", R"("")"}}});
}

TEST(Pattern, HasPropertiesThatAreDefined) {
  define_property("Vowel", std::vector<std::int32_t>{'a', 'a', 'e', 'e', 0xE9, 0xEA});
  check(ConstraintKind::kRegex, {{"\\p{Vowel}+", {"a", "eé", "ê"}, {"b", "ab", "è"}},
                                 {"[\\p{Vowel}b-d]", {"a", "c", "é"}, {"f"}},
                                 {"[^\\p{Vowel}]|\\P{Vowel}{2}", {"b", "bc"}, {"a", "ba"}}});
}

TEST(Pattern, SaysWhatIsNotSupported) {
  for (const char* text : {"(a)\\1", "(\\bfoo)+", "(?<=a)b", "\\p{Greek}", "(^a)+"})
    EXPECT_EQ(regex(text).error().code, ErrorCode::kUnsupported) << text;
  for (const char* text : {"(a", "a)", "[a", "*", "a{2,1}", "\\u12", "[b-a]"})
    EXPECT_EQ(regex(text).error().code, ErrorCode::kInput) << text;
  for (const char* text : {"a^b", "\\b", "a\\bb"}) EXPECT_EQ(regex(text).error().code, ErrorCode::kInput) << text;  // no text
}

TEST(Parts, AreTextsJsonAndExpressionsInTurn) {
  check(ConstraintKind::kParts,
        {{R"(["<a>", {"json": {"type": "integer", "minimum": 0}}, "</a>"])",
          {"<a>1</a>", "<a>23</a>"},
          {"<a></a>", "<a>-1</a>", "1"}},
         {R"({"any": ["x", ["y", {"json": true}]]})", {"x", "y1", "y{\"a\":[]}", "ynull"}, {"", "y", "x1"}},
         {R"({"many": [{"regex": "[a-c]"}, {"any": [";", ""]}]})", {"a", "a;b", "ab;"}, {"", "d", ";"}},
         {R"(["\u0001", {"json": {"type": "string", "maxLength": 1}}, "\u0002"])", {"\x01\"a\"\x02"}, {"\x01\"\x02\"\x02"}},
         {R"({"any": [["f", {"json": {"enum": ["a"]}}], ["g", {"json": {"$ref": "#/$defs/t", "$defs": {"t": {"enum": [1]}}}}]]})",
          {"f\"a\"", "g1"},
          {"g\"a\"", "f1"}}});
}

TEST(Parts, SayWhatIsWrong) {
  for (const char* text : {"1", "{}", "[1]", "{\"any\": 1}", "{\"regex\": 1}", "{\"many\": {}}", "[", "{\"regex\": \"(\"}"})
    EXPECT_EQ(Constrained(ConstraintKind::kParts, text).error().code, ErrorCode::kInput) << text;
  const Constrained refused(ConstraintKind::kParts, R"(["a", {"json": {"type": "array", "uniqueItems": true}}])");
  EXPECT_EQ(refused.error().message,
            "schema, '#': keyword 'uniqueItems' is not supported: for elements that may be objects or arrays");
  EXPECT_EQ(Constrained(ConstraintKind::kParts, R"(["a", {"json": false}])").error().code, ErrorCode::kInput);
}

TEST(Gbnf, FollowsLlamaCppsRules) {
  check(ConstraintKind::kGbnf,
        {{"root ::= \"a\" root \"b\" | [0-9]+", {"1", "a1b", "aa22bb"}, {"a1", "ab"}},
         {"root ::= (\"x\" | \"y\"){2,3} # comment\n", {"xy", "yyy"}, {"x", "xxxx"}},
         {"root  ::= item (\", \" item)*\nitem ::= [^,\\n]+ |\n  \"\\x41\"\n", {"a", "a, b", "A"}, {"a,b", ""}},
         {"root ::= .", {"é"}, {"ab"}},
         {"root ::= \"a\" | bad{2}\nbad ::= \"y\" bad", {"a"}, {"y", "yy"}},
         {"root ::= item{3}\nitem ::= \"(\" item? \")\"", {"()()()", "(())()()"}, {"()()", "()()()()", "((()"}},
         {"root ::= item{ 2 , }\nitem ::= \"(\" item? \")\"", {"()()", "()()()()"}, {"()", ""}},
         {"root ::= \"a\"? b\nb ::= \"\\\"\" \"\\u00e9\"", {"\"é", "a\"é"}, {"a"}}});
}

TEST(Gbnf, SaysWhereItIsWrong) {
  EXPECT_EQ(gbnf("root ::= a").error().message, "grammar: rule 'a' is used but not defined");
  EXPECT_EQ(gbnf("a ::= \"x\"").error().message, "grammar: expected a rule 'root', found none");
  EXPECT_NE(gbnf("root ::= \"a\"\nb = \"c\"").error().message.find("line 2"), std::string::npos);
  EXPECT_EQ(gbnf("root ::= \"abc").error().message, "grammar, line 1: expected '\"', found the end");
  EXPECT_EQ(gbnf("root ::= [abc").error().message, "grammar, line 1: expected ']', found the end");
  EXPECT_EQ(gbnf("root ::= \"a\"{2").error().message, "grammar, line 1: expected '}', found the end");
  EXPECT_EQ(gbnf("root ::= root \"a\" | \"b\"").error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(gbnf("root ::= n* root \"a\" | \"b\"\nn ::= \"(\" n? \")\"").error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(gbnf("root ::= \"a\" root").error().code, ErrorCode::kInput);  // without an end
}

TEST(JsonSchema, ScalarsAreExact) {
  check(ConstraintKind::kJsonSchema,
        {{R"({"type":"integer","minimum":-5,"maximum":120})", {"-5", "0", "9", "120"}, {"-6", "121", "1.5", "01", "-0", "1200"}},
         {R"({"type":"number","exclusiveMinimum":0,"maximum":1.5})", {"1e-7", "0.1", "1.5", "1"}, {"0", "-1", "1.51", "2", "1.50"}},
         // In plain digits from 10^-6 on, as JSON.stringify writes numbers.
         {R"({"type":"number"})", {"0.000001", "0.0000019", "9.9e-7", "-0.000001"}, {"0.0000001", "0.0000009", "1e-6"}},
         {R"({"type":"number","exclusiveMaximum":10})", {"9.999", "-3", "0"}, {"10", "11", "10.5"}},
         {R"({"multipleOf":0.25,"type":"number"})", {"0.75", "-2", "0"}, {"0.3", "1.125"}},
         {R"({"type":"string","minLength":2,"maxLength":3})",
          {"\"ab\"", "\"é😀x\"", "\"\\n\\\"\""},
          {"\"a\"", "\"abcd\"", "\"a\nb\""}},
         {R"({"type":"string","pattern":"^a.*z$"})", {"\"az\"", "\"a\\\"z\""}, {"\"za\"", "\"az1\""}},
         {R"({"type":"string","pattern":"b"})", {"\"abc\""}, {"\"ac\""}},
         {R"({"type":"string","pattern":"^\\u0000\\n$"})", {"\"\\u0000\\n\""}, {"\"\\u0001\\n\""}},
         {R"({"type":["string","null"]})", {"\"a\"", "null"}, {"1", "[]"}},
         {R"({"enum":["a",1,null,true,[1,{"b":2}]]})",
          {"\"a\"", "1", "null", "true", "[1,{\"b\":2}]"},
          {"\"b\"", "2", "false", "[1]"}},
         {R"({"type":"string","format":"date"})", {"\"2024-02-29\""}, {"\"2023-02-29\"", "\"2024-13-01\""}},
         {R"({"type":"string","format":"ipv4"})", {"\"127.0.0.1\""}, {"\"256.0.0.1\"", "\"1.2.3\""}},
         {"true", {"null", "[]", "{}", "[1,{\"a\":[]}]"}, {"", "[1,]", "{a:1}"}}});
}

TEST(JsonSchema, ObjectsTakeKeysInAnyOrder) {
  check(
      ConstraintKind::kJsonSchema,
      {{R"({"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"null"}},"required":["a"],"additionalProperties":false})",
        {"{\"a\":1}", "{\"a\":1,\"b\":null}", "{\"b\":null,\"a\":1}"},
        {"{}", "{\"b\":null}", "{\"a\":1,\"a\":1}", "{\"a\":1,\"c\":1}", "{\"a\":1,}"}},
       {R"({"type":"object","patternProperties":{"^n":{"type":"integer"}},"additionalProperties":{"type":"string"}})",
        {"{\"n1\":1,\"x\":\"y\"}", "{}"},
        {"{\"n1\":\"y\"}", "{\"x\":1}"}},
       {R"({"type":"object","propertyNames":{"maxLength":1},"maxProperties":2})",
        {"{\"a\":1,\"b\":2}"},
        {"{\"ab\":1}", "{\"a\":1,\"b\":2,\"c\":3}"}},
       {R"({"type":"object","properties":{"a":true,"b":true},"dependentRequired":{"a":["b"]},"additionalProperties":false})",
        {"{}", "{\"b\":1}", "{\"a\":1,\"b\":1}"},
        {"{\"a\":1}"}},
       {R"({"type":"object","properties":{"a":{"type":"null"},"b":{"type":"null"}},"additionalProperties":false,"minProperties":2})",
        {"{\"b\":null,\"a\":null}"},
        {"{}", "{\"a\":null}"}},
       {R"({"type":"object","properties":{"a":false},"minProperties":1})", {"{\"b\":1}"}, {"{}", "{\"a\":1}"}}});
}

TEST(JsonSchema, TrueAndFalseAreSchemas) {
  check(
      ConstraintKind::kJsonSchema,
      {{R"({"type":"array","items":false})", {"[]"}, {"[1]"}},
       {R"({"type":"array","prefixItems":[{"type":"null"},true],"items":false,"minItems":1})",
        {"[null]", "[null,{}]"},
        {"[]", "[1]", "[null,1,2]"}},
       {R"({"type":"array","items":{"type":"integer"},"contains":true,"minContains":2})", {"[1,2]"}, {"[1]"}},
       {R"({"type":"object","patternProperties":{"^a":false,"^b":{"type":"null"}},"additionalProperties":true,"minProperties":1})",
        {"{\"b\":null}", "{\"c\":1}"},
        {"{}", "{\"a\":1}", "{\"b\":1}"}},
       {R"({"type":"object","properties":{"a":true,"b":true,"c":false},"additionalProperties":false,"minProperties":2})",
        {"{\"a\":1,\"b\":2}", "{\"b\":2,\"a\":1}"},
        {"{\"a\":1}", "{\"a\":1,\"c\":1}"}},
       {R"({"oneOf":[{"type":"object","properties":{"a":{"type":"null"}},"required":["a"],"additionalProperties":true},{"type":"null"}]})",
        {"{\"a\":null,\"b\":1}", "null"},
        {"{}", "1"}},
       {R"({"not":false,"type":"integer"})", {"1"}, {"null"}}});
}

TEST(JsonSchema, KeysMayKeepTheirOrder) {
  Constrained own(
      ConstraintKind::kJsonSchema,
      R"({"type":"object","properties":{"z":true,"a":true,"m":true},"required":["a"],"additionalProperties":{"type":"null"}})",
      {.in_order = true});
  for (const char* text : {"{\"a\":1}", "{\"z\":1,\"a\":1}", "{\"a\":1,\"m\":1,\"x\":null}", "{\"z\":1,\"a\":1,\"m\":1}"})
    EXPECT_TRUE(own.accepts(text)) << text;
  for (const char* text : {"{\"a\":1,\"z\":1}", "{\"z\":1,\"m\":1,\"a\":1}", "{\"m\":1,\"a\":1}", "{\"x\":null,\"a\":1}", "{}"})
    EXPECT_FALSE(own.begins(text) && own.accepts(text)) << text;
  EXPECT_FALSE(own.begins("{\"z\":1,\"m"));
}

TEST(JsonSchema, ArraysCountAndContain) {
  check(
      ConstraintKind::kJsonSchema,
      {{R"({"type":"array","items":{"type":"integer"},"minItems":1,"maxItems":2})", {"[1]", "[1,2]"}, {"[]", "[1,2,3]", "[\"a\"]"}},
       {R"({"type":"array","prefixItems":[{"const":1},{"const":2}],"items":false})", {"[]", "[1]", "[1,2]"}, {"[2]", "[1,2,3]"}},
       {R"({"type":"array","prefixItems":[{"const":1},{"const":2},{"const":3}],"items":{"const":9},"minItems":2,"maxItems":5})",
        {"[1,2]", "[1,2,3]", "[1,2,3,9]", "[1,2,3,9,9]"},
        {"[1]", "[1,2,9]", "[1,2,3,3]", "[1,2,3,9,9,9]", "[2,2]"}},
       {R"({"type":"array","items":{"type":"integer"},"contains":{"const":5}})", {"[5]", "[1,5]", "[5,5,1]"}, {"[]", "[1]"}},
       {R"({"type":"array","contains":{"const":5},"maxContains":1})", {"[5]", "[1,5,2]"}, {"[5,5]", "[]"}}});
}

TEST(JsonSchema, CombinesExactly) {
  check(
      ConstraintKind::kJsonSchema,
      {{R"({"oneOf":[{"type":"integer"},{"minimum":2}]})", {"1", "2.5", "\"x\""}, {"3", "1.5"}},
       {R"({"not":{"required":["a"]}})", {"{\"b\":1}", "{}"}, {"{\"a\":1}", "1"}},
       {R"({"allOf":[{"properties":{"a":{"minimum":2}}},{"properties":{"a":{"type":"integer"}}}],"required":["a"],"type":"object"})",
        {"{\"a\":2}"},
        {"{\"a\":1}", "{\"a\":2.5}", "{}"}},
       {R"({"if":{"type":"integer"},"then":{"minimum":5},"else":{"type":"null"}})", {"5", "null"}, {"4", "\"a\""}},
       {R"({"$ref":"#/$defs/n","$defs":{"n":{"anyOf":[{"type":"null"},{"type":"array","items":{"$ref":"#/$defs/n"}}]}}})",
        {"null", "[[],[null]]"},
        {"1", "[1]"}}});
}

TEST(JsonSchema, FindsWhatReferencesName) {
  check(ConstraintKind::kJsonSchema,
        {{R"({"$ref":"#/$defs/a%25b","$defs":{"a%b":{"type":"null"}}})", {"null"}, {"1"}},
         {R"({"$ref":"#/$defs/%C3%A9%2","$defs":{"é%2":{"type":"null"}}})", {"null"}, {"1"}},
         {R"({"$ref":"#/$defs/a~1b~0","$defs":{"a/b~":{"type":"null"}}})", {"null"}, {"1"}},
         {R"({"$id":"http://e.org/a/root.json#","$ref":"item.json","$defs":{"x":{"$id":"item.json","type":"null"}}})",
          {"null"},
          {"1"}},
         {R"({"$id":"http://e.org/a/root.json","$ref":"http://e.org/a/root.json#y","$defs":{"x":{"$anchor":"y","type":"null"}}})",
          {"null"},
          {"1"}},
         {R"({"$ref":"#x","definitions":{"x":{"$id":"#x","type":"null"}}})", {"null"}, {"1"}}});
}

// A key that leaves no room for a required one never begins.
TEST(JsonSchema, LeavesRoomForWhatIsRequired) {
  Constrained own = schema(R"({"type":"object","properties":{"a":true,"b":true},"required":["a"],"maxProperties":1})");
  EXPECT_TRUE(own.accepts("{\"a\":1}"));
  EXPECT_FALSE(own.begins("{\"b\""));
  EXPECT_FALSE(own.begins("{\"a\":1,"));
  EXPECT_FALSE(own.begins("{\"c\""));
}

TEST(JsonSchema, ElementsMayHaveToDiffer) {
  check(ConstraintKind::kJsonSchema,
        {{R"({"type":"array","uniqueItems":true,"items":{"enum":["a","b","ab",1,null]}})",
          {"[]", R"(["a"])", R"(["ab","a","b",1,null])", R"([null,1])"},
          {R"(["a","a"])", R"(["a","b","a"])", R"([1,null,1])", R"(["a",])"}},
         {R"({"type":"array","uniqueItems":true,"items":{"type":"string"}})",
          {R"(["","a","aa"])", R"(["é","e"])"},
          {R"(["aa","a","aa"])", R"(["",""])", R"([1])"}},
         {R"({"type":"array","uniqueItems":true,"items":{"type":"integer"},"minItems":2,"maxItems":3})",
          {"[1,12]", "[12,1,2]"},
          {"[1]", "[1,1]", "[12,1,12]", "[1,2,3,4]"}},
         {R"({"type":"array","uniqueItems":true,"items":{"type":"boolean"},"minItems":2})",
          {"[true,false]", "[false,true]"},
          {"[true]", "[true,true]"}},
         {R"({"type":"array","uniqueItems":true,"items":{"type":"array"},"maxItems":1})", {"[]", "[[]]"}, {"[[],[]]"}}});
  EXPECT_EQ(schema(R"({"type":"array","uniqueItems":true,"items":{"type":"boolean"},"minItems":3})").error().code,
            ErrorCode::kInput);
  // Nothing else can follow when all are used, and an element that would be the same has no end.
  Constrained own = schema(R"({"type":"array","uniqueItems":true,"items":{"enum":["the","name"]}})");
  EXPECT_TRUE(own.begins(R"(["the","name")"));
  EXPECT_FALSE(own.begins(R"(["the","name",)"));
  EXPECT_FALSE(own.begins(R"(["the","t)"));
  Constrained spaced = schema(R"({"type":"array","uniqueItems":true,"items":{"type":"integer"}})", true);
  EXPECT_TRUE(spaced.accepts("[ 1, 12, 2 ]"));
  EXPECT_FALSE(spaced.begins("[ 1, 1 "));
}

TEST(JsonSchema, RefusesByKeyword) {
  const struct {
    const char *text, *keyword;
  } cases[] = {{R"({"type":"array","uniqueItems":true})", "'uniqueItems'"},
               {R"({"requird":["a"]})", "'requird'"},
               {R"({"$ref":"https://example.org/other"})", "'$ref'"},
               {R"({"$ref":"#"})", "'$ref'"},
               {R"({"properties":{"a":{"format":"iri"}}})", "'#/properties/a': keyword 'format'"}};
  for (const auto& [text, keyword] : cases) {
    const Constrained own = schema(text);
    EXPECT_EQ(own.error().code, ErrorCode::kUnsupported) << text;
    EXPECT_NE(own.error().message.find(keyword), std::string::npos) << own.error().message;
  }
  EXPECT_EQ(schema(R"({"type":"integer","minimum":5,"maximum":4})").error().code, ErrorCode::kInput);
  EXPECT_EQ(schema(R"({"type":"object","properties":{"a":false},"required":["a"]})").error().code, ErrorCode::kInput);
}

TEST(JsonSchema, SpacesAreAnOption) {
  constexpr const char* kText =
      R"({"type":"object","properties":{"a":{"type":"array","items":{"type":"integer"}}},"required":["a"],"additionalProperties":false})";
  EXPECT_FALSE(schema(kText).accepts("{ \"a\": [1, 2] }"));
  Constrained spaced = schema(kText, true);
  EXPECT_TRUE(spaced.accepts("{ \"a\": [1, 2] }"));
  EXPECT_TRUE(spaced.accepts("{\n  \"a\": [\n    1\n  ]\n}"));
  EXPECT_TRUE(spaced.accepts("{\"a\":[1]}"));
  EXPECT_FALSE(spaced.accepts("{  \"a\":[1]}"));
}

TEST(Constraint, BeginsAfterAMark) {
  Constrained own(ConstraintKind::kChoice, R"(["yes","no"])", {.after = "</t>"});
  EXPECT_TRUE(own.accepts("a < b</t>yes"));
  EXPECT_FALSE(own.accepts("yes"));
  EXPECT_FALSE(own.accepts("</t> yes"));
  EXPECT_FALSE(own.begins("</t></t>"));
}

}  // namespace
}  // namespace wattn
