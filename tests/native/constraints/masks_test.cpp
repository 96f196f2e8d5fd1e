#include "constraints/masks.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "native/constraints/support.h"

namespace wattn {
namespace {

constexpr const char* kSchema =
    R"({"type":"object","properties":{"name":{"type":"string","maxLength":9},"age":{"type":"integer"},"next":{"$ref":"#"}},"required":["name"],"additionalProperties":{"type":"number"}})";

constexpr const char* kUnique =
    R"({"type":"array","uniqueItems":true,"items":{"anyOf":[{"type":"string","maxLength":2},{"enum":[12,1,"name"]}]},"maxItems":5})";

// A mask is the tokens whose bytes the grammar takes, in every state of random walks, and no walk comes to a place without a token.
TEST(Masks, AreTheTokensThatTheGrammarTakes) {
  const std::pair<ConstraintKind, const char*> kinds[] = {{ConstraintKind::kJsonSchema, kSchema},
                                                          {ConstraintKind::kJsonSchema, kUnique},
                                                          {ConstraintKind::kRegex, "(the|name)+ \\d{1,3}é*"},
                                                          {ConstraintKind::kRegex, "[a-z]*\\bthe\\b[ a-z]{0,9}"},
                                                          {ConstraintKind::kGbnf, "root ::= \"{\" root \"}\" | [a-z\"]+"}};
  for (const auto& [kind, text] : kinds) {
    Constrained own(kind, text);
    ASSERT_TRUE(own.ok()) << own.error().message;
    std::mt19937 random(7);
    for (int walk = 0; walk < 20; ++walk) {
      StateId state = own.grammar().start();
      std::string so_far;
      for (int i = 0; i < 60; ++i) {
        std::vector<std::int32_t> allowed;
        for (std::int32_t token = 0; token < own.vocabulary().size(); ++token) {
          const bool is_taken = own.masks().after(state, token) != Grammar::kDead;
          ASSERT_EQ(own.allows(state, token), is_taken) << token << " after " << so_far;
          if (is_taken) allowed.push_back(token);
        }
        if (allowed.empty()) {
          ASSERT_TRUE(own.grammar().may_end(state)) << so_far;
          break;
        }
        const std::int32_t token = allowed[random() % allowed.size()];
        so_far += own.vocabulary().bytes(token);
        state = own.masks().after(state, token);
      }
    }
  }
}

TEST(Masks, HoldWhenOldOnesAreForgotten) {
  Constrained own(ConstraintKind::kJsonSchema, kSchema);
  Masks small(own.grammar(), own.vocabulary(), 200);
  StateId state = own.grammar().start();
  for (const char byte : std::string(R"({"age":12,"name":"the","x":1.5,"next":{"name":""}})")) {
    const auto few = small.mask(state);
    const std::vector<std::uint32_t> copy(few.begin(), few.end());
    const auto all = own.masks().mask(state);
    EXPECT_TRUE(std::equal(copy.begin(), copy.end(), all.begin(), all.end()));
    state = own.grammar().after(state, static_cast<std::uint8_t>(byte));
  }
}

TEST(Masks, ForcedBytesAreTakenUpToAChoice) {
  Constrained own =
      schema(R"({"type":"object","properties":{"name":{"type":"string"}},"required":["name"],"additionalProperties":false})");
  const StateId start = own.grammar().start();
  const std::string forced = own.grammar().forced(start, 100);
  EXPECT_EQ(forced, "{\"name\":\"");
  EXPECT_EQ(own.grammar().forced(start, 3), "{\"n");
  // 256 + 0 is "name" with quotes.
  EXPECT_EQ(own.masks().fitting(start, forced, std::vector<std::int32_t>{'{', 256, ':', '"'}), 4u);
  EXPECT_EQ(own.masks().fitting(start, forced, std::vector<std::int32_t>{'{', 'x'}), 1u);
  EXPECT_EQ(own.masks().fitting(start, forced, std::vector<std::int32_t>{}), 0u);
  // The letters th of "the" are forced, and a token goes beyond them.
  Constrained word = regex("x(the|thing)");
  EXPECT_EQ(word.grammar().forced(word.grammar().start(), 100), "xth");
  EXPECT_EQ(word.masks().fitting(word.grammar().start(), "xth", std::vector<std::int32_t>{'x', 't', 'h'}), 1u);
}

// The states of a text with a maximum share what they allow, until the maximum is near.
TEST(Regexes, ClippedCountsAreAlikeForShortTexts) {
  Regexes r;
  const RegexId each = r.range('a', 'z'), end = r.text("!");
  const auto most = [&](std::int32_t min, std::int32_t max) { return r.concat(r.repeat(each, min, max), end); };
  EXPECT_EQ(r.clipped(most(0, 100), 12), r.clipped(most(0, 99), 12));
  EXPECT_EQ(r.clipped(most(50, 100), 12), r.clipped(most(40, Regexes::kNoLimit), 12));
  EXPECT_NE(r.clipped(most(0, 12), 12), r.clipped(most(0, 99), 12));
  for (const std::int32_t max : {12, 13, 14, 99}) {
    for (const std::int32_t min : {0, 11, 12}) {
      const RegexId own = most(min, max), clipped = r.clipped(own, 12);
      for (std::size_t length = 0; length <= 12; ++length) {
        const std::string text(length, 'a');
        EXPECT_EQ(r.after(own, text) == Regexes::kNothing, r.after(clipped, text) == Regexes::kNothing) << min << max << length;
        if (length > 0) {
          EXPECT_EQ(r.matches(own, text.substr(1) + "!"), r.matches(clipped, text.substr(1) + "!")) << min << max << length;
        }
      }
    }
  }
  const RegexId both = r.both({most(0, 99), r.no(r.text("a!"))});
  EXPECT_EQ(r.clipped(both, 12), both);
}

TEST(Vocabulary, FindsBytesAndTokensThatAreAlike) {
  const Vocabulary vocabulary = small_vocabulary();
  const std::int32_t node = vocabulary.find(0, "the");
  ASSERT_GE(node, 0);
  const std::int32_t token = vocabulary.nodes(0)[static_cast<std::size_t>(node)].token;
  EXPECT_EQ(token, 256 + 3);
  EXPECT_EQ(vocabulary.same(token), 256 + 10);
  EXPECT_EQ(vocabulary.same(256 + 10), -1);
  EXPECT_EQ(vocabulary.find(0, "thx"), -1);
  EXPECT_EQ(vocabulary.bytes(vocabulary.size() - 1), "");
}

}  // namespace
}  // namespace wattn
