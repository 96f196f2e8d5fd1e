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

// A mask is the tokens whose bytes the grammar takes, in every state of random walks, and no walk comes to a place without a token.
TEST(Masks, AreTheTokensThatTheGrammarTakes) {
  const std::pair<ConstraintKind, const char*> kinds[] = {{ConstraintKind::kJsonSchema, kSchema},
                                                          {ConstraintKind::kRegex, "(the|name)+ \\d{1,3}é*"},
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
  // 256 + 0 is "name" with quotes, + 1 is ":" with quotes, + 4 is name.
  EXPECT_EQ(own.masks().fitting(start, forced, std::vector<std::int32_t>{'{', 256, ':', '"'}),
            3u);  // "," may come after the last quote
  EXPECT_EQ(own.masks().fitting(start, forced, std::vector<std::int32_t>{'{', 'x'}), 1u);
  EXPECT_EQ(own.masks().fitting(start, forced, std::vector<std::int32_t>{}), 0u);
}

TEST(Vocabulary, FindsBytesAndTokensThatAreAlike) {
  const Vocabulary vocabulary = small_vocabulary();
  const std::int32_t node = vocabulary.find(0, "the");
  ASSERT_GE(node, 0);
  const std::int32_t token = vocabulary.nodes()[static_cast<std::size_t>(node)].token;
  EXPECT_EQ(token, 256 + 3);
  EXPECT_EQ(vocabulary.same(token), 256 + 10);
  EXPECT_EQ(vocabulary.same(256 + 10), -1);
  EXPECT_EQ(vocabulary.find(0, "thx"), -1);
  EXPECT_EQ(vocabulary.bytes(vocabulary.size() - 1), "");
}

}  // namespace
}  // namespace wattn
