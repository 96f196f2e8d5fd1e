// The heads of each family against transformers' classes (tests/goldens/heads), from given rows of an encoder's output.
#include "models/heads.h"

#include <gtest/gtest.h>

#include <cmath>

#include "native/support/heads.h"

namespace wattn {
namespace {

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
  ASSERT_EQ(cases.size(), 51u);
  for (const Kernels* kernels : kernel_variants()) {
    for (std::size_t i = 0; i < cases.size(); ++i) {
      SCOPED_TRACE(std::string(kernels->name) + " " + cases[i]["config"]["architectures"].to_text());
      expect_torchs(cases[i], *kernels);
    }
  }
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
  EXPECT_NE(error_of(HeadKind::kMaskedLm, R"({"model_type": "bert", "tie_word_embeddings": false})").find("tie_word_embeddings"),
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
