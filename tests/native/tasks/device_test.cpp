// What a device is given: weights that have the processor's values in each form, and steps of a generation whose logits it gives.
#include "tasks/device.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <utility>

#include "native/support/generation.h"
#include "ops/embedding.h"

namespace wattn {
namespace {

using test::golden;
using test::load_model;

// The parts of a weight as a kernel reads them.
struct Parts {
  explicit Parts(const DeviceWeight& weight) : weight_(weight) {}

  template <class T>
  T at(const char* name, std::int64_t i) const {
    for (const DeviceWeight::Part& part : weight_.parts) {
      if (std::strcmp(part.name, name) != 0) continue;
      EXPECT_GE(i, 0);
      EXPECT_LT(i * static_cast<std::int64_t>(sizeof(T)), part.bytes) << name;
      return static_cast<const T*>(part.at)[i];
    }
    ADD_FAILURE() << "no part " << name;
    return {};
  }
  bool has(const char* name) const {
    return std::ranges::any_of(weight_.parts, [&](const auto& part) { return std::strcmp(part.name, name) == 0; });
  }

  // A number of row j in f32, or in f16 or bf16 with a scale for each row (kernels/half.h).
  float number(const char* name, std::int64_t i, std::int64_t j) const {
    if (weight_.type == WeightType::kF32) return at<float>(name, i);
    const float scale = at<float>("scale", j);
    const auto bits = static_cast<std::uint32_t>(at<std::int16_t>(name, i));
    return std::bit_cast<float>(scale == 1 ? bits << 16 : (bits << 13) & 0x8FFFFFFFU) * scale;
  }
  // The whole number of row j and column k of a matrix in q8 or q4 (the kernels' `weights`), in groups of 64 along k.
  int whole(std::int64_t j, std::int64_t k, std::int64_t groups) const {
    const std::int64_t panel = j / 8, column = j % 8;
    if (weight_.type == WeightType::kQ8) return at<std::int8_t>("weight", ((panel * groups * 16 + k / 4) * 8 + column) * 4 + k % 4);
    const std::int64_t part = panel * groups * 4 + k / 16;
    const int code = at<std::uint8_t>("weight", (part * 4 + column % 4) * 16 + k % 16) >> (column < 4 ? 0 : 4) & 15;
    return at<std::int8_t>("book", at<std::uint8_t>("book", 4096 + part * 8 + column) * 16 + code);
  }

