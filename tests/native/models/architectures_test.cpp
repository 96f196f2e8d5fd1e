// A tiny random model of every architecture against torch: hidden states, attentions, pooled vectors.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

#include "core/json.h"
#include "native/support/files.h"
#include "native/support/transformers.h"

namespace wattn {
namespace {

using test::golden;
using test::read_file;
using test::read_floats;
using test::run;

const std::string kFolder = "architectures/";

struct Seen : Taps {
  std::map<std::string, std::vector<float>> tensors;
  void on_tensor(const TapPoint& point, const TensorView& tensor) override {
    const std::int64_t count = num_elements({tensor.shape.begin(), tensor.shape.end()}).value();
    tensors[to_string(point)].assign(tensor.data, tensor.data + count);
  }
};

Json read_json(const std::string& path) { return std::move(Json::parse(read_file(golden(path)), path)).value(); }

std::vector<std::string> cases() {
  const Json list = read_json(kFolder + "cases.json");
  std::vector<std::string> out;
  for (std::size_t i = 0; i < list.root().size(); ++i) out.emplace_back(list.root()[i].as_string().value());
  return out;
}

Result<Transformer> load(const std::string& name, const Kernels& kernels, WeightType type = WeightType::kF32) {
  return test::load_transformer(golden(kFolder + name + "/"), kernels, type);
}

std::vector<std::int32_t> to_ints(JsonRef array) {
  std::vector<std::int32_t> out;
  for (std::size_t i = 0; i < array.size(); ++i) out.push_back(static_cast<std::int32_t>(array[i].as_int().value()));
  return out;
}

// What the goldens call the taps.
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

double worst_difference(JsonRef tensor, const std::vector<float>& all, const std::vector<float>& got) {
  const auto offset = static_cast<std::size_t>(tensor["offset"].as_int().value());
  double worst = 0;
  for (std::size_t i = 0; i < got.size(); ++i) worst = std::max<double>(worst, std::abs(got[i] - all[offset + i]));
  return worst;
}

// The factor is bert_test.cpp's. f32_diff is one draw of the rounding; the worst of a case's tensors of a kind stands for all.
double bound(JsonRef inputs, const std::string& name) {
  const std::string kind = name.substr(0, name.find('.'));
  double torch = 0;
  double largest = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    for (const auto& [other, tensor] : inputs[i]["tensors"].members()) {
      if (!other.starts_with(kind)) continue;
      torch = std::max(torch, tensor["f32_diff"].as_number().value());
      largest = std::max(largest, tensor["max_abs"].as_number().value());
    }
  }
  return 4 * std::max(torch, largest * 0x1p-23);
}

TEST(Architectures, EveryTensorIsTorchs) {
  for (const std::string& name : cases()) {
    const Json expected = read_json(kFolder + name + "/expected.json");
    const std::vector<float> all = read_floats(golden(kFolder + name + "/expected.f32"));
    for (const Kernels* kernels : kernel_variants()) {
      SCOPED_TRACE(name + ", " + kernels->name);
      const auto encoder = load(name, *kernels);
      ASSERT_TRUE(encoder.ok()) << encoder.error().message;
      for (std::size_t i = 0; i < expected.root()["inputs"].size(); ++i) {
        const JsonRef input = expected.root()["inputs"][i];
        Batch batch;
        batch.add_sequence(to_ints(input["input_ids"]), to_ints(input["token_type_ids"]));
        if (encoder.value().config().type_vocab_size == 1) std::fill(batch.token_type_ids.begin(), batch.token_type_ids.end(), 0);
        ASSERT_TRUE(encoder.value().check(batch).ok());
        Seen seen;
        ThreadTeam alone;
        const std::vector<float> hidden = run(encoder.value(), alone, batch, &seen);
        const auto got = named_as_torch(encoder.value(), batch, hidden, seen);
        const JsonRef tensors = input["tensors"];
        EXPECT_EQ(got.size(), tensors.size());
        for (const auto& [tensor, about] : tensors.members()) {
          const auto at = got.find(std::string(tensor));
          ASSERT_NE(at, got.end()) << tensor;
          std::size_t count = 1;
          for (std::size_t d = 0; d < about["shape"].size(); ++d)
            count *= static_cast<std::size_t>(about["shape"][d].as_int().value());
          ASSERT_EQ(at->second.size(), count) << tensor;
          EXPECT_LE(worst_difference(about, all, at->second), bound(expected.root()["inputs"], std::string(tensor)))
              << "input " << i << ", " << tensor;
        }
      }
    }
  }
}

// As the goldens' second input, and shorter ones around it.
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

constexpr WeightType kWeightTypes[] = {WeightType::kF32, WeightType::kQ16, WeightType::kQ8, WeightType::kQ4};

TEST(Architectures, ASequenceInABatchHasTheBitsItHasAlone) {
  ThreadTeam team;
  for (const std::string& name : cases()) {
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
  EXPECT_EQ(hash, 0xd0d5c2fff7d4b596u);
}

// Root mean square of the difference to f32, against that of f32's own values.
double relative_error(const std::vector<float>& got, const std::vector<float>& exact) {
  double difference = 0;
  double size = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    difference += (got[i] - exact[i]) * (got[i] - exact[i]);
    size += exact[i] * exact[i];
  }
  return std::sqrt(difference / size);
}

// A product's operands are rounded to steps of 1/127 of their group's largest (q8), 1/8191 and 1/16383 (q16): 2^-7 / sqrt(12) =
// 0.0023 and 0.00004 of the largest, some 0.007 and 0.0001 of a typical value. Each layer adds four such products one behind the
// other to values that it hands on, and these models' sharp attentions multiply a change by as much again: 0.007 * sqrt(12) * 4 =
// 0.1.
TEST(Architectures, WholeNumbersStayNearF32) {
  ThreadTeam team;
  for (const std::string& name : cases()) {
    std::vector<Batch> alone;
    const Transformer exact = std::move(load(name, exact_kernels())).value();
    const Batch batch = ragged_batch(exact.config(), alone);
    const std::vector<float> f32 = run(exact, team, batch);
    const double q16 = relative_error(run(load(name, exact_kernels(), WeightType::kQ16).value(), team, batch), f32);
    const double q8 = relative_error(run(load(name, exact_kernels(), WeightType::kQ8).value(), team, batch), f32);
    EXPECT_LE(q16, 0.0015) << name;
    EXPECT_LE(q8, 0.1) << name;
    EXPECT_GT(q8, q16) << name;
  }
}

}  // namespace
}  // namespace wattn
