// Decoders against torch and transformers: logits, hidden states, attentions and generated tokens, which do not depend on other
// sequences, pieces or steps.
#include "tasks/generate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>

#include "core/json.h"
#include "native/support/generation.h"
#include "tasks/forward.h"

namespace wattn {
namespace {

using test::forward_ids;
using test::generate;
using test::golden;
using test::Ids;
using test::load_model;
using test::read_floats;
using test::read_json;
using test::to_ids;

const std::string kFolder = "decoders/", kLong = "long/decoders/", kVariants = "variants/decoders/";

std::unique_ptr<Model> load(const std::string& name, LoadOptions options = {}, const std::string& folder = kFolder) {
  options.head = HeadKind::kCausalLm;
  auto loaded = load_model(golden(folder + name), options);
  EXPECT_TRUE(loaded.ok()) << loaded.error().message;
  return loaded.ok() ? std::move(loaded).value() : nullptr;
}

GenerateRequest to_request(JsonRef options, std::int64_t max_new_tokens) {
  GenerateRequest request;
  request.max_new_tokens = max_new_tokens;
  request.options.eos_token_ids = options["eos_token_id"].is_null() ? Ids{2} : to_ids(options["eos_token_id"]);
  test::set_options(options, request.options);
  if (!options["forced_eos_token_id"].is_null()) request.options.forced_eos_token_id = 2;
  return request;
}

ForwardOutputs look(Model& model, const Ids& ids, const ForwardRequest& request = {}) {
  auto result = forward_ids(model, ids, request);
  EXPECT_TRUE(result.ok()) << result.error().message;
  return result.ok() ? std::move(result).value() : ForwardOutputs();
}

// Calls check(path, model, expected.json) for every decoder of both folders.
template <class Check>
void for_each_case(const Check& check) {
  for (const std::string& folder : {kFolder, kLong, kVariants}) {
    for (const std::string& name : test::case_names(folder)) {
      SCOPED_TRACE(folder + name);
      const auto model = load(name, {}, folder);
      ASSERT_TRUE(model);
      check(folder + name, *model, read_json(folder + name + "/expected.json").root());
    }
  }
}

TEST(CausalForward, EveryTensorMatchesTorch) {
  for_each_case([](const std::string& path, Model& model, JsonRef expected) {
    const std::vector<float> all = read_floats(golden(path + "/expected.f32"));
    for (std::size_t i = 0; i < expected["inputs"].size(); ++i) {
      const JsonRef input = expected["inputs"][i];
      const auto result = look(model, to_ids(input["input_ids"]), {.output_hidden_states = true, .output_attentions = true});
      std::map<std::string, std::vector<float>> got{{"logits", result.logits}};
      for (std::size_t l = 0; l < result.hidden_states.size(); ++l)
        got["hidden_states." + std::to_string(l)] = result.hidden_states[l];
      for (std::size_t l = 0; l < result.attentions.size(); ++l) got["attentions." + std::to_string(l)] = result.attentions[l];
      for (const auto& [tensor, about] : input["tensors"].members()) {
        const auto at = got.find(std::string(tensor));
        ASSERT_NE(at, got.end()) << tensor;
        test::expect_near(at->second, about, all, test::bound_of_case(expected["inputs"], tensor), std::string(tensor));
      }
      if (path.starts_with(kFolder)) {
        EXPECT_EQ(got.size(), input["tensors"].size());
      }
    }
  });
}

TEST(Generate, GivesTheTokensOfTransformers) {
  for_each_case([](const std::string&, Model& model, JsonRef expected) {
    for (std::size_t i = 0; i < expected["searches"].size(); ++i) {
      const JsonRef row = expected["searches"][i];
      SCOPED_TRACE(row["options"].to_text());
      const std::int64_t new_tokens = row["max_new_tokens"].as_int_or(24).value();
      const auto made = generate(model, {to_ids(row["input_ids"])}, to_request(row["options"], new_tokens));
      ASSERT_EQ(made.size(), 1U);
      ASSERT_EQ(made[0].size(), row["tokens"].size());
      for (std::size_t j = 0; j < made[0].size(); ++j) EXPECT_EQ(made[0][j].tokens, to_ids(row["tokens"][j]));
    }
  });
}

// Prompt lengths around one query block and past two. Equal scores mean equal bits of the logits.
TEST(Generate, LongAndShortPromptsGiveTheSameAloneAndTogether) {
  GenerateRequest request;
  request.max_new_tokens = request.options.num_beams = 2;
  for (const std::string& name : test::case_names(kLong)) {
    const auto model = load(name, {}, kLong);
    ASSERT_TRUE(model);
    const Json expected = read_json(kLong + name + "/expected.json");
    std::vector<Ids> prompts;
    for (std::size_t i = 0; i < expected.root()["inputs"].size(); ++i)
      prompts.push_back(to_ids(expected.root()["inputs"][i]["input_ids"]));
    const auto together = generate(*model, prompts, request);
    for (std::size_t i = 0; i < prompts.size(); ++i) {
      const auto alone = generate(*model, {prompts[i]}, request);
      EXPECT_EQ(together[i][0].tokens, alone[0][0].tokens) << name << ", " << prompts[i].size();
      EXPECT_EQ(together[i][0].score, alone[0][0].score) << name << ", " << prompts[i].size();
    }
  }
}

TEST(CausalForward, GgufGivesTheBitsOfSafetensors) {
  for (const char* name : {"gpt2", "smollm", "qwen3", "gemma", "gemma3"}) {
    const std::string folder = golden(kFolder + name);
    std::vector<NamedFile> files = test::small_files(folder);
    // llama.cpp divides Gemma 3's scores by the root of the head's width, which is 10 here.
    const std::string scalar = R"("query_pre_attn_scalar":256)";
    std::string& config = files.front().bytes;
    if (const std::size_t at = config.find(scalar); at != std::string::npos)
      config.replace(at, scalar.size(), R"("query_pre_attn_scalar":10)");
    auto from_safetensors = load_model(files, folder, {.head = HeadKind::kCausalLm});
    auto from_gguf = test::load_gguf(folder, "model.gguf");
    ASSERT_TRUE(from_safetensors.ok() && from_gguf.ok()) << name << ": " << from_gguf.error().message;
    const Ids ids = to_ids(read_json(kFolder + name + "/expected.json").root()["inputs"][1]["input_ids"]);
    EXPECT_EQ(look(*from_gguf.value(), ids).logits, look(*from_safetensors.value(), ids).logits) << name;
  }
}

void expect_steps_have_the_bits_of_the_whole(const std::string& folder, const std::string& name, std::size_t input,
                                             std::initializer_list<WeightType> types) {
  const Ids ids = to_ids(read_json(folder + name + "/expected.json").root()["inputs"][input]["input_ids"]);
  for (const WeightType type : types) {
    const auto model = load(name, {.dtype = type}, folder);
    ASSERT_TRUE(model);
    const auto whole = look(*model, ids);
    const std::int64_t vocab = model->generator().config().vocab_size;
    const std::int64_t hidden = model->generator().config().hidden_size;
    // Token by token in slot 1, while another sequence is read in pieces in slot 0.
    ASSERT_TRUE(model->slots().reserve({.slots = 2, .length = static_cast<std::int64_t>(ids.size())}).ok());
    Batch batch;
    const std::span<const std::int32_t> all(ids);
    for (std::size_t i = 0; i < ids.size(); ++i) {
      batch.clear();
      if (i % 3 == 0 && i + 3 <= ids.size()) batch.add_to_slot(0, static_cast<std::int32_t>(i), all.subspan(i, 3));
      batch.add_to_slot(1, static_cast<std::int32_t>(i), all.subspan(i, 1));
      const auto out = model->slots().run(batch, nullptr);
      ASSERT_TRUE(out.ok());
      const std::int64_t row = batch.tokens() - 1;
      const std::vector<float> last(out.value() + row * hidden, out.value() + (row + 1) * hidden);
      const float* expected = whole.last_hidden_state.data() + static_cast<std::int64_t>(i) * hidden;
      ASSERT_EQ(last, std::vector<float>(expected, expected + hidden)) << name << ", token " << i;
      const float* logits = model->slots().logits(out.value(), {&row, 1});
      const float* expected_logits = whole.logits.data() + static_cast<std::int64_t>(i) * vocab;
      ASSERT_EQ(std::vector<float>(logits, logits + vocab), std::vector<float>(expected_logits, expected_logits + vocab));
    }
  }
}

TEST(Generate, StepsPiecesAndOtherSequencesChangeNoBit) {
  for (const std::string& name : test::case_names(kFolder)) {
    expect_steps_have_the_bits_of_the_whole(
        kFolder, name, 1, {WeightType::kF32, WeightType::kF16, WeightType::kQ16, WeightType::kQ8, WeightType::kQ4});
  }
  for (const std::string& name : test::case_names(kLong)) {
    expect_steps_have_the_bits_of_the_whole(kLong, name, 0, {WeightType::kF32});
  }
}

// Compares logits, with the bounds of Architectures.QuantisedWeightsStayNearF32.
TEST(CausalForward, QuantisedWeightsStayNearF32) {
  for (const std::string& folder : {kFolder, kVariants}) {
    for (const std::string& name : test::case_names(folder)) {
      const Ids ids = to_ids(read_json(folder + name + "/expected.json").root()["inputs"][1]["input_ids"]);
      std::vector<std::vector<float>> logits;
      for (const WeightType type : {WeightType::kF32, WeightType::kQ16, WeightType::kQ8}) {
        const auto model = load(name, {.dtype = type}, folder);
        ASSERT_TRUE(model);
        logits.push_back(look(*model, ids).logits);
      }
      const double q16 = test::relative_error(logits[1], logits[0]), q8 = test::relative_error(logits[2], logits[0]);
      EXPECT_LE(q16, 0.0015) << folder << name;
      // The norm after a state divides by the length of S^T q, which enlarges all roundings before it. Noise of the embeddings
      // grows by 13 with keys of 6 columns, and by 4 with the 128 of published models.
      EXPECT_LE(q8, name.starts_with("qwen3-5") ? 0.25 : 0.1) << folder << name;
      EXPECT_GT(q8, q16) << folder << name;
    }
  }
}

class GenerateMany : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Of, GenerateMany, testing::Values("decoders/llama", "variants/decoders/qwen3-5"));

TEST_P(GenerateMany, PromptsGiveTheSameAloneAndTogether) {
  const auto model = load(GetParam(), {}, "");
  ASSERT_TRUE(model);
  const std::vector<Ids> prompts{{1, 7, 19}, {1}, {1, 30, 11, 12, 5, 6, 40, 9, 9}, {1, 7, 19}};
  GenerateRequest greedy, beams, drawn;
  greedy.max_new_tokens = beams.max_new_tokens = drawn.max_new_tokens = 20;
  beams.options.num_beams = 3;
  beams.options.eos_token_ids = {2, 11};
  drawn.options = {.do_sample = true, .temperature = 1.5, .top_k = 20, .top_p = 0.9, .num_return_sequences = 2, .seed = 7};
  for (const GenerateRequest& request : {greedy, beams, drawn}) {
    const auto together = generate(*model, prompts, request);
    for (std::size_t i = 0; i < prompts.size(); ++i) {
      const auto alone = generate(*model, {prompts[i]}, request);
      ASSERT_EQ(together[i].size(), alone[0].size());
      for (std::size_t j = 0; j < alone[0].size(); ++j) EXPECT_EQ(together[i][j].tokens, alone[0][j].tokens);
    }
  }
  const auto twice = generate(*model, prompts, drawn);
  EXPECT_NE(twice[0][0].tokens, twice[0][1].tokens);  // each sampled independently
  drawn.options.seed = 8;
  EXPECT_NE(generate(*model, prompts, drawn)[0][0].tokens, twice[0][0].tokens);
}

TEST(Generate, StopStringsEndASequence) {
  const auto model = load("llama");
  ASSERT_TRUE(model);
  GenerateRequest request;
  request.max_new_tokens = 24;
  const Ids tokens = generate(*model, {{1, 7, 19}}, request)[0][0].tokens;
  ASSERT_EQ(tokens.size(), 24U);
  const std::string text = model->tokenizer().decode({tokens.begin() + 3, tokens.begin() + 6}, false, false).value();
  request.stop_strings = {"never", text};
  const auto made = generate(*model, {{1, 7, 19}}, request)[0][0];
  EXPECT_EQ(made.reason, FinishReason::kStop);
  EXPECT_LE(made.tokens.size(), 6U);
  const std::string found = model->tokenizer().decode(made.tokens, false, false).value();
  EXPECT_TRUE(found.ends_with(text)) << found;
}

TEST(Generate, HandsOutNewTokensOnce) {
  const auto model = load("llama");
  ASSERT_TRUE(model);
  GenerateRequest request;
  request.max_new_tokens = 6;
  const Ids whole = generate(*model, {{1, 7, 19}}, request)[0][0].tokens;
  const auto generation = std::move(Generation::begin(*model, {{1, 7, 19}}, request)).value();
  Ids taken;
  const auto take = [&] {
    const std::vector<Ids> taken_now = generation->take_new();
    taken.insert(taken.end(), taken_now[0].begin(), taken_now[0].end());
    return taken.size();
  };
  EXPECT_EQ(take(), 0U);
  ASSERT_TRUE(generation->step().ok());  // reads the prompt
  EXPECT_EQ(take(), 1U);
  EXPECT_EQ(take(), 1U);
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(generation->step().ok());
  EXPECT_EQ(take(), 3U);
  while (generation->step().value()) {
  }
  take();
  EXPECT_EQ(taken, whole);
  EXPECT_FALSE(generation->step().value());
  request.options.num_beams = request.options.num_return_sequences = 2;
  const auto several = std::move(Generation::begin(*model, {{1}}, request)).value();
  ASSERT_TRUE(several->step().ok());
  const Ids rows = several->take_new()[0];  // of several: the row that each goes on from, and its token
  ASSERT_EQ(rows.size(), 4U);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(rows[2 * i], 0);
    EXPECT_EQ(rows[2 * i + 1], several->results()[0][i].tokens.back());
  }
}

