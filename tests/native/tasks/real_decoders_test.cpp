// A trained Llama in hub layout and in GGUF, outside the repository, against transformers, token for token.
#include <gtest/gtest.h>

#include "core/json.h"
#include "native/support/generation.h"
#include "tasks/generate.h"

namespace wattn {
namespace {

const std::string kWeights = std::string(WATTN_TEST_DATA) + "/../../shared/data/weights/";

Json read_json(const std::string& path) { return std::move(Json::parse(test::read_file(path), path)).value(); }

std::vector<std::int32_t> to_ids(JsonRef array) {
  std::vector<std::int32_t> out;
  for (std::size_t i = 0; i < array.size(); ++i) out.push_back(static_cast<std::int32_t>(array[i].as_int().value()));
  return out;
}

std::vector<Generated> generate(Model& model, const std::vector<std::int32_t>& ids, const GenerateRequest& request) {
  auto generation = Generation::begin(model, {ids}, request);
  EXPECT_TRUE(generation.ok()) << generation.error().message;
  if (!generation.ok()) return {};
  for (auto more = generation.value()->step(); more.ok() && more.value();) more = generation.value()->step();
  return generation.value()->results()[0];
}

void expect_transformers_tokens(Model& model) {
  const Json rows = read_json(test::golden("decoders/stories260K.json"));
  for (std::size_t i = 0; i < rows.root().size(); ++i) {
    const JsonRef row = rows.root()[i], asked = row["options"];
    SCOPED_TRACE(row["prompt"].to_text() + asked.to_text());
    GenerateRequest request;
    request.max_new_tokens = 48;
    GenerateOptions& options = request.options;
    options.eos_token_ids = {2};
    options.num_beams = asked["num_beams"].as_int_or(1).value();
    options.num_return_sequences = asked["num_return_sequences"].as_int_or(1).value();
    options.no_repeat_ngram_size = asked["no_repeat_ngram_size"].as_int_or(0).value();
    options.repetition_penalty = asked["repetition_penalty"].as_number_or(1).value();
    options.length_penalty = asked["length_penalty"].as_number_or(1).value();
    if (asked["early_stopping"].as_bool_or(false).value()) options.early_stopping = GenerateOptions::EarlyStopping::kYes;
    const auto made = generate(model, to_ids(row["input_ids"]), request);
    ASSERT_EQ(made.size(), row["tokens"].size());
    for (std::size_t j = 0; j < made.size(); ++j) EXPECT_EQ(made[j].tokens, to_ids(row["tokens"][j]));
  }
}

TEST(RealDecoders, SafetensorsGiveTheTokensOfTransformers) {
  const std::string folder = kWeights + "stories260K-llama";
  if (!test::has_file(folder + "/config.json")) GTEST_SKIP() << "no trained Llama at " << folder;
  const auto model = test::load_model(folder, {.head = HeadKind::kCausalLm});
  ASSERT_TRUE(model.ok()) << model.error().message;
  expect_transformers_tokens(*model.value());
  // The output of its author's own program.
  const Json expected = read_json(folder + "/greedy.expected.json");
  GenerateRequest request;
  request.max_new_tokens = static_cast<std::int64_t>(expected.root()["ids"].size());
  const auto made = generate(*model.value(), to_ids(expected.root()["prompt_ids"]), request);
  EXPECT_EQ(made[0].tokens, to_ids(expected.root()["ids"]));
}

TEST(RealDecoders, GgufGivesTheTokensOfTransformers) {
  if (!test::has_file(kWeights + "vespa-tinyllm.gguf")) GTEST_SKIP() << "no trained Llama in GGUF at " << kWeights;
  const auto model = test::load_gguf(kWeights, "vespa-tinyllm.gguf");
  ASSERT_TRUE(model.ok()) << model.error().message;
  expect_transformers_tokens(*model.value());
}

}  // namespace
}  // namespace wattn
