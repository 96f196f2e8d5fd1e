// The blocks against PyTorch (tools/goldens/nn.py), called by name as a binding does.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "native/nn/json_calls.h"
#include "native/support/goldens.h"
#ifndef __EMSCRIPTEN__
#include "native/support/memory.h"
#endif

namespace wattn::nn {
namespace {

using test::Ids;
using test::read_json;
using test::set_option;
using test::to_ids;
using Names = std::vector<std::string>;

// {"$": [type, dims, data]}
bool is_tensor(JsonRef value) { return value["$"].is_array(); }

Tensor to_tensor(JsonRef value) {
  Tensor out;
  const JsonRef parts = value["$"];
  for (std::size_t i = 0; i < parts[1].size(); ++i) out.dims.push_back(parts[1][i].as_int().value());
  for (std::size_t i = 0; i < parts[2].size(); ++i) {
    const JsonRef x = parts[2][i];
    if (x.is_bool()) {
      out.data.push_back(x.as_bool().value() ? 1.0f : 0.0f);
    } else {
      out.data.push_back(x.is_string() ? -std::numeric_limits<float>::infinity() : float(x.as_number().value()));
    }
  }
  return out;
}

// A bool mask as numbers to add to the scores.
Tensor to_mask(JsonRef value, bool true_is_seen) {
  Tensor out = to_tensor(value);
  if (value["$"][0].as_string().value() != "bool") return out;
  for (float& x : out.data) x = (x != 0) == true_is_seen ? 0 : -std::numeric_limits<float>::infinity();
  return out;
}

struct Given {
  Inputs inputs;
  Options options;
};

// args: by the names of `positions`, then an object of named ones. renamed: what the call has under another name.
Given read_arguments(JsonRef args, const Names& positions, bool true_is_seen, const std::map<std::string, std::string>& renamed) {
  Given out;
  const auto add = [&](std::string name, JsonRef value) {
    if (renamed.contains(name)) name = renamed.at(name);
    if (!is_tensor(value)) return set_option(out.options, name, value);
    out.inputs.emplace_back(name, name.ends_with("mask") ? to_mask(value, true_is_seen) : to_tensor(value));
  };
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (is_tensor(args[i]) || !args[i].is_object()) {
      add(positions.at(i), args[i]);
    } else {
      for (const auto& [name, value] : args[i].members()) add(std::string(name), value);
    }
  }
  return out;
}

// Ours and torch's f32 both round some 10 to 30 sums in a row. Allowed are 8 times what torch is off here, or a few units in the
// last place of the largest number where torch happens to be exact.
void expect_near(const Tensor& got, JsonRef about, const std::string& what) {
  const Tensor want = to_tensor(about["value"]);
  ASSERT_EQ(got.dims, want.dims) << what;
  const double diff = about["diff"].as_number().value(), most = about["max"].as_number().value();
  const double bound = 8 * std::max({diff, most * 0x1p-22, 0x1p-24});
  for (std::size_t i = 0; i < want.data.size(); ++i) ASSERT_LE(std::abs(got.data[i] - want.data[i]), bound) << what << " at " << i;
}

void expect_outputs(const Result<Outputs>& got, JsonRef outputs, const std::string& what) {
  ASSERT_TRUE(got.ok()) << what << ": " << got.error().message;
  expect_near(got.value().output, outputs[0], what);
  if (!outputs[1].is_null()) expect_near(got.value().weights, outputs[1], what + ", weights");
}

Names positions_of_function(const std::string& name) {
  const std::map<std::string, Names> rows{{"matmul", {"input", "other"}},
                                          {"bmm", {"input", "other"}},
                                          {"add", {"input", "other"}},
                                          {"mul", {"input", "other"}},
                                          {"linear", {"input", "weight", "bias"}},
                                          {"embedding", {"input", "weight"}},
                                          {"layer_norm", {"input", "normalized_shape"}},
                                          {"rms_norm", {"input", "normalized_shape"}},
                                          {"batch_norm", {"input", "running_mean", "running_var"}},
                                          {"avg_pool2d", {"input", "kernel_size"}},
                                          {"max_pool2d", {"input", "kernel_size"}},
                                          {"scaled_dot_product_attention", {"query", "key", "value"}},
                                          {"relative_bias", {"table"}},
                                          {"relative_scores", {"query", "table"}},
                                          {"alibi_slopes", {"heads"}}};
  return rows.contains(name) ? rows.at(name) : Names{"input"};
}

Result<Outputs> run_function(std::string name, JsonRef args) {
  Given given = read_arguments(args, positions_of_function(name), true, {{"approximate", "kind"}});
  if (name == "self_attention") {
    for (const char* tensor : {"query", "key", "value"}) given.inputs.emplace_back(tensor, to_tensor(args[0]));
    given.options.set("scale", 1).set("need_weights", 1);
    name = "scaled_dot_product_attention";
  }
  for (const char* kind : {"relu", "silu", "tanh", "sigmoid", "gelu"}) {
    if (name != kind) continue;
    name = "activate";
    if (given.options.has("kind")) given.options = {};  // of gelu: approximate
    given.options.set_word("kind", args.size() > 1 ? "gelu_tanh" : kind);
  }
  return call_function(name, given.inputs, given.options);
}

TEST(NnGoldens, Functions) {
  const Json cases = read_json("nn/cases.json");
  int count = 0;
  for (std::size_t i = 0; i < cases.root().size(); ++i) {
    const JsonRef row = cases.root()[i];
    if (row["function"].is_null()) continue;
    const std::string name(row["name"].as_string().value()), path(row["function"].as_string().value());
    expect_outputs(run_function(path.substr(path.find('.') + 1), row["args"]), row["outputs"], name);
    ++count;
  }
  EXPECT_GT(count, 50);
}

ModulePtr make(const std::string& type, JsonRef arguments) {
  Names positions;
  if (type == "Linear") positions = {"in_features", "out_features"};
  if (type == "Embedding") positions = {"num_embeddings", "embedding_dim"};
  if (type == "MultiheadAttention") positions = {"embed_dim", "num_heads"};
  if (type.ends_with("Norm")) positions = {"normalized_shape"};
  if (type.ends_with("1d") || type.ends_with("2d")) positions = {type.ends_with("Pool2d") ? "kernel_size" : "num_features"};
  const auto module = make_module(type, read_arguments(arguments, positions, false, {}).options);
  EXPECT_TRUE(module.ok()) << type << ": " << module.error().message;
  return module.ok() ? module.value() : nullptr;
}

// The numbers that tools/goldens/nn.py drew.
void load_drawn_state(const Module& module, std::int64_t x, JsonRef shapes) {
  EXPECT_EQ(module.state().size(), shapes.size());
  for (const auto& [name, dims] : shapes.members()) {
    Tensor tensor;
    std::int64_t count = 1;
    for (std::size_t i = 0; i < dims.size(); ++i) count *= tensor.dims.emplace_back(dims[i].as_int().value());
    for (; count > 0; --count) {
      x = x * 48271 % 2147483647;
      const auto value = float(std::floor((double(x) / 2147483647 * 2 - 1) * 600 + 0.5) / 1000);
      tensor.data.push_back(name.ends_with("running_var") ? std::abs(value) + 0.5f : value);
    }
    EXPECT_TRUE(module.load(name, tensor).ok()) << name;
  }
}

Given forward_arguments(const std::string& type, JsonRef args) {
  Names positions{"input", "key", "value"};
  std::map<std::string, std::string> renamed{{"tgt_is_causal", "is_causal"}};
  if (type == "TransformerDecoderLayer") positions = {"input", "memory"};
  if (type == "TransformerEncoderLayer") renamed.emplace("src_key_padding_mask", "key_padding_mask");
  if (type == "Transformer" || type == "EncoderDecoder") positions = {"key", "input"};  // src, tgt
  Given out = read_arguments(args, positions, false, renamed);
  if (type == "MultiheadAttention") out.options.set("need_weights", 1);
  return out;
}

TEST(NnGoldens, Modules) {
  const Json cases = read_json("nn/cases.json");
  int count = 0;
  for (std::size_t i = 0; i < cases.root().size(); ++i) {
    const JsonRef row = cases.root()[i];
    if (row["module"].is_null()) continue;
    const std::string name(row["name"].as_string().value()), type(row["module"].as_string().value());
    const ModulePtr module = make(type, row["make"]);
    ASSERT_TRUE(module) << name;
    load_drawn_state(*module, row["seed"].as_int().value(), row["shapes"]);
    const Given given = forward_arguments(type, row["args"]);
    expect_outputs(call_module(*module, given.inputs, given.options, nullptr, nullptr), row["outputs"], name);
    ++count;
  }
  EXPECT_GT(count, 35);
}

#ifndef __EMSCRIPTEN__  // see memory.h
TEST(NnMemory, EndsEveryModuleWithAnError) {
  const Json cases = read_json("nn/cases.json");
  for (std::size_t i = 0; i < cases.root().size(); ++i) {
    const JsonRef row = cases.root()[i];
    if (row["module"].is_null()) continue;
    const std::string name(row["name"].as_string().value()), type(row["module"].as_string().value());
    const Given given = forward_arguments(type, row["args"]);
    const auto run = [&] { return call_module(*make(type, row["make"]), given.inputs, given.options, nullptr, nullptr); };
    const bool multiplies =
        type.find("Attention") != std::string::npos || type.find("coder") != std::string::npos || type == "Linear";
    EXPECT_GE(test::arenas_needed(run, name), multiplies ? 1 : 0) << name;
  }
}
#endif

// A GPT-2 of transformers, its weights under our names.
class NnGeneration : public testing::Test {
 protected:
  Json golden = read_json("nn/generation.json");
  ModulePtr model = make("LanguageModel", golden.root()["make"]);
  Ids prompt = to_ids(golden.root()["prompt"]);