// Weights are finite, and their products are not.
TEST(Generate, SaysWhenTheModelIsBroken) {
  auto files = test::small_files(golden(kFolder + "llama"));
  std::string weights = test::read_file(golden(kFolder + "llama/model.safetensors"));
  const std::size_t at = weights.find("\"model.norm.weight\"");
  ASSERT_NE(at, std::string::npos);
  const std::size_t offsets = weights.find("\"data_offsets\":[", at) + 16;
  std::uint64_t header = 0;
  std::memcpy(&header, weights.data(), 8);
  const std::size_t begin = 8 + static_cast<std::size_t>(header) + std::stoul(weights.substr(offsets, 20));
  std::memset(weights.data() + begin, 0x7F, 32 * sizeof(float));
  const auto model = test::load_with(files, [&](const std::string&) { return weights; }, {.head = HeadKind::kCausalLm});
  ASSERT_TRUE(model.ok()) << model.error().message;
  const auto stepped = std::move(Generation::begin(*model.value(), {{1, 7}}, {.max_new_tokens = 2})).value()->step();
  ASSERT_FALSE(stepped.ok());
  EXPECT_NE(stepped.error().message.find("the model's logits are not finite"), std::string::npos) << stepped.error().message;
}

TEST(Generate, RejectsInvalidRequests) {
  const auto model = load("llama", {.context_length = 12});
  ASSERT_TRUE(model);
  const auto error = [&](const std::vector<Ids>& prompts, const GenerateRequest& request) {
    const auto begun = Generation::begin(*model, prompts, request);
    return begun.ok() ? std::string("none") : begun.error().message;
  };
  const auto with = [](auto change) {
    GenerateRequest request;
    request.max_new_tokens = 4;
    change(request.options);
    return request;
  };
  const GenerateRequest usual = with([](GenerateOptions&) {});
  EXPECT_EQ(error({{1, 2}}, usual), "none");
  EXPECT_NE(error({{}}, usual).find("found none"), std::string::npos);
  EXPECT_NE(error({Ids(12, 5)}, usual).find("context_length = 12"), std::string::npos);
  EXPECT_NE(error({Ids(9, 5)}, usual).find("context_length = 12"), std::string::npos);
  EXPECT_NE(error({{1, 59}}, usual).find("vocab_size"), std::string::npos);
  EXPECT_NE(error({{1, -1}}, usual).find("vocab_size"), std::string::npos);
  GenerateRequest none = usual;
  none.max_new_tokens = 0;
  EXPECT_NE(error({{1}}, none).find("max_new_tokens"), std::string::npos);
  const auto refused = [&](auto change, const char* name) {
    EXPECT_NE(error({{1}}, with(change)).find(name), std::string::npos) << name;
  };
  refused([](auto& o) { o.temperature = 0; }, "temperature");
  refused([](auto& o) { o.temperature = std::nan(""); }, "temperature");
  refused([](auto& o) { o.top_p = 0; }, "top_p");
  refused([](auto& o) { o.min_p = 2; }, "min_p");
  refused([](auto& o) { o.top_k = -1; }, "top_k");
  refused([](auto& o) { o.num_beams = 0; }, "num_beams");
  refused([](auto& o) { o.num_beams = 1000; }, "num_beams");
  refused([](auto& o) { o.num_return_sequences = 2; }, "num_return_sequences");
  refused([](auto& o) { o.repetition_penalty = 0; }, "repetition_penalty");
  refused([](auto& o) { o.eos_token_ids = {77}; }, "eos_token_id");
  refused([](auto& o) { o.bad_words = {{}}; }, "bad_words_ids");
  refused([](auto& o) { o.do_sample = true, o.num_beams = 2; }, "num_beams");
  GenerateRequest length;
  length.max_length = 5;
  EXPECT_EQ(error({{1, 2, 3, 4, 5}}, length), "prompt 0: expected fewer tokens than max_length = 5, found 5");
  EXPECT_EQ(generate(*model, {{1, 2}}, length)[0][0].tokens.size(), 3U);
  EXPECT_EQ(error(std::vector<Ids>(12, {1}), usual), "none");
  EXPECT_EQ(error(std::vector<Ids>(13, {1}), usual), "generate: expected at most 12 sequences at once, found 13");
  EXPECT_TRUE(Generation::begin(*model, {}, usual).value()->results().empty());
  const auto bare = load_model(golden(kFolder + "llama"));
  EXPECT_EQ(Generation::begin(*bare.value(), {{1}}, usual).error().message,
            "generate: this model was loaded without a language-model head");
  // Without an end token the length ends it; a prompt that leaves room for one token gets one.
  EXPECT_EQ(generate(*model, {{1, 2}}, usual)[0][0].reason, FinishReason::kLength);
  GenerateRequest open;
  EXPECT_EQ(generate(*model, {Ids(11, 5)}, open)[0][0].tokens.size(), 1U);
}

