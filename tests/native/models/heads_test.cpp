// The heads of each family against transformers' classes (tests/goldens/heads), from given rows of an encoder's output.
#include "models/heads.h"

#include <gtest/gtest.h>

#include <cmath>

#include "models/arch.h"
#include "native/support/files.h"
#include "ops/pooling.h"

namespace wattn {
namespace {

std::vector<float> to_floats(JsonRef array) {
  std::vector<float> out;
  for (std::size_t i = 0; i < array.size(); ++i) out.push_back(static_cast<float>(array[i].as_number().value()));
  return out;
}

HeadKind to_kind(std::string_view name) {
  if (name == "sequence") return HeadKind::kSequence;
  if (name == "token") return HeadKind::kToken;
  return name == "answer" ? HeadKind::kAnswer : HeadKind::kMaskedLm;
}

struct Words {
  Arena memory;
  Embedding table;
};

Words make_words(JsonRef json, WeightType type) {
  Words words;
  if (json.is_null()) return words;
  const std::int64_t rows = json["shape"][std::size_t{0}].as_int().value();
  const std::int64_t hidden = json["shape"][1].as_int().value();
  words.memory = std::move(Arena::with_zeros(1 << 16, "words")).value();
  words.table = take_embedding(words.memory, type, rows, hidden);
  const std::vector<float> values = to_floats(json["values"]);
  for (std::int64_t i = 0; i < rows; ++i) set_row(words.table, i, values.data() + i * hidden);
  return words;
}

// Fills the head's slots, which must use every tensor of the golden.
void fill(const Head& head, JsonRef tensors) {
  std::size_t filled = 0;
  for (const WeightSlot& slot : head.weight_slots("words")) {
    if (!slot.write_row) continue;  // would repeat a tensor
    const JsonRef tensor = tensors[slot.name];
    ASSERT_TRUE(tensor.exists()) << slot.name;
    ASSERT_EQ(tensor["shape"].size(), slot.shape.size()) << slot.name;
    for (std::size_t i = 0; i < slot.shape.size(); ++i) ASSERT_EQ(tensor["shape"][i].as_int().value(), slot.shape[i]) << slot.name;
    const std::vector<float> values = to_floats(tensor["values"]);
    const std::int64_t width = slot.shape.back();
    for (std::size_t row = 0; row * static_cast<std::size_t>(width) < values.size(); ++row) {
      slot.write_row(static_cast<std::int64_t>(row), values.data() + row * static_cast<std::size_t>(width));
    }
    ++filled;
  }
  EXPECT_EQ(filled, tensors.size());
}

void expect_torchs(JsonRef one, const Kernels& kernels) {
  const HeadKind kind = to_kind(one["kind"].as_string().value());
  const auto layers = Head::find_layers(kind, find_arch(one["config"]).value()->heads, one["config"]);
  ASSERT_TRUE(layers.ok()) << layers.error().message;
  std::vector<float> rows = to_floats(one["rows"]);
  const std::vector<float> expected = to_floats(one["logits"]);
  const std::int64_t labels = one["labels"].as_int().value();
  if (kind == HeadKind::kSequence || kind == HeadKind::kToken) {
    ASSERT_EQ(Head::num_labels(one["config"]).value(), labels);
  }
  const Words words = make_words(one["words"], WeightType::kF32);
  const std::int64_t hidden = 8;
  auto head = Head::with_layers(layers.value(),
                                {.hidden = hidden,
                                 .width = words.table.hidden > 0 ? words.table.hidden : hidden,
                                 .labels = labels,
                                 .norm_eps = static_cast<float>(one["norm_eps"].as_number().value())},
                                kernels);
  ASSERT_TRUE(head.ok());
  ASSERT_NO_FATAL_FAILURE(fill(head.value(), one["tensors"]));
  const auto all = static_cast<std::int64_t>(rows.size()) / hidden;
  const HeadInput input = kind == HeadKind::kSequence ? head.value().input() : HeadInput::kEach;
  constexpr PoolingMode kMean[] = {PoolingMode::kMean};
  if (input == HeadInput::kLast) rows.erase(rows.begin(), rows.end() - hidden);
  if (input == HeadInput::kMean) pool(kernels, kMean, std::vector(rows).data(), all, hidden, 0, rows.data());
  const std::int64_t count = input == HeadInput::kEach ? all : 1;
  std::vector<float> logits(static_cast<std::size_t>(count * labels));
  ThreadTeam alone;
  ASSERT_TRUE(head.value().run({kernels, alone}, words.table, rows.data(), count, logits.data()).ok());
  if (count * labels > static_cast<std::int64_t>(expected.size())) {
    pool(kernels, kMean, std::vector(logits).data(), count, labels, 0, logits.data());
    logits.resize(expected.size());
  }
  float largest = 0;
  for (const float value : expected) largest = std::max(largest, std::abs(value));
  // As in bert_test.cpp: four times the error of torch's float32, at least one unit in the last place of the largest.
  const double bound = 4 * std::max(one["f32_diff"].as_number().value(), largest * 0x1p-23);
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
  EXPECT_NE(error_of(HeadKind::kMaskedLm, R"({"model_type": "bert", "hidden_act": "mish"})").find("hidden_act"), std::string::npos);
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