  void SetUp() override {
    for (const auto& [name, value] : golden.root()["state"].members()) ASSERT_TRUE(model->load(name, to_tensor(value)).ok());
  }
  Result<Ids> generate(JsonRef asked, bool use_cache) const {
    Options options;
    for (const auto& [name, value] : asked.members()) set_option(options, std::string(name), value);
    const auto read = read_generate_options(options.set("use_cache", use_cache ? 1 : 0));
    if (!read.ok()) return read.error();
    return nn::generate(*model->generative(), prompt, nullptr, read.value());
  }
};

TEST_F(NnGeneration, GivesTheLogitsWholeAndTokenByTokenWithTheSameBits) {
  const auto forward = [&](const Ids& ids, KeyValueCache* cache) {
    Inputs inputs;
    inputs.emplace_back("input", Tensor::of({1, std::int64_t(ids.size())}, {ids.begin(), ids.end()}));
    return call_module(*model, inputs, {}, cache, nullptr);
  };
  const auto whole = forward(prompt, nullptr);
  ASSERT_TRUE(whole.ok()) << whole.error().message;
  const Tensor want = to_tensor(golden.root()["logits"]);
  const double bound = 8 * golden.root()["max"].as_number().value() * 0x1p-22;
  const std::vector<float>& got = whole.value().output.data;
  ASSERT_EQ(got.size(), want.data.size());
  for (std::size_t i = 0; i < got.size(); ++i) ASSERT_LE(std::abs(got[i] - want.data[i]), bound) << i;
  KeyValueCache cache;
  std::vector<float> steps;
  for (const std::int32_t id : prompt) {
    const auto row = forward({id}, &cache);
    ASSERT_TRUE(row.ok()) << row.error().message;
    steps.insert(steps.end(), row.value().output.data.begin(), row.value().output.data.end());
  }
  EXPECT_EQ(steps, got);
  EXPECT_EQ(cache.length, std::int64_t(prompt.size()));
}

TEST_F(NnGeneration, IsGreedyAndSearchesByBeamsAsTheReference) {
  const JsonRef answers = golden.root()["answers"];
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const JsonRef options = answers[i]["options"];
    for (const bool use_cache : {true, false}) {
      if (!use_cache && i % 8 != 0) continue;  // whole sequences again and again take their time
      const auto ids = generate(options, use_cache);
      ASSERT_TRUE(ids.ok()) << ids.error().message;
      EXPECT_EQ(ids.value(), to_ids(answers[i]["ids"])) << options.to_text() << use_cache;
    }
  }
}