// What is proposed only saves steps: any proposals, right ones and wrong ones, give the tokens of a search without them.
TEST(Generate, ProposalsChangeNoTokenAndSaveSteps) {
  for (const std::string& name : test::case_names(kFolder)) {
    SCOPED_TRACE(name);
    const auto model = load(name);
    ASSERT_TRUE(model);
    const Json expected = read_json(kFolder + name + "/expected.json");
    const std::vector<Ids> prompts{to_ids(expected.root()["inputs"][0]["input_ids"]),
                                   to_ids(expected.root()["inputs"][1]["input_ids"])};
    for (const bool samples : {false, true}) {
      GenerateRequest request;
      request.max_new_tokens = 12;
      request.options.do_sample = samples;
      request.options.seed = 5;
      request.options.repetition_penalty = 1.2;
      const auto plain = generate(*model, prompts, request);
      request.num_proposed = 5;
      for (const int wrong_at : {0, 1, 3, 5, 99}) {
        SCOPED_TRACE(wrong_at);
        auto begun = Generation::begin(*model, prompts, request);
        ASSERT_TRUE(begun.ok());
        Generation& job = *begun.value();
        int steps = 0;
        for (auto more = Result<bool>(true); more.value(); ++steps) {
          more = job.step();
          ASSERT_TRUE(more.ok()) << more.error().message;
          const auto so_far = job.results();
          for (std::size_t i = 0; i < prompts.size(); ++i) {
            const Ids& whole = plain[i][0].tokens;
            Ids next(whole.begin() + static_cast<std::ptrdiff_t>(so_far[i][0].tokens.size()), whole.end());
            next.resize(7, 0);  // more than may be proposed, and past the end
            if (wrong_at < 7) next[static_cast<std::size_t>(wrong_at)] ^= 1;
            job.propose(i, next);
          }
        }
        const auto made = job.results();
        for (std::size_t i = 0; i < prompts.size(); ++i) EXPECT_EQ(made[i][0].tokens, plain[i][0].tokens);
        const int longest = static_cast<int>(std::max(plain[0][0].tokens.size(), plain[1][0].tokens.size()));
        if (wrong_at == 0) EXPECT_EQ(steps, longest);  // none is taken
        if (wrong_at == 99) EXPECT_LE(steps, 1 + (longest + 5) / 6);
      }
    }
  }
}

