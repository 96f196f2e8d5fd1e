// GLiClass against the package gliclass (tests/goldens/labels). The texts that are read are put together in web/tasks.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/utf.h"
#include "native/support/goldens.h"
#include "native/support/models.h"
#include "tasks/predict.h"

namespace wattn {
namespace {

using test::golden;
using test::read_json;

const std::string kFolder = "labels/";

Result<std::unique_ptr<Model>> load(const std::string& name, WeightType dtype = WeightType::kF32) {
  return test::load_model(golden(kFolder + name), {.dtype = dtype, .head = HeadKind::kSequence});
}

std::string text_at(JsonRef list, std::size_t i) { return std::string(list[i].as_string().value()); }

// What the package reads: labels, separator, prompt, text and examples, or the text first.
std::u16string input_of(const std::string& text, JsonRef labels, JsonRef call, bool prompt_first) {
  std::string prompt, examples;
  for (std::size_t i = 0; i < labels.size(); ++i) prompt += "<<LABEL>>" + text_at(labels, i);
  prompt += "<<SEP>>" + std::string(call["prompt"].as_string_or("").value());
  for (std::size_t i = 0; i < call["examples"].size(); ++i) {
    const JsonRef example = call["examples"][i];
    examples += "<<EXAMPLE>>" + std::string(example["text"].as_string().value()) + " \nLabels:\n ";
    for (std::size_t j = 0; j < example["labels"].size(); ++j) examples += (j ? ", " : "") + text_at(example["labels"], j);
  }
  if (!examples.empty()) examples += "<<SEP>>";
  return to_utf16(prompt_first ? prompt + text + examples : text + prompt + examples);
}

struct Golden {
  explicit Golden(const std::string& name)
      : all(read_json(kFolder + "cases.json")),
        expected(read_json(kFolder + name + "/expected.json")),
        config(read_json(kFolder + name + "/config.json")),
        calls(expected.root()["calls"]),
        bound(4 * std::max(expected.root()["f32_diff"].as_number().value(), 0x1p-23)) {}
  std::size_t at(std::size_t call, std::size_t i) const { return static_cast<std::size_t>(calls[call][i].as_int().value()); }
  JsonRef labels(std::size_t call) const { return all.root()["labels"][at(call, 1)]; }
  std::u16string input(std::size_t call) const {
    return input_of(text_at(all.root()["texts"], at(call, 0)), labels(call), all.root()["options"][at(call, 2)],
                    config.root()["prompt_first"].as_bool().value());
  }
  Json all, expected, config;
  JsonRef calls;
  double bound;
};

std::vector<float> logits_of(Model& model, const std::vector<std::u16string>& inputs, std::int64_t labels) {
  const std::vector<std::u16string_view> texts(inputs.begin(), inputs.end());
  auto result = predict(model, texts, {}, {.num_labels = labels});
  EXPECT_TRUE(result.ok()) << result.error().message;
  if (!result.ok()) return {};
  EXPECT_EQ(result.value().labels, labels);
  return std::move(result.value().logits);
}

std::vector<std::string> names() {
  std::vector<std::string> out;
  const Json all = read_json(kFolder + "cases.json");
  for (std::size_t i = 0; i < all.root()["cases"].size(); ++i) out.push_back(text_at(all.root()["cases"], i));
  return out;
}

TEST(Labels, HaveTheLogitsOfThePackage) {
  for (const std::string& name : names()) {
    const Golden golden(name);
    const auto model = load(name);
    ASSERT_TRUE(model.ok()) << name << ": " << model.error().message;
    EXPECT_EQ(model.value()->head_kind(), HeadKind::kLabels);
    for (std::size_t i = 0; i < golden.calls.size(); ++i) {
      const auto count = static_cast<std::int64_t>(golden.labels(i).size());
      const std::vector<float> got = logits_of(*model.value(), {golden.input(i)}, count);
      ASSERT_EQ(got.size(), golden.calls[i][3].size());
      for (std::size_t j = 0; j < got.size(); ++j) {
        const double expected = golden.calls[i][3][j].as_number().value();
        EXPECT_LE(std::abs(got[j] - expected), golden.bound) << name << ", call " << i << ", label " << j;
      }
    }
  }
}

// Each call's texts with the first labels, at once and one by one.
TEST(Labels, HaveTheSameBitsInABatch) {
  for (const std::string& name : names()) {
    const Golden golden(name);
    const auto model = load(name);
    ASSERT_TRUE(model.ok()) << name << ": " << model.error().message;
    std::vector<std::u16string> inputs;
    std::vector<float> alone;
    for (std::size_t i = 0; i < golden.calls.size(); ++i) {
      if (golden.at(i, 1) != 0) continue;
      inputs.push_back(golden.input(i));
      const std::vector<float> one = logits_of(*model.value(), {inputs.back()}, 2);
      alone.insert(alone.end(), one.begin(), one.end());
    }
    EXPECT_EQ(logits_of(*model.value(), inputs, 2), alone) << name;
  }
}

// A text is cut at its end. One that lacks a label has no logits.
TEST(Labels, AreNeverCut) {
  const auto model = load("deberta");
  ASSERT_TRUE(model.ok()) << model.error().message;
  EXPECT_EQ(model.value()->max_length(), 1024);
  const std::u16string labels = u"<<LABEL>>a<<LABEL>>b<<SEP>>";
  const auto read = [&](const std::u16string& text, std::int32_t max_length) {
    const std::vector<std::u16string_view> texts = {text};
    return predict(*model.value(), texts, {}, {.encode = {.max_length = max_length}, .num_labels = 2});
  };
  const auto cut = read(labels + u"words of a text", 12), whole = read(labels + u"words", 64);
  ASSERT_TRUE(cut.ok()) << cut.error().message;
  EXPECT_EQ(cut.value().encodings[0].size(), 12);
  EXPECT_TRUE(cut.value().encodings[0].truncated());
  ASSERT_TRUE(whole.ok()) << whole.error().message;
  EXPECT_FALSE(whole.value().encodings[0].truncated());
  const auto few = read(labels + u"words", 4);  // [CLS] <<LABEL>> _a [SEP]
  ASSERT_TRUE(few.ok()) << few.error().message;
  EXPECT_EQ(few.value().rows, std::vector<std::int32_t>{0});
  EXPECT_TRUE(few.value().logits.empty());
}

TEST(Labels, NeedACallThatNamesThem) {
  const auto model = load("bert"), other = test::load_model(golden("bert-tiny/model"));
  ASSERT_TRUE(model.ok()) << model.error().message;
  ASSERT_TRUE(other.ok()) << other.error().message;
  const std::vector<std::u16string_view> texts = {u"a"};
  const auto none = predict(*model.value(), texts, {}, {});
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(none.error().message.find("use zero-shot-classification"), std::string::npos) << none.error().message;
  const auto foreign = predict(*other.value(), texts, {}, {.num_labels = 2});
  ASSERT_FALSE(foreign.ok());
  EXPECT_EQ(foreign.error().code, ErrorCode::kInput);
  EXPECT_NE(foreign.error().message.find("num_labels"), std::string::npos) << foreign.error().message;
}

// The head stays in f32: q8 is as far as of an encoder of this size.
TEST(Labels, RunInEightBits) {
  const Golden golden("modernbert");
  const auto f32 = load("modernbert"), q8 = load("modernbert", WeightType::kQ8);
  ASSERT_TRUE(f32.ok() && q8.ok());
  const std::vector<std::u16string> inputs = {golden.input(0)};
  const std::vector<float> exact = logits_of(*f32.value(), inputs, 2), near = logits_of(*q8.value(), inputs, 2);
  for (std::size_t i = 0; i < exact.size(); ++i) EXPECT_NEAR(near[i], exact[i], 0.05) << i;
}

Result<LabelConfig> read_config(const std::string& json) {
  const auto parsed = Json::parse(json, "config.json");
  return read_label_config(parsed.value().root());
}

TEST(Labels, RefuseOtherVariantsByName) {
  const std::pair<const char*, const char*> rows[] = {{R"({"architecture_type":"bi-encoder"})", "architecture_type"},
                                                      {R"({"squeeze_layers":true})", "squeeze_layers"},
                                                      {R"({"use_segment_embeddings":true})", "use_segment_embeddings"},
                                                      {R"({"encoder_layer_id":3})", "encoder_layer_id"},
                                                      {R"({"scorer_type":"hopfield"})", "scorer_type"},
                                                      {R"({"pooling_strategy":"pass"})", "pooling_strategy"}};
  for (const auto& [json, key] : rows) {
    const auto config = read_config(json);
    ASSERT_FALSE(config.ok()) << json;
    EXPECT_EQ(config.error().code, ErrorCode::kUnsupported) << json;
    EXPECT_NE(config.error().message.find(key), std::string::npos) << config.error().message;
  }
  EXPECT_EQ(read_config(R"({"hidden_size":0})").error().code, ErrorCode::kModelFormat);
  EXPECT_TRUE(read_config("{}").ok());
}

}  // namespace
}  // namespace wattn
