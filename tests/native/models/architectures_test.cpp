// A tiny random model of every architecture against torch: hidden states, attentions, pooled vectors.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

#include "core/json.h"
#include "native/support/goldens.h"
#include "native/support/transformers.h"

namespace wattn {
namespace {

using test::golden;
using test::read_file;
using test::read_floats;
using test::read_json;
using test::run;
using test::to_ids;

const std::string kFolder = "architectures/", kLong = "long/encoders/", kEuroBert = "eurobert/", kHub = "hub_layouts/",
                  kVariants = "variants/encoders/";

struct Seen : Taps {
  std::map<std::string, std::vector<float>> tensors;
  void on_tensor(const TapPoint& point, const TensorView& tensor) override {
    const std::int64_t count = num_elements({tensor.shape.begin(), tensor.shape.end()}).value();
    tensors[to_string(point)].assign(tensor.data, tensor.data + count);
  }
};

// The paths of the cases in folder.
std::vector<std::string> cases(const std::string& folder = kFolder) {
  std::vector<std::string> out = test::case_names(folder);
  for (std::string& name : out) name = folder + name;
  return out;
}

Result<Transformer> load(const std::string& name, const Kernels& kernels, WeightType type = WeightType::kF32) {
  return test::load_transformer(golden(name + "/"), kernels, type);
}

// The goldens' names of taps.
std::map<std::string, std::vector<float>> named_as_torch(const Transformer& encoder, const Batch& batch,
                                                         const std::vector<float>& hidden, Seen& seen) {
  std::map<std::string, std::vector<float>> out;
  const std::int64_t layers = encoder.config().num_hidden_layers;
  out["hidden_states.0"] = seen.tensors["embeddings.output"];
  for (std::int64_t i = 0; i < layers; ++i) {
    const std::string at = "layer." + std::to_string(i) + ".";
    out["hidden_states." + std::to_string(i + 1)] = i + 1 < layers ? seen.tensors[at + "output"] : hidden;
    out["attentions." + std::to_string(i)] = seen.tensors[at + "attention.probs"];
  }
  if (encoder.has_pooler()) {
    auto& pooled = out["pooler_output"];
    pooled.resize(static_cast<std::size_t>(batch.batch() * encoder.config().hidden_size));
    encoder.pooler(batch, hidden.data(), pooled.data());
  }
  return out;
}

void add_input(JsonRef input, const Transformer& encoder, Batch& batch) {
  std::vector<std::int32_t> types = to_ids(input["token_type_ids"]);
  if (encoder.config().type_vocab_size == 1) std::fill(types.begin(), types.end(), 0);
  batch.add_sequence(to_ids(input["input_ids"]), types);
}

// The factor is bert_test.cpp's.
void expect_torchs_tensors(const std::string& name, const Kernels& kernels) {
  SCOPED_TRACE(name + ", " + kernels.name);
  const auto encoder = load(name, kernels);
  ASSERT_TRUE(encoder.ok()) << encoder.error().message;
  const Json expected = read_json(name + "/expected.json");
  const std::vector<float> all = read_floats(golden(name + "/expected.f32"));
  const JsonRef inputs = expected.root()["inputs"];
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    Batch batch;
    add_input(inputs[i], encoder.value(), batch);
    ASSERT_TRUE(encoder.value().check(batch).ok());
    Seen seen;
    ThreadTeam alone;
    const std::vector<float> hidden = run(encoder.value(), alone, batch, &seen);
    const auto got = named_as_torch(encoder.value(), batch, hidden, seen);
    const JsonRef tensors = inputs[i]["tensors"];
    if (name.starts_with(kFolder)) {
      EXPECT_EQ(got.size(), tensors.size());
    }
    for (const auto& [tensor, about] : tensors.members()) {
      const auto at = got.find(std::string(tensor));
      ASSERT_NE(at, got.end()) << tensor;
      test::expect_near(at->second, about, all, test::bound_of_case(inputs, tensor),
                        "input " + std::to_string(i) + ", " + std::string(tensor));
    }
  }
}

TEST(Architectures, EveryTensorMatchesTorch) {
  for (const std::string& folder : {kFolder, kLong, kEuroBert, kHub, kVariants}) {
    for (const std::string& name : cases(folder)) {
      for (const Kernels* kernels : kernel_variants()) expect_torchs_tensors(name, *kernels);
    }
  }
}

// The goldens' second input between shorter ones.
Batch ragged_batch(const TransformerConfig& config, std::vector<Batch>& alone) {
  Batch together;
  for (const std::size_t size : {std::size_t{31}, std::size_t{1}, std::size_t{12}, std::size_t{40}}) {
    std::vector<std::int32_t> ids(size);
    for (std::size_t i = 0; i < size; ++i) ids[i] = static_cast<std::int32_t>((i * i + 5 * i + size) % 60);
    if (static_cast<std::int64_t>(size) > config.max_position_embeddings) ids.resize(config.max_position_embeddings);
    const std::vector<std::int32_t> types(ids.size(), 0);
    alone.emplace_back().add_sequence(ids, types);
    together.add_sequence(ids, types);
  }
  return together;
}

constexpr WeightType kWeightTypes[] = {WeightType::kF32, WeightType::kF16, WeightType::kQ16, WeightType::kQ8, WeightType::kQ4};

TEST(Architectures, ASequenceHasTheSameBitsAloneAndInABatch) {
  ThreadTeam team;
  std::vector<std::string> names = cases();
  for (const char* more : {"hub_layouts/nomic-moe", "variants/encoders/deberta-v3-conv", "variants/encoders/albert-groups",
                           "variants/encoders/mobilebert", "variants/encoders/mobilebert-layer-norm", "variants/encoders/convbert",
                           "variants/encoders/convbert-groups"})
    names.emplace_back(more);
  for (const std::string& name : names) {
    for (const WeightType type : kWeightTypes) {
      const Transformer encoder = std::move(load(name, exact_kernels(), type)).value();
      std::vector<Batch> alone;
      const Batch together = ragged_batch(encoder.config(), alone);
      ASSERT_TRUE(encoder.check(together).ok());
      const std::vector<float> all = run(encoder, team, together);
      for (std::size_t i = 0; i < alone.size(); ++i) {
        const std::vector<float> one = run(encoder, team, alone[i]);
        const float* in_batch = all.data() + together.seq_start[i] * encoder.config().hidden_size;
        EXPECT_EQ(std::memcmp(one.data(), in_batch, one.size() * sizeof(float)), 0)
            << name << ", type " << static_cast<int>(type) << ", sequence " << i;
      }
    }
  }
}

// Lengths around one query block and past two. Attention is computed in f32 for every weight type.
TEST(Architectures, LongAndShortSequencesHaveTheSameBitsAloneAndInABatch) {
  ThreadTeam team;
  for (const std::string& name : cases(kLong)) {
    const Json expected = read_json(name + "/expected.json");
    const JsonRef inputs = expected.root()["inputs"];
    const Transformer encoder = std::move(load(name, exact_kernels())).value();
    Batch together;
    for (std::size_t i = 0; i < inputs.size(); ++i) add_input(inputs[i], encoder, together);
    const std::vector<float> all = run(encoder, team, together);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      Batch alone;
      add_input(inputs[i], encoder, alone);
      const std::vector<float> one = run(encoder, team, alone);
      const float* in_batch = all.data() + together.seq_start[i] * encoder.config().hidden_size;
      EXPECT_EQ(std::memcmp(one.data(), in_batch, one.size() * sizeof(float)), 0) << name << ", " << alone.tokens() << " tokens";
    }
  }
}

