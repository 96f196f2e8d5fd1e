// predict: logits of texts, pairs and windows. tests/web tests their interpretation.
#include "tasks/predict.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/utf.h"
#include "native/support/generation.h"
#include "native/support/goldens.h"
#include "native/support/models.h"
#include "native/support/transformers.h"
#include "tasks/forward.h"

namespace wattn {
namespace {

// The tiny encoder with a head of tests/goldens/tasks, in two shards.
Result<std::unique_ptr<Model>> load(const std::string& kind, HeadKind head) {
  std::vector<NamedFile> files;
  for (const char* name : {"tokenizer.json", "tokenizer_config.json"}) {
    files.push_back({name, test::read_file(test::golden("bert-tiny/model/") + name)});
  }
  files.push_back({"config.json", test::read_file(test::golden("tasks/" + kind + "/config.json"))});
  files.push_back({"model.safetensors.index.json", R"({"weight_map": {"a": "body.safetensors", "b": "head.safetensors"}})"});
  const auto bytes_of = [&](const std::string& name) {
    return test::read_file(
        test::golden(name == "body.safetensors" ? "bert-tiny/model/model.safetensors" : "tasks/" + kind + "/" + name));
  };
  return test::load_with(files, bytes_of, {.head = head});
}

const std::vector<std::u16string_view> kTexts = {u"the river", u"", u"A small boat waits below the old bridge.",
                                                 u"how do they find their way home in the dark, and who taught them to sing?"};

TEST(Predict, HasTheSameBitsAloneAndInABatch) {
  for (const auto& [kind, head] : {std::pair{"sequence", HeadKind::kSequence}, std::pair{"token", HeadKind::kToken},
                                   std::pair{"masked_lm", HeadKind::kMaskedLm}}) {
    SCOPED_TRACE(kind);
    const auto model = load(kind, head);
    ASSERT_TRUE(model.ok()) << model.error().message;
    std::vector<std::u16string_view> many;  // several micro-batches
    for (int i = 0; i < 20; ++i) many.insert(many.end(), kTexts.begin(), kTexts.end());
    const auto all = predict(*model.value(), many, {}, {});
    ASSERT_TRUE(all.ok());
    std::size_t at = 0;
    for (std::size_t i = 0; i < many.size(); ++i) {
      const auto alone = predict(*model.value(), {&many[i], 1}, {}, {});
      ASSERT_TRUE(alone.ok());
      ASSERT_EQ(alone.value().rows[0], all.value().rows[i]);
      ASSERT_EQ(alone.value().rows[0],
                head == HeadKind::kSequence ? 1 : static_cast<std::int32_t>(all.value().encodings[i].size()));
      for (const float value : alone.value().logits) ASSERT_EQ(value, all.value().logits[at++]) << i;
    }
    EXPECT_EQ(at, all.value().logits.size());
  }
}

TEST(Predict, GivesEachWindowItsOwnLogits) {
  const auto model = load("token", HeadKind::kToken);
  ASSERT_TRUE(model.ok());
  PredictOptions options;
  options.encode.max_length = 10;
  options.encode.overlap = 3;
  options.encode.return_overflowing = true;
  const auto all = predict(*model.value(), kTexts, {}, options);
  ASSERT_TRUE(all.ok());
  const std::vector<Encoding>& encodings = all.value().encodings;
  ASSERT_GT(encodings.size(), kTexts.size());
  std::int64_t rows = 0;
  for (std::size_t i = 0; i < encodings.size(); ++i) {
    EXPECT_EQ(all.value().rows[i], static_cast<std::int32_t>(encodings[i].size()));
    if (i > 0) {
      EXPECT_GE(all.value().text[i], all.value().text[i - 1]);
    }
    rows += all.value().rows[i];
  }
  EXPECT_EQ(all.value().logits.size(), static_cast<std::size_t>(rows * all.value().labels));
}

TEST(Predict, GivesOnlyTheLogitsOfTheRequestedToken) {
  const auto model = load("masked_lm", HeadKind::kMaskedLm);
  ASSERT_TRUE(model.ok());
  const std::vector<std::u16string_view> texts = {u"[MASK] and [MASK]", u"none", u"the [MASK]"};
  const auto found = predict(*model.value(), texts, {}, {.at_token = "[MASK]"});
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found.value().rows, (std::vector<std::int32_t>{2, 0, 1}));
  EXPECT_EQ(found.value().logits.size(), static_cast<std::size_t>(3 * found.value().labels));
  EXPECT_FALSE(predict(*model.value(), texts, {}, {.at_token = "[NOBODY]"}).ok());
}

TEST(Predict, RejectsInvalidRequests) {
  const auto bare = load("sequence", HeadKind::kNone);
  ASSERT_TRUE(bare.ok()) << bare.error().message;  // a checkpoint with a head can be loaded without it
  EXPECT_FALSE(predict(*bare.value(), kTexts, {}, {}).ok());
  const auto model = load("sequence", HeadKind::kSequence);
  ASSERT_TRUE(model.ok());
  EXPECT_GT(model.value()->weight_bytes(), bare.value()->weight_bytes());
  PredictOptions options;
  options.encode.max_length = 65;
  EXPECT_FALSE(predict(*model.value(), kTexts, {}, options).ok());
  EXPECT_TRUE(predict(*model.value(), {}, {}, {}).ok());
  EXPECT_EQ(load("token", HeadKind::kSequence).error().code, ErrorCode::kUnsupported);
}

// tests/goldens/heads/modernbert: a sequence head over the mean of the tokens.
Result<std::unique_ptr<Model>> load_head_over_mean() {
  std::vector<NamedFile> files;
  for (const char* name : {"tokenizer.json", "tokenizer_config.json"}) {
    files.push_back({name, test::read_file(test::golden("bert-tiny/model/") + name)});
  }
  files.push_back({"config.json", test::read_file(test::golden("heads/modernbert/config.json"))});
  return test::load_model(files, test::golden("heads/modernbert"), {.head = HeadKind::kSequence});
}

// A sequence head gives no logits for a text without tokens; those of the others are unaffected.
TEST(Predict, GivesNoRowToATextWithoutTokens) {
  const auto first = load("sequence", HeadKind::kSequence), mean = load_head_over_mean();
  for (const auto* model : {&first, &mean}) {
    ASSERT_TRUE(model->ok());
    const std::vector<std::u16string_view> texts = {u"", u"a", u"", u"b a", u""};
    PredictOptions options;
    options.encode.add_special_tokens = false;
    const auto all = predict(*model->value(), texts, {}, options);
    ASSERT_TRUE(all.ok()) << all.error().message;
    EXPECT_EQ(all.value().rows, (std::vector<std::int32_t>{0, 1, 0, 1, 0}));
    std::vector<float> alone;
    for (const std::size_t i : {1, 3}) {
      const auto one = predict(*model->value(), {&texts[i], 1}, {}, options);
      ASSERT_TRUE(one.ok());
      alone.insert(alone.end(), one.value().logits.begin(), one.value().logits.end());
    }
    EXPECT_EQ(all.value().logits, alone);
  }
}

// A BART whose head reads the decoder, and decoders whose heads read the last token or every token.
TEST(Predict, HeadsOfDecodersHaveTheLogitsOfTransformers) {
  for (const std::string& name : test::case_names("decoder-heads/")) {
    SCOPED_TRACE(name);
    const HeadKind head = name.ends_with("sequence") ? HeadKind::kSequence : HeadKind::kToken;
    const auto model = test::load_model(test::golden("decoder-heads/" + name), {.head = head});
    ASSERT_TRUE(model.ok()) << model.error().message;
    const Json json = test::read_json("decoder-heads/" + name + "/expected.json");
    const JsonRef rows = json.root()["logits"];
    double worst = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) worst = std::max(worst, rows[i]["f32_diff"].as_number().value());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      std::vector<std::u16string> texts;
      for (std::size_t j = 0; j < rows[i]["texts"].size(); ++j) texts.push_back(to_utf16(rows[i]["texts"][j].as_string().value()));
      const std::u16string_view first[] = {texts.front()}, second[] = {texts.back()};
      const auto pairs = texts.size() > 1 ? std::span<const std::u16string_view>(second) : std::span<const std::u16string_view>();
      const auto found = predict(*model.value(), first, pairs, {});
      ASSERT_TRUE(found.ok()) << found.error().message;
      EXPECT_EQ(found.value().encodings[0].ids, test::to_ids(rows[i]["input_ids"]));
      const std::vector<float>& logits = found.value().logits;
      ASSERT_EQ(logits.size(), rows[i]["logits"].size());
      for (std::size_t j = 0; j < logits.size(); ++j) {
        const double exact = rows[i]["logits"][j].as_number().value();
        // As in bert_test.cpp: four times the error of torch's float32.
        ASSERT_NEAR(logits[j], exact, 4 * std::max(worst, std::abs(exact) * 0x1p-23)) << "text " << i << ", logit " << j;
      }
    }
  }
}

