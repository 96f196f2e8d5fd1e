// M2M-100's files, against transformers' M2M100Tokenizer (tests/goldens/m2m-100-tokenizer, made by tools/goldens/m2m_100.py).
#include <gtest/gtest.h>

#include "core/json.h"
#include "core/utf.h"
#include "native/support/goldens.h"
#include "tokenizer/formats/formats.h"

namespace wattn {
namespace {

using test::to_ids;

const char* const kKinds[] = {"bpe", "unigram"};

struct Folder {
  explicit Folder(const std::string& kind)
      : model(test::read_file(test::golden("m2m-100-tokenizer/" + kind + "/sentencepiece.bpe.model"))),
        vocab(test::read_file(test::golden("m2m-100-tokenizer/" + kind + "/vocab.json"))) {}
  std::string model, vocab, config = "{}";

  Result<Tokenizer> load() const {
    return load_tokenizer({{"sentencepiece.bpe.model", model}, {"vocab.json", vocab}, {"tokenizer_config.json", config}});
  }
  std::string refusal() const {
    const auto tokenizer = load();
    return tokenizer.ok() ? "" : tokenizer.error().message;
  }
};

TEST(M2m100Tokenizer, MatchesTransformers) {
  for (const std::string kind : kKinds) {
    const Json rows = test::read_json("m2m-100-tokenizer/" + kind + "/cases.json");
    for (std::size_t r = 0; r < rows.root().size(); ++r) {
      const JsonRef row = rows.root()[r];
      SCOPED_TRACE(kind + " " + row["settings"].to_text());
      Folder folder(kind);
      folder.config = row["settings"].to_text();
      const auto tokenizer = folder.load();
      ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().message;
      const JsonRef cases = row["cases"];
      ASSERT_GT(cases.size(), 15u);
      for (std::size_t i = 0; i < cases.size(); ++i) {
        SCOPED_TRACE(cases[i]["text"].to_text());
        const auto text = to_utf16(cases[i]["text"].as_string().value());
        const auto ids = tokenizer.value().encode(text, {}).value().ids;
        EXPECT_EQ(ids, to_ids(cases[i]["ids"]));
        EXPECT_EQ(tokenizer.value().encode(text, {.add_special_tokens = false}).value().ids, to_ids(cases[i]["plain"]));
        EXPECT_EQ(tokenizer.value().decode(to_ids(cases[i]["ids"]), true, false).value(), cases[i]["decoded"].as_string().value());
        EXPECT_EQ(tokenizer.value().decode(to_ids(cases[i]["ids"]), false, false).value(), cases[i]["shown"].as_string().value());
      }
      for (const auto& [code, id] : row["languages"].members()) {
        EXPECT_EQ(tokenizer.value().token_to_id("__" + std::string(code) + "__"), id.as_int().value());
      }
    }
  }
}

TEST(M2m100Tokenizer, RejectsInvalidFiles) {
  Folder language("bpe");
  language.config = R"({"src_lang": "xx"})";
  EXPECT_NE(language.refusal().find("src_lang: expected one of af am"), std::string::npos) << language.refusal();
  Folder codes("bpe");
  codes.config = R"({"language_codes": "m2m"})";
  EXPECT_NE(codes.refusal().find("language_codes"), std::string::npos) << codes.refusal();
  Folder without("bpe");
  without.vocab = R"({"<unk>": 0, "a": 1})";
  EXPECT_NE(without.refusal().find("</s>"), std::string::npos) << without.refusal();
  Folder list("bpe");
  list.vocab = "[]";
  EXPECT_NE(list.refusal().find("vocab.json"), std::string::npos) << list.refusal();
  // Another class with these two files has the ids of the pieces.
  Folder other("unigram");
  other.config = R"({"tokenizer_class": "XLMRobertaTokenizer"})";
  EXPECT_NE(other.load().ok() ? other.load().value().num_ids() : 0, Folder("unigram").load().value().num_ids());
  // Without tokenizer_config.json the defaults hold.
  const Folder plain("bpe");
  const auto bare = load_tokenizer({{"sentencepiece.bpe.model", plain.model}, {"vocab.json", plain.vocab}});
  ASSERT_TRUE(bare.ok()) << bare.error().message;
  EXPECT_EQ(bare.value().encode(u"the boat", {}).value().ids, plain.load().value().encode(u"the boat", {}).value().ids);
  const Folder whole("bpe");
  for (std::size_t size = 0; size < whole.model.size(); size += 7) {
    Folder cut = whole;
    cut.model.resize(size);
    (void)cut.refusal();  // no crash; a cut at the end of a piece is another model
  }
}

}  // namespace
}  // namespace wattn
