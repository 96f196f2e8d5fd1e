// EuroBERT's heads against transformers' classes. architectures_test.cpp tests its hidden states.
#include <gtest/gtest.h>

#include <cmath>

#include "core/utf.h"
#include "native/support/generation.h"
#include "native/support/goldens.h"
#include "native/support/models.h"
#include "tasks/forward.h"
#include "tasks/predict.h"

namespace wattn {
namespace {

using test::golden;
using test::read_file;

const std::string kFolder = golden("eurobert/");

// From a folder's name: "qwen3-token".
HeadKind to_kind(const std::string& name) {
  if (name.ends_with("sequence")) return HeadKind::kSequence;
  return name.ends_with("token") ? HeadKind::kToken : HeadKind::kMaskedLm;
}

PredictResult predict_case(Model& model, JsonRef one) {
  const std::u16string text = to_utf16(one["text"].as_string().value());
  const std::u16string_view texts[] = {text};
  auto result = predict(model, texts, {}, {});
  EXPECT_TRUE(result.ok()) << result.error().message;
  return result.ok() ? std::move(result).value() : PredictResult();
}

// The factor is bert_test.cpp's. f32_diff is a single sample of rounding, so the worst of a folder's cases counts.
void expect_logits(Model& model, const std::vector<JsonRef>& cases) {
  double diff = 0, largest = 0;
  for (const JsonRef one : cases) {
    diff = std::max(diff, one["f32_diff"].as_number().value());
    for (std::size_t i = 0; i < one["logits"].size(); ++i) {
      largest = std::max(largest, std::abs(one["logits"][i].as_number().value()));
    }
  }
  const double bound = 4 * std::max(diff, largest * 0x1p-23);
  for (const JsonRef one : cases) {
    const PredictResult got = predict_case(model, one);
    ASSERT_EQ(got.encodings.front().ids, test::to_ids(one["input_ids"]));
    ASSERT_EQ(got.logits.size(), one["logits"].size());
    EXPECT_EQ(got.rows.front() * got.labels, static_cast<std::int64_t>(got.logits.size()));
    for (std::size_t i = 0; i < got.logits.size(); ++i) {
      ASSERT_NEAR(got.logits[i], one["logits"][i].as_number().value(), bound) << got.encodings.front().size() << " tokens, " << i;
    }
  }
}

TEST(EuroBert, HeadsMatchTransformersInEveryPooling) {
  for (const std::string name : {"sequence", "token", "masked-lm"}) {
    const Json expected = std::move(Json::parse(read_file(kFolder + name + "/expected.json"), "expected.json")).value();
    for (const std::string pooling : {"late", "bos", "mean"}) {
      SCOPED_TRACE(name + " " + pooling);
      std::vector<NamedFile> files = test::small_files(kFolder + name);
      std::string& config = files.front().bytes;
      config.replace(config.find("\"late\""), 6, "\"" + pooling + "\"");
      const auto model = test::load_model(files, kFolder + name, {.head = to_kind(name)});
      ASSERT_TRUE(model.ok()) << model.error().message;
      std::vector<JsonRef> cases;
      for (std::size_t i = 0; i < expected.root().size(); ++i) {
        const JsonRef one = expected.root()[i];
        if (one["classifier_pooling"].as_string_or(pooling).value() == pooling) cases.push_back(one);
      }
      expect_logits(*model.value(), cases);
    }
  }
}

// legacy/ is config.json as EuroBERT was first published.
TEST(EuroBert, OldAndNewConfigsGiveTheSameBits) {
  auto files = test::small_files(kFolder + "base");
  const auto model = test::load_model(files, kFolder + "base");
  files.front().bytes = read_file(kFolder + "legacy/config.json");
  const auto legacy = test::load_model(files, kFolder + "base");
  ASSERT_TRUE(model.ok() && legacy.ok()) << legacy.error().message;
  const test::Ids ids{0, 48, 10, 7, 65, 17, 14, 1};
  const auto states = test::forward_ids(*model.value(), ids).value().last_hidden_state;
  EXPECT_EQ(states, test::forward_ids(*legacy.value(), ids).value().last_hidden_state);
}

// "late" averages the logits of many rows, of each text by itself.
TEST(EuroBert, ATextHasTheSameLogitsAloneAndInABatch) {
  const auto model = test::load_model(kFolder + "sequence", {.head = HeadKind::kSequence});
  const std::vector<std::u16string_view> texts = {u"The old boat", u"", u"a", u"waits below the bridge, where 42 small birds sing"};
  const PredictResult together = predict(*model.value(), texts, {}, {}).value();
  std::vector<float> alone, forwarded;
  Batch batch;
  for (const std::u16string_view& text : texts) {
    const PredictResult one = predict(*model.value(), {&text, 1}, {}, {}).value();
    alone.insert(alone.end(), one.logits.begin(), one.logits.end());
    model.value()->add_text(one.encodings.front(), batch);
  }
  EXPECT_EQ(together.logits, alone);
  EXPECT_EQ(together.rows, std::vector<std::int32_t>(texts.size(), 1));
  EXPECT_EQ(forward(*model.value(), batch, {}).value().logits, alone);
}

// A head over the vocabulary has the type of the other matrices, but at least 8 bits.
TEST(EuroBert, AHeadOverTheVocabularyIsQuantised) {
  const Json expected = std::move(Json::parse(read_file(kFolder + "masked-lm/expected.json"), "expected.json")).value();
  const auto weight_bytes = [&](WeightType type) {
    const auto model = test::load_model(kFolder + "masked-lm", {.dtype = type, .head = HeadKind::kMaskedLm});
    const PredictResult got = predict_case(*model.value(), expected.root()[0]);
    for (const float logit : got.logits) EXPECT_TRUE(std::isfinite(logit));
    return model.value()->head()->weight_bytes();
  };
  EXPECT_LT(weight_bytes(WeightType::kQ8), weight_bytes(WeightType::kF32));
  EXPECT_EQ(weight_bytes(WeightType::kQ4), weight_bytes(WeightType::kQ8));
}

}  // namespace
}  // namespace wattn