// Below its heads, a Longformer's first token or its question is global. Its texts are up to 300 tokens long, its windows 11.
TEST(Predict, HeadsOverGlobalTokensHaveTheLogitsOfTransformers) {
  const Json json = test::read_json("longformer/expected.json");
  for (const auto& [kind, head] : {std::pair{"sequence", HeadKind::kSequence}, std::pair{"answer", HeadKind::kAnswer}}) {
    SCOPED_TRACE(kind);
    const auto model = test::load_model(test::golden("longformer"), {.head = head});
    ASSERT_TRUE(model.ok()) << model.error().message;
    const JsonRef rows = json.root()[kind];
    double worst = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) worst = std::max(worst, rows[i]["f32_diff"].as_number().value());
    const Transformer& encoder = model.value()->transformer();
    ThreadTeam team;
    std::vector<float> alone;
    Batch together;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      std::vector<std::u16string> texts;
      for (std::size_t j = 0; j < rows[i]["texts"].size(); ++j) texts.push_back(to_utf16(rows[i]["texts"][j].as_string().value()));
      const std::u16string_view first[] = {texts.front()}, second[] = {texts.back()};
      const auto pairs = texts.size() > 1 ? std::span<const std::u16string_view>(second) : std::span<const std::u16string_view>();
      const auto found = predict(*model.value(), first, pairs, {});
      ASSERT_TRUE(found.ok()) << found.error().message;
      const std::vector<std::int32_t>& ids = found.value().encodings[0].ids;
      EXPECT_EQ(ids, test::to_ids(rows[i]["input_ids"]));
      together.add_sequence(ids, std::vector<std::int32_t>(ids.size()));
      const std::vector<float>& logits = found.value().logits;
      ASSERT_EQ(logits.size(), rows[i]["logits"].size());
      for (std::size_t j = 0; j < logits.size(); ++j) {
        const double exact = rows[i]["logits"][j].as_number().value();
        // As in bert_test.cpp: four times the error of torch's float32.
        ASSERT_NEAR(logits[j], exact, 4 * std::max(worst, std::abs(exact) * 0x1p-23)) << "text " << i << ", logit " << j;
      }
      Batch one;
      one.add_sequence(ids, std::vector<std::int32_t>(ids.size()));
      const std::vector<float> states = test::run(encoder, team, one);
      alone.insert(alone.end(), states.begin(), states.end());
    }
    EXPECT_EQ(test::run(encoder, team, together), alone);  // packed end to end
  }
}

