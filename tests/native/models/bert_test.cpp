// The tiny random BERT of tests/goldens/bert-tiny against torch, tensor by tensor in the order of the computation, so
// that the first wrong one is named.
#include <gtest/gtest.h>

#include <cmath>
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

struct Seen : Taps {
  std::map<std::string, std::vector<float>> tensors;
  void on_tensor(const TapPoint& point, const TensorView& tensor) override {
    std::int64_t count = 1;
    for (const std::int64_t dim : tensor.shape) count *= dim;
    tensors[to_string(point)].assign(tensor.data, tensor.data + count);
  }
};

Transformer load_tiny_bert(const Kernels& kernels, WeightType type = WeightType::kF32) {
  return std::move(test::load_transformer(golden("bert-tiny/model/"), kernels, type)).value();
}

std::vector<std::int32_t> to_ints(JsonRef array) {
  std::vector<std::int32_t> out;
  for (std::size_t i = 0; i < array.size(); ++i) out.push_back(static_cast<std::int32_t>(array[i].as_int().value()));
  return out;
}

// The goldens are exact answers rounded once; f32_diff is how far torch's own f32 run is from them. Ours sums in another
// order: its error is of the same kind, larger by at most sqrt(K / lanes) = sqrt(64 / 8) < 3 where torch sums in blocks.
// 4 covers that and torch's luck; one unit in the last place of the largest element is the floor.
float bound(JsonRef tap) {
  const double torch = tap["f32_diff"].as_number().value();
  const double last_place = tap["max_abs"].as_number().value() * 0x1p-23;
  return static_cast<float>(4 * std::max(torch, last_place));
}

void expect_close(const std::string& name, JsonRef tap, const std::vector<float>& all, const std::vector<float>& got) {
  const std::size_t offset = static_cast<std::size_t>(tap["offset"].as_int().value());
  std::size_t count = 1;
  for (std::size_t i = 0; i < tap["shape"].size(); ++i) count *= static_cast<std::size_t>(tap["shape"][i].as_int().value());
  ASSERT_EQ(got.size(), count) << name;
  float worst = 0;
  for (std::size_t i = 0; i < count; ++i) worst = std::max(worst, std::abs(got[i] - all[offset + i]));
  ASSERT_LE(worst, bound(tap)) << name << " is the first tensor that is wrong";
}

TEST(TinyBert, EveryTensorMatchesTorch) {
  const auto taps_json = Json::parse(read_file(golden("bert-tiny/taps.json")), "taps.json");
  const Json& taps = taps_json.value();
  for (const Kernels* kernels : kernel_variants()) {
    const Transformer encoder = load_tiny_bert(*kernels);
    ThreadTeam alone;
    for (std::size_t i = 0; i < taps.root()["inputs"].size(); ++i) {
      const JsonRef input = taps.root()["inputs"][i];
      SCOPED_TRACE(std::string(kernels->name) + ", input " + std::string(input["name"].as_string().value()));
      Batch batch;
      batch.add_sequence(to_ints(input["input_ids"]), to_ints(input["token_type_ids"]));
      ASSERT_TRUE(encoder.check(batch).ok());
      Seen seen;
      const std::vector<float> hidden = run(encoder, alone, batch, &seen);
      seen.tensors["pooler_output"].resize(static_cast<std::size_t>(encoder.config().hidden_size));
      encoder.pooler(batch, hidden.data(), seen.tensors["pooler_output"].data());

      const std::vector<float> expected = read_floats(golden("bert-tiny/" + std::string(input["file"].as_string().value())));
      for (std::size_t t = 0; t < taps.root()["tap_order"].size(); ++t) {
        const std::string name(taps.root()["tap_order"][t].as_string().value());
        expect_close(name, input["taps"][name], expected, seen.tensors[name]);
      }
    }
  }
}

const std::vector<std::vector<std::int32_t>> kSequences = {
    {2, 96, 3}, {2, 275, 305, 335, 97, 222, 26, 33, 3}, {2, 3}, {2, 158, 270, 306, 71, 3, 9, 8, 7, 6, 5, 3}};

Batch batch_of(std::span<const std::vector<std::int32_t>> sequences) {
  Batch batch;
  for (const auto& ids : sequences) batch.add_sequence(ids, std::vector<std::int32_t>(ids.size(), 0));
  return batch;
}

constexpr WeightType kWeightTypes[] = {WeightType::kF32, WeightType::kF16, WeightType::kQ16, WeightType::kQ8, WeightType::kQ4};

TEST(TinyBert, ASequenceHasTheSameBitsAloneAndInABatch) {
  ThreadTeam alone;
  for (const WeightType type : kWeightTypes) {
    const Transformer encoder = load_tiny_bert(exact_kernels(), type);
    const Batch together = batch_of(kSequences);
    const std::vector<float> all = run(encoder, alone, together);
    for (std::size_t i = 0; i < kSequences.size(); ++i) {
      const std::vector<float> one = run(encoder, alone, batch_of({&kSequences[i], 1}));
      const float* in_batch = all.data() + together.seq_start[i] * encoder.config().hidden_size;
      EXPECT_EQ(std::memcmp(one.data(), in_batch, one.size() * sizeof(float)), 0) << static_cast<int>(type) << ", sequence " << i;
    }
  }
}

#ifndef __EMSCRIPTEN__  // wasm: the host creates the threads (tests/web/threads.test.ts)
TEST(TinyBert, ThreadsChangeNoBit) {
  std::vector<std::vector<std::int32_t>> many;  // enough tokens to split every op
  for (int i = 0; i < 12; ++i) many.insert(many.end(), kSequences.begin(), kSequences.end());
  const Batch batch = batch_of(many);
  for (const WeightType type : kWeightTypes) {
    const Transformer encoder = load_tiny_bert(exact_kernels(), type);
    ThreadTeam alone;
    const std::vector<float> expected = run(encoder, alone, batch);
    for (const int helpers : {1, 3}) {
      ThreadTeam team;
      std::vector<std::thread> threads;
      for (int i = 1; i <= helpers; ++i) threads.emplace_back([&team, i] { team.serve(i); });
      team.set_helpers(helpers);
      for (int round = 0; round < 5; ++round) EXPECT_EQ(run(encoder, team, batch), expected) << helpers << " helpers";
      team.stop();
      for (std::thread& thread : threads) thread.join();
    }
  }
}
#endif

TEST(TinyBert, IdsOutsideTheTablesAreRejectedByName) {
  const Transformer encoder = load_tiny_bert(exact_kernels());
  Batch batch;
  batch.add_sequence(std::vector<std::int32_t>{2, 100000, 3}, std::vector<std::int32_t>{0, 0, 0});
  const auto checked = encoder.check(batch);
  ASSERT_FALSE(checked.ok());
  EXPECT_EQ(checked.error().code, ErrorCode::kInput);
  EXPECT_NE(checked.error().message.find("found 100000 at token 1"), std::string::npos) << checked.error().message;
}

}  // namespace
}  // namespace wattn
