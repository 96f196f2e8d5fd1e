// Ablated heads, patched activations and requested outputs against torch.
#include "tasks/forward.h"

#include <gtest/gtest.h>

#include <cmath>

#include "native/support/generation.h"
#include "native/support/goldens.h"
#include "native/support/models.h"

namespace wattn {
namespace {

using test::golden;
using test::load_model;
using test::read_file;

std::unique_ptr<Model> load(const std::string& name) {
  const std::string folder = golden("architectures/") + name;
  const std::vector<NamedFile> files = {{"config.json", read_file(folder + "/config.json")},
                                        {"tokenizer.json", read_file(golden("bert-tiny/model/tokenizer.json"))},
                                        {"tokenizer_config.json", R"({"tokenizer_class": "PreTrainedTokenizerFast"})"}};
  return std::move(load_model(files, folder)).value();
}

void append_numbers(JsonRef value, std::vector<float>& out) {
  if (value.is_number()) out.push_back(static_cast<float>(value.as_number().value()));
  for (std::size_t i = 0; i < value.size(); ++i) append_numbers(value[i], out);
}
std::vector<float> numbers(JsonRef value) {
  std::vector<float> out;
  append_numbers(value, out);
  return out;
}

Batch first_input(JsonRef ids) {
  std::vector<std::int32_t> row;
  for (std::size_t i = 0; i < ids.size(); ++i) row.push_back(static_cast<std::int32_t>(ids[i].as_int().value()));
  Batch batch;
  batch.add_sequence(row, std::vector<std::int32_t>(row.size(), 0));
  return batch;
}

TEST(Forward, AblatesAndPatchesAsTorchDoes) {
  const auto json = Json::parse(read_file(golden("architectures/changes.json")), "changes.json");
  const JsonRef root = json.value().root();
  const Batch batch = first_input(root["input_ids"]);
  for (std::size_t i = 0; i < root["cases"].size(); ++i) {
    const JsonRef one = root["cases"][i];
    SCOPED_TRACE("case " + std::to_string(i));
    const auto model = load(std::string(one["case"].as_string().value()));
    const std::string change(one["change"].as_string().value());
    ForwardRequest options{.output_hidden_states = true};
    if (change == "head_mask") {
      options.head_mask = numbers(one["numbers"]);
    } else {
      options.patches = {{change, numbers(one["numbers"])}};
    }
    const auto result = forward(*model, batch, options);
    ASSERT_TRUE(result.ok()) << result.error().message;
    const std::vector<float> expected = numbers(one["last_hidden_state"]);
    const double bound = 4 * std::max(one["f32_diff"].as_number().value(), 4 * 0x1p-23);  // as in bert_test.cpp
    ASSERT_EQ(result.value().last_hidden_state.size(), expected.size());
    for (std::size_t j = 0; j < expected.size(); ++j) ASSERT_NEAR(result.value().last_hidden_state[j], expected[j], bound) << j;
    EXPECT_EQ(result.value().hidden_states.back(), result.value().last_hidden_state);
    if (change == "head_mask") continue;
    EXPECT_EQ(result.value().hidden_states[1], options.patches[0].values);
  }
}

TEST(Forward, PatchingWithTheSameValuesChangesNoBit) {
  const auto model = load("nomic-bert");
  Batch batch;
  batch.add_sequence(std::vector<std::int32_t>{2, 9, 4, 3}, std::vector<std::int32_t>{0, 0, 1, 1});
  batch.add_sequence(std::vector<std::int32_t>{2, 3}, std::vector<std::int32_t>{0, 0});
  const auto plain = forward(*model, batch, {.output_hidden_states = true, .output_qkv = true});
  ASSERT_TRUE(plain.ok());
  const ForwardOutputs& seen = plain.value();
  ForwardRequest options;
  options.patches = {{"embeddings.output", seen.hidden_states[0]},
                     {"layer.0.attention.query", seen.qkv[0][0]},
                     {"layer.1.attention.key", seen.qkv[1][1]},
                     {"layer.1.attention.value", seen.qkv[2][1]},
                     {"layer.0.output", seen.hidden_states[1]}};
  options.head_mask.assign(6, 1.0f);
  EXPECT_EQ(forward(*model, batch, options).value().last_hidden_state, seen.last_hidden_state);
  options.patches[2].values[3] += 1;
  EXPECT_NE(forward(*model, batch, options).value().last_hidden_state, seen.last_hidden_state);
}

TEST(Forward, RejectsPatchesAndMasksOfOtherSizes) {
  const auto model = load("roberta");
  Batch batch;
  batch.add_sequence(std::vector<std::int32_t>{2, 3}, std::vector<std::int32_t>{0, 0});
  const auto message = [&](const ForwardRequest& options) {
    const auto result = forward(*model, batch, options);
    return result.ok() ? "ok" : result.error().message;
  };
  EXPECT_EQ(message({.head_mask = {1, 2, 3}}), "head_mask: expected [2, 3] numbers, found 3");
  EXPECT_EQ(message({.patches = {{"layer.1.intermediate", {1, 2}}}}),
            "patch: 'layer.1.intermediate': expected 40 numbers for each of 2 tokens, found 2 in all");
  for (const char* tap : {"layer.2.output", "layer.0.attention.probs", "final_norm.output", "", "layer.0."}) {
    EXPECT_TRUE(message({.patches = {{tap, {}}}}).ends_with(std::string("found '") + tap + "'")) << tap;
  }
}

// A decoder without its head reads whole sequences; with it, pieces in a slot.
TEST(Forward, StatesOfADecoderHaveTheSameBitsPackedAndInSlots) {
  for (const std::string folder : {"decoders/", "long/decoders/"}) {
    for (const std::string& name : test::case_names(folder)) {
      const auto packed = load_model(golden(folder + name)),
                 in_slots = load_model(golden(folder + name), {.head = HeadKind::kCausalLm});
      ASSERT_TRUE(packed.ok() && in_slots.ok()) << name << packed.error().message;
      const Json expected = test::read_json(folder + name + "/expected.json");
      Batch batch;  // a short sequence before the other
      batch.add_sequence(test::Ids{5, 6}, test::Ids{0, 0});
      const test::Ids ids = test::to_ids(expected.root()["inputs"][1]["input_ids"]);
      batch.add_sequence(ids, test::Ids(ids.size()));
      const auto states = forward(*packed.value(), batch, {.output_attentions = true});
      const auto kept = test::forward_ids(*in_slots.value(), ids, {.output_attentions = true});
      ASSERT_TRUE(states.ok() && kept.ok()) << name;
      EXPECT_TRUE(states.value().logits.empty());
      const std::vector<float>& all = states.value().last_hidden_state;
      const auto width = static_cast<std::ptrdiff_t>(all.size() / (ids.size() + 2));
      EXPECT_EQ(std::vector<float>(all.begin() + 2 * width, all.end()), kept.value().last_hidden_state) << name;
      for (std::size_t layer = 0; layer < kept.value().attentions.size(); ++layer) {
        const std::vector<float>&one = kept.value().attentions[layer], &both = states.value().attentions[layer];
        EXPECT_TRUE(std::equal(one.begin(), one.end(), both.end() - static_cast<std::ptrdiff_t>(one.size()))) << name;
      }
    }
  }
}

TEST(Forward, ReturnsBothStacksWithAHeadOverTheDecoder) {
  const auto loaded = load_model(golden("decoder-heads/bart-sequence"), {.head = HeadKind::kSequence});
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  Model& model = *loaded.value();
  const test::Ids source{0, 48, 10, 2}, shifted{2, 0, 48, 10};
  const auto outputs = test::forward_ids(model, shifted, {.output_hidden_states = true}, source);
  ASSERT_TRUE(outputs.ok()) << outputs.error().message;
  const ForwardOutputs& out = outputs.value();
  EXPECT_EQ(out.logits.size(), 3U);
  EXPECT_EQ(out.hidden_states.size(), 3U);
  EXPECT_EQ(out.encoder.hidden_states.back(), out.encoder.last_hidden_state);
  EXPECT_EQ(out.encoder.last_hidden_state.size(), 4U * 32);
  EXPECT_TRUE(test::forward_ids(model, shifted, {.output_logits = false}, source).value().logits.empty());
  EXPECT_TRUE(test::forward_ids(model, shifted, {}, {0, 48, 10}).value().logits.empty());  // no eos
  const auto error = [](const Result<ForwardOutputs>& result) { return result.ok() ? "ok" : result.error().message; };
  EXPECT_EQ(error(test::forward_ids(model, {2, 0}, {}, source)),
            "decoder_input_ids: expected as many as the source's 4 tokens, found 2");
  EXPECT_EQ(error(test::forward_ids(model, {2, 0, 48}, {}, source)),  // one too few
            "decoder_input_ids: expected as many as the source's 4 tokens, found 3");
  EXPECT_EQ(error(test::forward_ids(model, shifted, {.logit_lens = 1}, source)),
            "logit_lens: expected a model with a head over the vocabulary (ForMaskedLM), found one without");
  Batch two;
  for (int i = 0; i < 2; ++i) two.add_sequence(shifted, test::Ids(4));
  EXPECT_EQ(error(forward(model, two, {.source = source})), "input_ids: expected one sequence, found 2");
}

}  // namespace
}  // namespace wattn