// A token's probabilities over all tokens of its text, whether it is global or not.
TEST(Forward, ShowsTheAttentionOfGlobalTokens) {
  const Json json = test::read_json("longformer/expected.json");
  for (const std::size_t i : {0, 1}) {
    const auto model = test::load_model(test::golden("longformer"), {.head = i == 0 ? HeadKind::kSequence : HeadKind::kAnswer});
    ASSERT_TRUE(model.ok()) << model.error().message;
    const JsonRef expected = json.root()["attentions"][i];
    Batch batch;
    const auto ids = test::to_ids(expected["input_ids"]);
    batch.add_sequence(std::vector<std::int32_t>{0, 5, 2}, std::vector<std::int32_t>(3));
    batch.add_sequence(ids, std::vector<std::int32_t>(ids.size()));
    struct Probs : Taps {
      std::vector<float> values;
      void on_tensor(const TapPoint& point, const TensorView& tensor) override {
        if (point.name != "attention.probs" || point.sequence != 1) return;
        const std::int64_t count = tensor.shape[0] * tensor.shape[1] * tensor.shape[2];
        values.insert(values.end(), tensor.data, tensor.data + count);
      }
    } probs;
    const Transformer& encoder = model.value()->transformer();
    ThreadTeam alone;
    test::run(encoder, alone, batch, &probs);
    ASSERT_EQ(probs.values.size(), expected["probs"].size());
    for (std::size_t k = 0; k < probs.values.size(); ++k) {
      // As above; a probability is at most 1.
      const double bound = 4 * std::max(expected["f32_diff"].as_number().value(), 0x1p-23);
      ASSERT_NEAR(probs.values[k], expected["probs"][k].as_number().value(), bound) << k;
    }
  }
}