// As Embed.HasTheSameBitsInEveryBuild: one number for native and wasm, with SIMD and without. FNV-1a over all hidden states.
TEST(Architectures, HaveTheSameBitsInEveryBuild) {
  std::uint64_t hash = 0xCBF29CE484222325u;
  ThreadTeam team;
  for (const std::string& name : cases()) {
    for (const WeightType type : {WeightType::kF32, WeightType::kQ16, WeightType::kQ8, WeightType::kQ4}) {
      const Transformer encoder = std::move(load(name, exact_kernels(), type)).value();
      std::vector<Batch> alone;
      const std::vector<float> hidden = run(encoder, team, ragged_batch(encoder.config(), alone));
      const auto* bytes = reinterpret_cast<const unsigned char*>(hidden.data());
      for (std::size_t i = 0; i < hidden.size() * sizeof(float); ++i) hash = (hash ^ bytes[i]) * 0x100000001B3u;
    }
  }
  EXPECT_EQ(hash, 0xed4086a24846861du);
}

// A product's operands are rounded to steps of 1/127 of their group's largest (q8), 1/8191 and 1/16383 (q16). That is 2^-7 /
// sqrt(12) = 0.0023 and 0.00004 of the largest, some 0.007 and 0.0001 of a typical value. Each layer adds four such products one
// behind the other to values that it hands on, and these models' sharp attentions multiply a change by as much again: 0.007 *
// sqrt(12) * 4 = 0.1.
TEST(Architectures, QuantisedWeightsStayNearF32) {
  ThreadTeam team;
  for (const std::string& name : cases()) {
    std::vector<Batch> alone;
    const Transformer exact = std::move(load(name, exact_kernels())).value();
    const Batch batch = ragged_batch(exact.config(), alone);
    const std::vector<float> f32 = run(exact, team, batch);
    const double q16 = test::relative_error(run(load(name, exact_kernels(), WeightType::kQ16).value(), team, batch), f32);
    const double q8 = test::relative_error(run(load(name, exact_kernels(), WeightType::kQ8).value(), team, batch), f32);
    EXPECT_LE(q16, 0.0015) << name;
    EXPECT_LE(q8, 0.1) << name;
    EXPECT_GT(q8, q16) << name;
  }
}

}  // namespace
}  // namespace wattn