 private:
  const DeviceWeight& weight_;
};

void expect_matrix(const DeviceWeight& weight, const LinearWeights& held) {
  const Parts parts(weight);
  const std::int64_t groups = (held.in + 63) / 64;
  ASSERT_EQ(weight.type, held.type);
  ASSERT_EQ(weight.shape, (std::vector{static_cast<std::int32_t>(held.out), static_cast<std::int32_t>(held.in)}));
  std::vector<float> row(static_cast<std::size_t>(held.in));
  for (std::int64_t j = 0; j < held.out; ++j) {
    get_weight_row(held, j, row.data());
    int sum = 0;
    for (std::int64_t k = 0; k < held.in; ++k) {
      const float right = row[static_cast<std::size_t>(k)];
      if (held.type == WeightType::kF32 || held.type == WeightType::kF16) {
        ASSERT_EQ(parts.number("weight", (j / 8 * held.in + k) * 8 + j % 8, j), right) << j << ", " << k;
        continue;
      }
      const std::int64_t group = (j / 8 * groups + k / 64) * 8 + j % 8;
      const int whole = parts.whole(j, k, groups);
      ASSERT_EQ(static_cast<float>(whole) * parts.at<float>("scale", group), right) << j << ", " << k;
      sum += whole;
      if (k % 64 != 63 && k + 1 < held.in) continue;
      ASSERT_EQ(parts.at<std::int32_t>("sum", group), sum) << j << ", " << k;
      sum = 0;
    }
    if (held.bias) EXPECT_EQ(parts.at<float>("bias", j), held.bias[j]);
  }
  EXPECT_EQ(parts.has("bias"), held.bias != nullptr);
}

// The rows that a device gathers for some ids, as the processor has them. table: a matrix of a head, if that holds the words.
void expect_rows(const DeviceWeight& weight, bool table, const std::vector<float>& right, const std::vector<std::int32_t>& ids) {
  const Parts parts(weight);
  const std::int64_t width = weight.shape[1], groups = (width + 63) / 64;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    for (std::int64_t k = 0; k < width; ++k) {
      const std::int64_t j = ids[i];
      float value = 0;
      if (weight.type == WeightType::kF32 || weight.type == WeightType::kF16) {
        value = table ? parts.number("table", j * width + k, j) : parts.number("weight", (j / 8 * width + k) * 8 + j % 8, j);
      } else if (table) {
        value = static_cast<float>(parts.at<std::int8_t>("table", j * width + k)) * parts.at<float>("scale", j);
      } else {
        value = static_cast<float>(parts.whole(j, k, groups)) * parts.at<float>("scale", (j / 8 * groups + k / 64) * 8 + j % 8);
      }
      ASSERT_EQ(value, right[i * static_cast<std::size_t>(width) + static_cast<std::size_t>(k)]) << j << ", " << k;
    }
  }
}

struct Case {
  const char* folder;
  HeadKind head;
};
constexpr Case kCases[] = {{"bert-tiny/model", HeadKind::kNone},
                           {"architectures/roberta", HeadKind::kNone},
                           {"decoders/llama", HeadKind::kCausalLm},
                           {"decoders/gemma", HeadKind::kCausalLm}};  // words that the head has

TEST(Device, IsGivenTheWeightsThatTheProcessorMultipliesAndTheRowsThatItGathers) {
  std::vector<int> seen(5);  // WeightType
  for (const auto& [folder, head] : kCases) {
    for (const WeightType dtype : {WeightType::kF32, WeightType::kF16, WeightType::kQ8, WeightType::kQ4}) {
      SCOPED_TRACE(std::string(folder) + ", dtype " + std::to_string(static_cast<int>(dtype)));
      const auto model = test::load_with_words(golden(folder), {.dtype = dtype, .head = head});
      ASSERT_TRUE(model);
      const Plan& plan = model->transformer().plan();
      const auto check = [&](const SectionUse& use) {
        if (use.section < 0) return;
        const Section& section = plan.sections[static_cast<std::size_t>(use.section)];
        for (std::int32_t i = section.first_step; i < section.first_step + section.num_steps; ++i) {
          const Step& step = plan.steps[static_cast<std::size_t>(i)];
          if (step.op != Op::kLinear && step.op != Op::kWords && step.op != Op::kAddRows) continue;
          const std::int64_t number = use.first_weight + step.weight;
          const auto weight = device_weight(*model, i, number);
          ASSERT_TRUE(weight.ok()) << weight.error().message;
          const void* at = plan.weights[static_cast<std::size_t>(number)].at;
          ++seen[static_cast<std::size_t>(weight.value().type)];
          if (step.op == Op::kLinear) {
            expect_matrix(weight.value(), *static_cast<const LinearWeights*>(at));
            continue;
          }
          const std::vector<std::int32_t> ids{3, 0, 1, 3};
          std::vector<float> rows(ids.size() * static_cast<std::size_t>(weight.value().shape[1]));
          const bool words = step.op == Op::kWords;
          if (words) word_rows(*static_cast<const WordTable*>(at), ids, weight.value().shape[1], rows.data());
          if (!words && weight.value().shape[0] < 4) continue;
          if (!words) add_embedding_rows(*static_cast<const EmbeddingTable*>(at), ids, rows.data());
          expect_rows(weight.value(), !words || !static_cast<const WordTable*>(at)->head, rows, ids);
        }
      };
      check(plan.embeddings);
      for (const Layer& layer : plan.layers) check(layer.steps);
      check(plan.head);
    }
  }
  for (const WeightType type : {WeightType::kF32, WeightType::kF16, WeightType::kQ8, WeightType::kQ4}) {
    EXPECT_GT(seen[static_cast<std::size_t>(type)], 0);
  }
}

TEST(Device, RefusesAMatrixInAFormThatItDoesNotRead) {
  const auto model = load_model(golden("bert-tiny/model"), {.dtype = WeightType::kQ16});
  ASSERT_TRUE(model.ok());
  const Plan& plan = model.value()->transformer().plan();
  const auto step = std::ranges::find(plan.steps, Op::kLinear, &Step::op);
  const std::int64_t number = plan.layers[0].steps.first_weight + step->weight;
  const auto weight = device_weight(*model.value(), step - plan.steps.begin(), number);
  ASSERT_FALSE(weight.ok());
  EXPECT_EQ(weight.error().message, "a matrix in q16: the GPU supports f32, f16, q8 and q4");
}

// A device: the same model, with slots of its own.
class Elsewhere {
 public:
  explicit Elsewhere(Model& model) : model_(model) {}