// A paused step shows the rows three times. Writing back what was read changes nothing; forbidding a token forbids it.
TEST(Generate, PausesShowTheRowsThatTokensAreChosenBy) {
  const auto model = load("smollm");
  ASSERT_TRUE(model);
  const Json expected = read_json(kFolder + "smollm/expected.json");
  const Ids prompt = to_ids(expected.root()["inputs"][1]["input_ids"]), other = to_ids(expected.root()["inputs"][0]["input_ids"]);
  const auto vocab = static_cast<std::size_t>(model->generator().config().vocab_size);
  const std::vector<float> logits = look(*model, prompt).logits;
  const auto best_of = [](std::span<const float> row) {
    return static_cast<std::int32_t>(std::ranges::max_element(row) - row.begin());
  };
  for (const int width : {1, 3}) {
    for (const bool samples : {false, true}) {
      if (samples && width > 1) continue;
      GenerateRequest request;
      request.max_new_tokens = 6;
      request.options.do_sample = samples;
      request.options.temperature = 0.7;
      request.options.num_beams = width;
      request.options.seed = 3;
      const auto plain = generate(*model, {prompt, other}, request);
      request.pauses = true;
      auto begun = Generation::begin(*model, {prompt, other}, request);
      ASSERT_TRUE(begun.ok());
      Generation& job = *begun.value();
      std::vector<GenerationPhase> phases;
      std::vector<std::int32_t> best;
      for (auto more = Result<bool>(true); more.value();) {
        more = job.step();
        ASSERT_TRUE(more.ok());
        phases.push_back(job.phase());
        const std::span<float> rows = job.rows();
        EXPECT_EQ(rows.empty(), job.phase() == GenerationPhase::kNone);
        if (width == 1 && job.phase() == GenerationPhase::kLogits && phases.size() == 1) {
          ASSERT_EQ(rows.size(), 2 * vocab);  // one row of each prompt
          EXPECT_EQ(std::vector<float>(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(vocab)),
                    std::vector<float>(logits.end() - static_cast<std::ptrdiff_t>(vocab), logits.end()));
        }
        if (job.phase() == GenerationPhase::kLogits && phases.size() > 4)
          EXPECT_EQ(rows.size(), vocab * 2 * static_cast<std::size_t>(width));
        if (job.phase() == GenerationPhase::kScores && width == 1) best.push_back(best_of(rows.first(vocab)));
        const auto taken = job.take_new();
        if (width == 1 || job.phase() != GenerationPhase::kNone) EXPECT_EQ(taken[0].empty(), job.phase() != GenerationPhase::kNone);
      }
      const auto made = job.results();
      for (std::size_t i = 0; i < 2; ++i) {
        EXPECT_EQ(made[i][0].tokens, plain[i][0].tokens);
        EXPECT_EQ(made[i][0].score, plain[i][0].score);
      }
      if (width == 1 && !samples) EXPECT_EQ(best, made[0][0].tokens);
      for (std::size_t i = 0; i < phases.size(); ++i) EXPECT_EQ(static_cast<std::size_t>(phases[i]), (i + 1) % 4);
    }
  }
  // The best token of each step is forbidden at each of the three moments.
  GenerateRequest request;
  request.max_new_tokens = 1;
  const std::int32_t best = generate(*model, {prompt}, request)[0][0].tokens[0];
  request.pauses = true;
  for (int at = 0; at < 3; ++at) {
    auto begun = Generation::begin(*model, {prompt}, request);
    for (int i = 0; i < 4; ++i) {
      if (i > 0 && i - 1 == at) begun.value()->rows()[static_cast<std::size_t>(best)] = -1e30F;
      ASSERT_TRUE(begun.value()->step().ok());
    }
    EXPECT_NE(begun.value()->results()[0][0].tokens[0], best) << at;
  }
}