TEST(Predict, BeginsTheDecodersTextWithItsStartToken) {
  const std::string folder = test::golden("decoder-heads/bart-sequence");
  auto files = test::small_files(folder);
  for (NamedFile& file : files) {
    const std::string from = "\"decoder_start_token_id\":2";  // the golden's is its eos
    if (file.name == "config.json") file.bytes.replace(file.bytes.find(from), from.size(), "\"decoder_start_token_id\":9");
  }
  const auto model = test::load_model(files, folder, {.head = HeadKind::kSequence});
  ASSERT_TRUE(model.ok()) << model.error().message;
  const std::u16string_view texts[] = {u"Th"};
  const auto logits = predict(*model.value(), texts, {}, {}).value().logits;
  EXPECT_EQ(logits, test::forward_ids(*model.value(), {9, 0, 48, 10}, {}, {0, 48, 10, 2}).value().logits);
  EXPECT_NE(logits, test::forward_ids(*model.value(), {2, 0, 48, 10}, {}, {0, 48, 10, 2}).value().logits);
}

// Without special tokens there is no eos for the head.
TEST(Predict, GivesNoRowToATextWithoutEos) {
  const auto model = test::load_model(test::golden("decoder-heads/bart-sequence"), {.head = HeadKind::kSequence});
  ASSERT_TRUE(model.ok()) << model.error().message;
  const std::vector<std::u16string_view> texts = {u"", u"The"};
  PredictOptions options;
  options.encode.add_special_tokens = false;
  const auto without = predict(*model.value(), texts, {}, options);
  ASSERT_TRUE(without.ok()) << without.error().message;
  EXPECT_EQ(without.value().rows, (std::vector<std::int32_t>{0, 0}));
  EXPECT_EQ(predict(*model.value(), texts, {}, {}).value().rows, (std::vector<std::int32_t>{1, 1}));
}

// Each text alone, and packed.
TEST(Forward, GivesTheLogitsOfAHeadOverTheMean) {
  const auto model = load_head_over_mean();
  ASSERT_TRUE(model.ok()) << model.error().message;
  const auto json = Json::parse(test::read_file(test::golden("heads/modernbert/expected.json")), "expected.json");
  const JsonRef expected = json.value().root();
  Batch batch;
  for (std::size_t i = 0; i < expected["input_ids"].size(); ++i) {
    std::vector<std::int32_t> ids;
    for (std::size_t j = 0; j < expected["input_ids"][i].size(); ++j) {
      ids.push_back(static_cast<std::int32_t>(expected["input_ids"][i][j].as_int().value()));
    }
    batch.add_sequence(ids, std::vector<std::int32_t>(ids.size()));
  }
  const auto result = forward(*model.value(), batch, {});
  ASSERT_TRUE(result.ok()) << result.error().message;
  ASSERT_EQ(result.value().logits.size(), 6u);
  float largest = 0;
  for (const float logit : result.value().logits) largest = std::max(largest, std::abs(logit));
  // As in bert_test.cpp: four times the error of torch's float32, at least one unit in the last place of the largest.
  const double bound = 4 * std::max(expected["f32_diff"].as_number().value(), largest * 0x1p-23);
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_NEAR(result.value().logits[i], expected["logits"][i / 3][i % 3].as_number().value(), bound) << i;
  }
}

}  // namespace
}  // namespace wattn