#ifndef __EMSCRIPTEN__
TEST_F(NnGeneration, EndsWithAnErrorWhenMemoryDoes) {
  const Json options = std::move(Json::parse(R"({"max_new_tokens": 14, "num_beams": 2})", "options")).value();
  EXPECT_GT(test::arenas_needed([&] { return generate(options.root(), true); }, "generate"), 10);
}
#endif

TEST_F(NnGeneration, DrawsFromTheReferencesProbabilities) {
  const JsonRef warpers = golden.root()["warpers"];
  for (std::size_t i = 0; i < warpers.size(); ++i) {
    Options options;
    for (const auto& [name, value] : warpers[i]["options"].members()) set_option(options, std::string(name), value);
    Inputs inputs;
    inputs.emplace_back("input", to_tensor(golden.root()["row"]));
    const auto got = call_function("sampling_probabilities", inputs, options);
    ASSERT_TRUE(got.ok()) << got.error().message;
    const Tensor want = to_tensor(warpers[i]["probabilities"]);
    ASSERT_EQ(got.value().output.dims, want.dims);
    for (std::size_t j = 0; j < want.data.size(); ++j) ASSERT_NEAR(got.value().output.data[j], want.data[j], 8 * 0x1p-22) << i << j;
  }
}

}  // namespace
}  // namespace wattn::nn