TEST(Generate, EndsWhenItIsTold) {
  const auto model = load("smollm");
  ASSERT_TRUE(model);
  GenerateRequest request;
  request.max_new_tokens = 9;
  request.options.eos_token_ids = {};
  auto begun = Generation::begin(*model, {{5, 6, 7}, {8, 9}}, request);
  ASSERT_TRUE(begun.ok());
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(begun.value()->step().value());
  begun.value()->end();
  EXPECT_FALSE(begun.value()->step().value());
  for (const auto& made : begun.value()->results()) {
    EXPECT_EQ(made[0].tokens.size(), 3U);
    EXPECT_EQ(made[0].reason, FinishReason::kTime);
  }
}

// A generation that only reads, and the rows of a prompt that it shows.
std::vector<std::vector<float>> shown_rows(Model& model, const std::vector<Ids>& prompts, const std::vector<std::int32_t>& from) {
  GenerateRequest request;
  request.rows_from = from;
  request.max_new_tokens = 1;
  std::vector<std::vector<float>> out(prompts.size());
  auto begun = Generation::begin(model, prompts, request);
  EXPECT_TRUE(begun.ok()) << begun.error().message;
  if (!begun.ok()) return out;
  const auto vocab = static_cast<std::size_t>(model.generator().config().vocab_size);
  for (bool more = true; more;) {
    const auto step = begun.value()->step();
    EXPECT_TRUE(step.ok());
    more = step.ok() && step.value();
    const auto of = begun.value()->prompts_of_rows();
    EXPECT_LE(of.size(), 32U);
    EXPECT_EQ(begun.value()->rows().size(), of.size() * vocab);
    for (std::size_t i = 0; i < of.size(); ++i) {
      const auto row = begun.value()->rows().subspan(i * vocab, vocab);
      out[static_cast<std::size_t>(of[i])].insert(out[static_cast<std::size_t>(of[i])].end(), row.begin(), row.end());
    }
  }
  for (const auto& made : begun.value()->results()) EXPECT_TRUE(made[0].tokens.empty());
  return out;
}

