// The heads of each family against transformers' classes (tests/goldens/heads), from given rows of an encoder's output.
#include "models/heads.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "native/support/heads.h"

namespace wattn {
namespace {

using test::to_floats;

void expect_torchs(JsonRef json, const Kernels& kernels) {
  const test::HeadCase one(json, kernels);
  const std::vector<float> expected = test::to_floats(json["logits"]);
  const std::int64_t labels = one.head.labels();
  if (one.kind == HeadKind::kSequence || one.kind == HeadKind::kToken) {
    ASSERT_EQ(Head::num_labels(json["config"]).value(), labels);
  }
  std::vector<float> rows;
  std::vector<std::int32_t> counts;
  head_rows(kernels, {one.input()}, one.batch(), one.rows.data(), test::HeadCase::kHidden, rows, counts);
  std::vector<float> logits(static_cast<std::size_t>(counts[0] * labels));
  ThreadTeam alone;
  ASSERT_TRUE(one.head.run({kernels, alone}, one.words.table, rows.data(), counts[0], logits.data()).ok());
  if (one.averages()) average_logits(kernels, 0, labels, counts, logits);
  ASSERT_EQ(logits.size(), expected.size());
  float largest = 0;
  for (const float value : expected) largest = std::max(largest, std::abs(value));
  // As in bert_test.cpp: four times the error of torch's float32, at least one unit in the last place of the largest.
  const double bound = 4 * std::max(json["f32_diff"].as_number().value(), largest * 0x1p-23);
  for (std::size_t i = 0; i < logits.size(); ++i) ASSERT_NEAR(logits[i], expected[i], bound) << i;
}

TEST(Heads, MatchTorchInEveryFamily) {
  const auto json = Json::parse(test::read_file(test::golden("heads/heads.json")), "heads.json");
  const JsonRef cases = json.value().root();
  ASSERT_EQ(cases.size(), 62u);
  for (const Kernels* kernels : kernel_variants()) {
    for (std::size_t i = 0; i < cases.size(); ++i) {
      SCOPED_TRACE(std::string(kernels->name) + " " + cases[i]["config"]["architectures"].to_text());
      expect_torchs(cases[i], *kernels);
    }
  }
}

// What a loader does: writes the tensors that there are, and compares those of the output with the word embeddings.
void load_untied(JsonRef json, bool differs, std::vector<WeightTarget>& targets) {
  for (WeightTarget& target : targets) {
    const JsonRef tensor = json["tensors"][target.name];
    if (!tensor.exists()) continue;
    target.filled = true;
    target.differs = differs && target.may_differ;
    const std::vector<float> values = to_floats(tensor["values"]);
    const auto width = static_cast<std::size_t>(target.shape.back());
    for (std::size_t row = 0; row * width < values.size(); ++row) {
      target.write_row(static_cast<std::int64_t>(row), values.data() + row * width);
    }
  }
}

Head untied_head(JsonRef json, bool says_so, const Kernels& kernels) {
  const JsonRef config = json["config"];
  HeadLayers layers = Head::find_layers(HeadKind::kMaskedLm, find_arch(config).value()->heads, config).value();
  EXPECT_TRUE(layers.untied);
  layers.untied = says_so;
  const std::int64_t width = json["words"]["shape"][1].as_int().value();
  return std::move(Head::with_layers(layers,
                                     {.hidden = test::HeadCase::kHidden,
                                      .width = width,
                                      .labels = json["labels"].as_int().value(),
                                      .norm_eps = static_cast<float>(json["norm_eps"].as_number().value())},
                                     kernels))
      .value();
}

// The logits of a head over the vocabulary with the case's weights.
void expect_logits(JsonRef json, const Head& head, const Kernels& kernels) {
  const std::vector<float> rows = to_floats(json["rows"]), expected = to_floats(json["logits"]);
  test::Words words = test::make_words(json["words"], WeightType::kF32);
  std::vector<float> logits(expected.size());
  ThreadTeam alone;
  const auto count = static_cast<std::int64_t>(rows.size()) / test::HeadCase::kHidden;
  ASSERT_TRUE(head.run({kernels, alone}, words.table, rows.data(), count, logits.data()).ok());
  float largest = 0;
  for (const float value : expected) largest = std::max(largest, std::abs(value));
  const double bound = 4 * std::max(json["f32_diff"].as_number().value(), largest * 0x1p-23);
  for (std::size_t i = 0; i < logits.size(); ++i) ASSERT_NEAR(logits[i], expected[i], bound) << i;
}

TEST(Heads, OverTheVocabularyKeepWeightsThatDifferFromTheWordEmbeddings) {
  const Json json = test::read_json("heads/untied.json");
  for (std::size_t i = 0; i < json.root().size(); ++i) {
    const JsonRef one = json.root()[i];
    for (const Kernels* kernels : kernel_variants()) {
      for (const bool says_so : {true, false}) {
        for (const bool backwards : {false, true}) {
          SCOPED_TRACE(one["config"]["architectures"].to_text() + (says_so ? ", config.json says so" : ", found out") +
                       (backwards ? ", backwards" : ""));
          Head head = untied_head(one, says_so, *kernels);
          std::vector<WeightTarget> targets = head.weight_targets("words");
          if (backwards) std::reverse(targets.begin(), targets.end());
          load_untied(one, !says_so, targets);
          ASSERT_TRUE(head.choose_output(targets).ok());
          expect_logits(one, head, *kernels);
          const auto after = head.weight_targets("words");
          const auto own =
              std::find_if(after.begin(), after.end(), [](const WeightTarget& target) { return target.shape.size() == 2; });
          EXPECT_EQ(own == after.end(), false);
          EXPECT_FALSE(head.layers().tied);
        }
      }
    }
  }
}

TEST(Heads, OverTheVocabularyAreTiedToWhatIsEqual) {
  const Json json = test::read_json("heads/untied.json");
  const JsonRef bert = json.root()[std::size_t{0}];
  Head head = untied_head(bert, false, exact_kernels());
  const std::uint64_t before = head.weight_bytes();
  std::vector<WeightTarget> targets = head.weight_targets("words");
  load_untied(bert, false, targets);
  ASSERT_TRUE(head.choose_output(targets).ok());
  EXPECT_TRUE(head.layers().tied);
  EXPECT_EQ(head.weight_bytes(), before);
  // A config.json that says it is not tied, and a checkpoint without an output.
  Head without = untied_head(bert, true, exact_kernels());
  const auto chosen = without.choose_output(without.weight_targets("words"));
  ASSERT_FALSE(chosen.ok());
  EXPECT_NE(chosen.error().message.find("tie_word_embeddings"), std::string::npos);
}

std::string error_of(HeadKind kind, std::string_view config) {
  const auto json = Json::parse(config, "config.json");
  const auto arch = find_arch(json.value().root());
  const auto layers = Head::find_layers(kind, arch.ok() ? arch.value()->heads : Heads{}, json.value().root());
  return layers.ok() ? "" : layers.error().message;
}

TEST(Heads, AreRejectedByName) {
  EXPECT_EQ(error_of(HeadKind::kSequence, R"({"model_type": "bert"})"), "");  // any class
  EXPECT_EQ(
      error_of(HeadKind::kSequence, R"({"model_type": "bert", "architectures": ["BertModel", "BertForSequenceClassification"]})"),
      "");
  EXPECT_EQ(error_of(HeadKind::kMaskedLm, R"({"model_type": "bert", "architectures": ["BertForPreTraining"]})"), "");
  const std::pair<std::string, std::string> wrong[] = {
      {R"({"model_type": "bert", "architectures": ["BertModel"]})", "ForSequenceClassification"},
      {R"({"model_type": "bert", "architectures": [3]})", "architectures"},
      {R"({"model_type": "nobody"})", "the head ForSequenceClassification"},
      {R"({"model_type": 3})", "model_type"},
  };
  for (const auto& [config, part] : wrong) {
    const std::string message = error_of(HeadKind::kSequence, config);
    EXPECT_NE(message.find(part), std::string::npos) << config << ": " << message;
  }
  EXPECT_NE(error_of(HeadKind::kAnswer, R"({"model_type": "nomic_bert"})").find("ForQuestionAnswering"), std::string::npos);
  EXPECT_NE(
      error_of(HeadKind::kSequence, R"({"model_type": "modernbert", "classifier_pooling": "max"})").find("classifier_pooling"),
      std::string::npos);
  EXPECT_NE(error_of(HeadKind::kMaskedLm, R"({"model_type": "modernbert", "decoder_bias": false})").find("decoder_bias"),
            std::string::npos);
  EXPECT_NE(error_of(HeadKind::kMaskedLm, R"({"model_type": "bert", "hidden_act": "xielu"})").find("hidden_act"),
            std::string::npos);
}

TEST(Heads, CountTheirLabels) {
  const auto count = [](std::string_view config) {
    const auto json = Json::parse(config, "config.json");
    const auto labels = Head::num_labels(json.value().root());
    return labels.ok() ? labels.value() : -1;
  };
  EXPECT_EQ(count("{}"), 2);
  EXPECT_EQ(count(R"({"num_labels": 5})"), 5);
  EXPECT_EQ(count(R"({"num_labels": 5, "id2label": {"0": "a", "1": "b", "2": "c"}})"), 3);
  for (const char* wrong :
       {R"({"num_labels": 0})", R"({"num_labels": 99999999999})", R"({"id2label": {}})", R"({"id2label": [1]})"}) {
    EXPECT_EQ(count(wrong), -1) << wrong;
  }
}

}  // namespace
}  // namespace wattn
