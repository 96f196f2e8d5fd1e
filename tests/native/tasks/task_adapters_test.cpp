// The LoRAs of a checkpoint's own tasks, as jina-embeddings-v3 has them, against torch (tests/goldens/hub_layouts/jina-v3-tasks).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/utf.h"
#include "native/support/goldens.h"
#include "native/support/models.h"
#include "tasks/embed.h"

namespace wattn {
namespace {

using test::golden;
using test::load_model;
using test::read_file;
using test::small_files;

const std::string kFolder = "hub_layouts/jina-v3-tasks";

// The files with a text in config.json replaced by another one.
std::vector<NamedFile> files_with(const std::string& from, const std::string& to) {
  std::vector<NamedFile> files = small_files(golden(kFolder));
  for (NamedFile& file : files) {
    if (file.name != "config.json") continue;
    const std::size_t at = file.bytes.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    file.bytes.replace(at, from.size(), to);
  }
  return files;
}

std::string error_of(const std::vector<NamedFile>& files, const std::string& weights) {
  const auto model = test::load_with(files, [&](const std::string&) { return weights; });
  return model.ok() ? "" : model.error().message;
}

std::vector<float> vectors_of(Model& model, JsonRef texts, const std::string& prompt) {
  std::vector<std::u16string> owned;
  for (std::size_t i = 0; i < texts.size(); ++i) owned.push_back(to_utf16(texts[i].as_string().value()));
  EmbedOptions options;
  options.prompt = prompt;
  const auto result = embed(model, std::vector<std::u16string_view>(owned.begin(), owned.end()), options);
  EXPECT_TRUE(result.ok());
  return result.value().data;
}

void expect_rows(Model& model, JsonRef expected, double factor) {
  const JsonRef rows = expected["rows"];
  std::vector<std::string> tasks{""};
  const Json config = test::read_json(kFolder + "/config.json");
  for (std::size_t i = 0; i < config.root()["lora_adaptations"].size(); ++i) {
    tasks.emplace_back(config.root()["lora_adaptations"][i].as_string().value());
  }
  ASSERT_EQ(model.num_adapters(), 5);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::string task(rows[i]["task"].as_string_or("").value()), prompt(rows[i]["instruction"].as_string().value());
    SCOPED_TRACE(task + ": " + prompt);
    const auto number = static_cast<int>(std::find(tasks.begin(), tasks.end(), task) - tasks.begin());
    ASSERT_TRUE(model.use_adapter(number).ok());
    const std::vector<float> got = vectors_of(model, expected["texts"], prompt);
    const std::size_t width = rows[i]["vectors"][std::size_t{0}].size();
    ASSERT_EQ(got.size(), width * expected["texts"].size());
    const double bound = factor * std::max(rows[i]["f32_diff"].as_number().value(), 0x1p-23);
    for (std::size_t k = 0; k < got.size(); ++k) {
      ASSERT_NEAR(got[k], rows[i]["vectors"][k / width][k % width].as_number().value(), bound) << k;
    }
  }
  ASSERT_TRUE(model.use_adapter(0).ok());
}

// As in bert_test.cpp, twice: the products of a task are added to those of the weights, and torch's are in the weights.
constexpr double kFactor = 8;

TEST(TaskAdapters, GiveTorchsVectorsForEachTask) {
  const Json expected = test::read_json(kFolder + "/expected.json");
  const auto model = load_model(golden(kFolder));
  ASSERT_TRUE(model.ok()) << model.error().message;
  expect_rows(*model.value(), expected.root(), kFactor);
}

TEST(TaskAdapters, StayNearWithQuantisedWeights) {
  const Json expected = test::read_json(kFolder + "/expected.json");
  for (const auto& [type, bound] :
       {std::pair(WeightType::kF16, 4e-3), std::pair(WeightType::kQ16, 4e-3), std::pair(WeightType::kQ8, 0.25)}) {
    const auto model = load_model(golden(kFolder), {.dtype = type});
    ASSERT_TRUE(model.ok());
    expect_rows(*model.value(), expected.root(), bound / 0x1p-23);
  }
}

TEST(TaskAdapters, HaveTheSameBitsAloneAndInABatch) {
  const auto model = std::move(load_model(golden(kFolder))).value();
  ASSERT_TRUE(model->use_adapter(2).ok());
  const Json texts = std::move(Json::parse(R"(["The birds sing.", "", "Who? An old boat."])", "texts")).value();
  const std::vector<float> all = vectors_of(*model, texts.root(), "ask: ");
  const std::size_t width = all.size() / 3;
  for (std::size_t i = 0; i < 3; ++i) {
    const Json one = std::move(Json::parse("[" + texts.root()[i].to_text() + "]", "text")).value();
    const std::vector<float> alone = vectors_of(*model, one.root(), "ask: ");
    EXPECT_TRUE(std::equal(alone.begin(), alone.end(), all.begin() + static_cast<std::ptrdiff_t>(i * width))) << i;
  }
}

TEST(TaskAdapters, AreMergedWithWhatTheyDoToTables) {
  const auto model = std::move(load_model(golden(kFolder))).value();
  const Json texts = std::move(Json::parse(R"(["The birds sing."])", "texts")).value();
  const std::vector<float> plain = vectors_of(*model, texts.root(), "");
  ASSERT_TRUE(model->use_adapter(3).ok());
  const std::vector<float> chosen = vectors_of(*model, texts.root(), "");
  ASSERT_TRUE(model->use_adapter(0).ok());
  ASSERT_TRUE(model->merge_adapter(3).ok());
  const std::vector<float> merged = vectors_of(*model, texts.root(), "");
  float apart = 0, moved = 0;
  for (std::size_t i = 0; i < plain.size(); ++i) {
    apart = std::max(apart, std::abs(merged[i] - chosen[i]));
    moved = std::max(moved, std::abs(merged[i] - plain[i]));
  }
  EXPECT_LT(apart, 1e-5f);
  EXPECT_GT(moved, 1e-2f);
}

TEST(TaskAdapters, AreRefusedByName) {
  const std::string weights = read_file(golden(kFolder + "/model.safetensors"));
  const auto expect_error = [&](const std::string& from, const std::string& to, const std::string& part) {
    const std::string message = error_of(files_with(from, to), weights);
    EXPECT_NE(message.find(part), std::string::npos) << to << ": " << message;
  };
  const std::string names = R"(["retrieval.query","retrieval.passage","separation","classification","text-matching"])";
  expect_error(names, "[]", "lora_adaptations: expected the names of 1 to 256 tasks");
  expect_error(names, "3", "lora_adaptations");
  expect_error(names, R"(["a","a"])", "expected a unique name");
  expect_error(names, R"(["a"])", "lora_A': expected shape [1, 1, 4]");
  expect_error("\"lora_rank\":4", "\"lora_rank\":5", "lora_A': expected shape");
  expect_error("\"lora_rank\":4", "\"lora_rank\":0", "lora_rank");
  expect_error("\"lora_alpha\":2", "\"lora_alpha\":\"x\"", "lora_alpha");
  // Without the names there are no tasks, as in the checkpoint's own code without them.
  const auto without =
      test::load_with(files_with("\"lora_adaptations\"", "\"others\""), [&](const std::string&) { return weights; });
  ASSERT_TRUE(without.ok()) << without.error().message;
  EXPECT_EQ(without.value()->num_adapters(), 0);
  // One tensor is missing: its name is another one that is ignored.
  std::string renamed = weights;
  const std::string name = "roberta.encoder.layers.1.mlp.fc2.parametrizations.weight.0.lora_B";
  const std::size_t at = renamed.find(name);
  ASSERT_NE(at, std::string::npos);
  renamed[at + name.size() - 1] = 'C';
  const std::string message = error_of(small_files(golden(kFolder)), renamed);
  EXPECT_NE(message.find("expected tensor 'encoder.layers.1.mlp.fc2.parametrizations.weight.0.lora_B' [5, 24, 4]"),
            std::string::npos)
      << message;
}

}  // namespace
}  // namespace wattn