  std::vector<float> logits(Generation& generation) {
    Slots& slots = model_.slots();
    if (!std::exchange(is_open_, true)) EXPECT_TRUE(slots.reserve(generation.capacity()).ok());
    const std::vector<std::int32_t> copies = generation.take_copies();
    for (std::size_t i = 0; i < copies.size(); i += 3) {
      slots.copy(copies[i], copies[i + 1], copies[i + 2]);
      auto from = read_[copies[i]];
      from.resize(static_cast<std::size_t>(copies[i + 2]));
      read_[copies[i + 1]] = from;
    }
    const Batch& batch = generation.batch();
    for (std::size_t i = 0; i < batch.slots.size(); ++i) {
      for (std::int32_t t = batch.seq_start[i]; t < batch.seq_start[i + 1]; ++t) {
        auto& own = read_[batch.slots[i]];
        own.resize(static_cast<std::size_t>(batch.position_ids[static_cast<std::size_t>(t)]));
        own.push_back(batch.input_ids[static_cast<std::size_t>(t)]);
      }
    }
    const auto hidden = slots.run(batch, nullptr);
    EXPECT_TRUE(hidden.ok()) << hidden.error().message;
    if (!hidden.ok() || generation.wanted().empty()) return {};
    const float* made = slots.logits(hidden.value(), generation.wanted());
    return {made, made + generation.wanted().size() * static_cast<std::size_t>(model_.generator().config().vocab_size)};
  }
  const std::map<std::int32_t, std::vector<std::int32_t>>& read() const { return read_; }

 private:
  Model& model_;
  bool is_open_ = false;
  std::map<std::int32_t, std::vector<std::int32_t>> read_;  // the tokens of each slot
};

struct Outcome {
  std::vector<std::vector<std::int32_t>> tokens;
  std::vector<float> scores;
  bool operator==(const Outcome&) const = default;
};
Outcome outcome_of(const std::vector<std::vector<Generated>>& results) {
  Outcome out;
  for (const auto& prompt : results) {
    for (const Generated& one : prompt) {
      out.tokens.push_back(one.tokens);
      out.scores.push_back(one.score);
    }
  }
  return out;
}

TEST(Device, GivesLogitsOfAGenerationWhoseSlotsAreReservedHereOnlyWhenItFails) {
  const std::vector<test::Ids> prompts{{1, 7, 19, 4, 4, 2, 9, 11, 3}, {5, 6}};
  for (const std::int64_t beams : {1, 3}) {
    SCOPED_TRACE(beams);
    GenerateRequest request{.max_new_tokens = 12};
    request.options.num_beams = beams;
    request.options.num_return_sequences = beams;
    const LoadOptions options{.head = HeadKind::kCausalLm};
    const auto plain = load_model(golden("decoders/llama"), options);
    ASSERT_TRUE(plain.ok());
    const Outcome right = outcome_of(test::generate(*plain.value(), prompts, request));
    request.defers = true;
    EXPECT_EQ(outcome_of(test::generate(*plain.value(), prompts, request)), right) << "deferred, and kept prefixes";
    for (const int fails_at : {0, 1, 2, 5, 1000}) {  // steps of the device
      SCOPED_TRACE(fails_at);
      const auto here = load_model(golden("decoders/llama"), options), there = load_model(golden("decoders/llama"), options);
      ASSERT_TRUE(here.ok() && there.ok());
      Elsewhere device(*there.value());
      ASSERT_TRUE(test::forward_ids(*here.value(), {1, 2, 3}).ok());  // as a device's proof has it
      EXPECT_GT(here.value()->slots().reserved(), 0U);
      auto begun = Generation::begin(*here.value(), prompts, request);
      ASSERT_TRUE(begun.ok());
      Generation& generation = *begun.value();
      int steps = 0;
      while (steps < fails_at && generation.gather()) {
        EXPECT_EQ(here.value()->slots().reserved(), 0U);
        const auto more = generation.finish(device.logits(generation));
        ASSERT_TRUE(more.ok()) << more.error().message;
        ++steps;
        if (!more.value()) break;
      }
      if (steps == fails_at) {
        if (fails_at > 0) ASSERT_TRUE(generation.gather());
        Elsewhere& lost = device;
        const std::vector<std::int32_t> copies = generation.take_copies();
        auto read = lost.read();
        for (std::size_t i = 0; i < copies.size(); i += 3) {
          auto from = read[copies[i]];
          from.resize(static_cast<std::size_t>(copies[i + 2]));
          read[copies[i + 1]] = from;
        }
        for (const auto& [slot, tokens] : read) ASSERT_TRUE(generation.read_here(slot, 0, tokens).ok());
        for (bool more = true; more;) {
          const auto stepped = generation.step();
          ASSERT_TRUE(stepped.ok()) << stepped.error().message;
          more = stepped.value();
        }
        EXPECT_GT(here.value()->slots().reserved(), 0U);
      } else {
        EXPECT_EQ(here.value()->slots().reserved(), 0U);
      }
      EXPECT_EQ(outcome_of(generation.results()), right);
    }
  }
}

}  // namespace
}  // namespace wattn
