// OPUS-MT's files, against transformers' MarianTokenizer (tests/goldens/marian-tokenizer, made by tools/goldens/marian.py).
#include <gtest/gtest.h>

#include "core/json.h"
#include "core/utf.h"
#include "native/support/files.h"
#include "tokenizer/formats/formats.h"

namespace wattn {
namespace {

struct Folder {
  std::string source = test::read_file(test::golden("marian-tokenizer/source.spm"));
  std::string vocab = test::read_file(test::golden("marian-tokenizer/vocab.json"));
  std::string config = test::read_file(test::golden("marian-tokenizer/tokenizer_config.json"));

  Result<Tokenizer> load() const {
    return load_tokenizer({{"vocab.json", vocab}, {"source.spm", source}, {"tokenizer_config.json", config}});
  }
  std::string refusal() const {
    const auto tokenizer = load();
    return tokenizer.ok() ? "" : tokenizer.error().message;
  }
};

std::vector<std::int32_t> ids_of(JsonRef list) {
  std::vector<std::int32_t> ids;
  for (std::size_t i = 0; i < list.size(); ++i) ids.push_back(static_cast<std::int32_t>(list[i].as_int().value()));
  return ids;
}

TEST(MarianTokenizer, MatchesTransformers) {
  const auto tokenizer = Folder().load();
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().message;
  const Result<Json> cases = Json::parse(test::read_file(test::golden("marian-tokenizer/cases.json")), "cases.json");
  ASSERT_TRUE(cases.ok());
  ASSERT_GT(cases.value().root().size(), 30u);
  for (std::size_t i = 0; i < cases.value().root().size(); ++i) {
    const JsonRef one = cases.value().root()[i];
    const auto ids = ids_of(one["ids"]);
    EXPECT_EQ(tokenizer.value().decode(ids, true, false).value(), one["decoded"].as_string().value()) << i;
    if (!one["text"].exists()) continue;
    const auto text = to_utf16(one["text"].as_string().value());
    EXPECT_EQ(tokenizer.value().encode(text, {}).value().ids, ids) << i;
    EXPECT_EQ(tokenizer.value().encode(text, {.add_special_tokens = false}).value().ids, ids_of(one["plain"])) << i;
  }
}

TEST(MarianTokenizer, HasOnlyTheTokensOfVocabJson) {
  const auto tokenizer = Folder().load();
  ASSERT_TRUE(tokenizer.ok());
  const Result<Json> vocab = Json::parse(Folder().vocab, "vocab.json");
  const auto tokens = static_cast<std::int32_t>(vocab.value().root().size());
  EXPECT_EQ(tokenizer.value().vocab_size(), tokens);
  EXPECT_EQ(tokenizer.value().num_ids(), tokens);
  EXPECT_EQ(tokenizer.value().id_to_token(tokens), "");
  EXPECT_EQ(tokenizer.value().token_to_id(">>fra<<"), std::optional<std::int32_t>(tokens - 3));
  EXPECT_EQ(tokenizer.value().model_max_length(), std::optional<std::int32_t>(512));
}

TEST(MarianTokenizer, SeparatesSpecialTokensThatStayInTheText) {
  const auto tokenizer = Folder().load();
  ASSERT_TRUE(tokenizer.ok());
  const auto ids = tokenizer.value().encode(u"the river</s>a bird<pad>", {}).value().ids;
  EXPECT_EQ(tokenizer.value().decode(ids, false, false).value(), "the river</s> a bird<pad> </s>");
}

TEST(MarianTokenizer, RejectsInvalidFiles) {
  Folder two;
  two.config = R"({"separate_vocabs": true})";
  EXPECT_NE(two.refusal().find("separate_vocabs: expected one vocabulary"), std::string::npos) << two.refusal();
  Folder without;
  without.vocab = R"({"<unk>": 0, "a": 1})";
  EXPECT_NE(without.refusal().find("</s>"), std::string::npos) << without.refusal();
  Folder list;
  list.vocab = "[]";
  EXPECT_NE(list.refusal().find("vocab.json"), std::string::npos) << list.refusal();
  const Folder whole;
  for (std::size_t size = 0; size < whole.source.size(); size += 7) {
    Folder cut;
    cut.source.resize(size);
    (void)cut.refusal();  // for the sanitizers
  }
  for (std::size_t i = 0; i < whole.source.size(); i += 11) {
    Folder changed;
    changed.source[i] = static_cast<char>(changed.source[i] ^ 0x55);
    (void)changed.refusal();
  }
}

}  // namespace
}  // namespace wattn