TEST(Generate, ShowsThePromptsRowsWithTheBitsOfAForwardPass) {
  for (const std::string& name : test::case_names(kFolder)) {
    SCOPED_TRACE(name);
    const auto model = load(name);
    ASSERT_TRUE(model);
    const auto vocab = static_cast<std::ptrdiff_t>(model->generator().config().vocab_size);
    std::vector<Ids> prompts;
    for (int count : {1, 31, 32, 33, 40}) {
      prompts.emplace_back();
      for (int i = 0; i < count; ++i) prompts.back().push_back((3 + 7 * i) % 50);
    }
    for (const std::vector<std::int32_t>& from : {std::vector{0, 0, 0, 0, 0}, std::vector{0, 30, 5, 0, 39}}) {
      for (int again = 0; again < 2; ++again) {  // the second time, prefixes are kept
        const auto shown = shown_rows(*model, prompts, from);
        for (std::size_t i = 0; i < prompts.size(); ++i) {
          const std::vector<float> logits = look(*model, prompts[i]).logits;
          EXPECT_EQ(shown[i], std::vector<float>(logits.begin() + from[i] * vocab, logits.end())) << i;
        }
      }
    }
  }
}

// Texts longer than one pass.
TEST(Generate, ShowsTheRowsOfLongTexts) {
  const std::string folder = golden(kLong + "llama"), positions = R"("max_position_embeddings":132)";
  std::vector<NamedFile> files = test::small_files(folder);
  std::string& config = files.front().bytes;
  ASSERT_NE(config.find(positions), std::string::npos);
  config.replace(config.find(positions), positions.size(), R"("max_position_embeddings":1100)");
  auto loaded = load_model(files, folder, {.head = HeadKind::kCausalLm});
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  Model& model = *loaded.value();
  const auto vocab = static_cast<std::ptrdiff_t>(model.generator().config().vocab_size);
  Ids whole;
  for (std::int32_t i = 0; i < 1099; ++i) whole.push_back(i * 31 % static_cast<std::int32_t>(vocab));
  const std::vector<float> all = shown_rows(model, {whole}, {0})[0];
  ASSERT_EQ(all.size(), whole.size() * static_cast<std::size_t>(vocab));
  for (const std::int32_t from : {1, 511, 512, 513, 1098}) {
    EXPECT_EQ(shown_rows(model, {whole}, {from})[0], std::vector<float>(all.begin() + from * vocab, all.end())) << from;
  }
}

TEST(CausalForward, TheLogitLensOfTheLastLayerIsTheLogits) {
  const auto model = load("qwen3");
  ASSERT_TRUE(model);
  const Ids ids{1, 7, 19, 4};
  const auto seen = look(*model, ids, {.logit_lens = 3});
  const std::size_t layers = 3, tokens = ids.size();
  ASSERT_EQ(seen.lens_ids.size(), layers * tokens * 3);
  for (std::size_t t = 0; t < tokens; ++t) {
    const auto row = seen.logits.begin() + static_cast<std::ptrdiff_t>(t * 59);
    const auto best = std::max_element(row, row + 59);
    const std::size_t at = ((layers - 1) * tokens + t) * 3;
    EXPECT_EQ(seen.lens_ids[at], best - row);
    EXPECT_EQ(seen.lens_logits[at], *best);
    EXPECT_GE(seen.lens_logits[at], seen.lens_logits[at + 1]);
  }
}

}  // namespace
}  // namespace wattn
