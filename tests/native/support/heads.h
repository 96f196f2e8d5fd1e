// The cases of tests/goldens/heads/heads.json: a head of each family of architectures with its weights.
#pragma once

#include <gtest/gtest.h>

#include <string_view>
#include <utility>
#include <vector>

#include "models/arch.h"
#include "models/heads.h"
#include "native/support/goldens.h"

namespace wattn::test {

inline HeadKind head_kind(std::string_view name) {
  if (name == "sequence") return HeadKind::kSequence;
  if (name == "token") return HeadKind::kToken;
  return name == "answer" ? HeadKind::kAnswer : HeadKind::kMaskedLm;
}

struct Words {
  Arena memory;
  EmbeddingTable table;
};

inline Words make_words(JsonRef json, WeightType type) {
  Words words;
  if (json.is_null()) return words;
  const std::int64_t rows = json["shape"][std::size_t{0}].as_int().value();
  const std::int64_t hidden = json["shape"][1].as_int().value();
  words.memory = std::move(Arena::with_zeros(1 << 16, "words")).value();
  words.table = take_embedding(words.memory, type, rows, hidden);
  const std::vector<float> values = to_floats(json["values"]);
  for (std::int64_t i = 0; i < rows; ++i) set_row(words.table, i, values.data() + i * hidden);
  return words;
}

// Fills the head's targets, which must use every tensor. values_of(tensor): its numbers.
template <class ValuesOf>
void fill(const Head& head, JsonRef tensors, const ValuesOf& values_of) {
  std::size_t filled = 0;
  for (const WeightTarget& target : head.weight_targets("words")) {
    const JsonRef tensor = tensors[target.name];
    if (!target.required && !tensor.exists()) continue;  // would repeat a tensor
    ASSERT_TRUE(tensor.exists()) << target.name;
    const std::vector<float> values = values_of(tensor);
    const auto width = static_cast<std::size_t>(target.shape.back());
    ASSERT_EQ(values.size(), width * static_cast<std::size_t>(target.shape.size() == 1 ? 1 : target.shape[0])) << target.name;
    for (std::size_t row = 0; row * width < values.size(); ++row) {
      target.write_row(static_cast<std::int64_t>(row), values.data() + row * width);
    }
    ++filled;
  }
  EXPECT_EQ(filled, tensors.size());
}

struct HeadCase {
  static constexpr std::int64_t kHidden = 8;
  HeadKind kind;
  Words words;
  Head head;
  std::vector<float> rows;  // [tokens, kHidden] of one sequence

  HeadCase(JsonRef one, const Kernels& kernels, WeightType type = WeightType::kF32)
      : kind(head_kind(one["kind"].as_string().value())),
        words(make_words(one["words"], type)),
        head(make(one, kernels)),
        rows(to_floats(one["rows"])) {
    fill(head, one["tensors"], [](JsonRef tensor) { return to_floats(tensor["values"]); });
  }
  HeadInput input() const { return kind == HeadKind::kSequence ? head.input() : HeadInput::kEach; }
  bool averages() const { return kind == HeadKind::kSequence && input() == HeadInput::kEach; }
  Batch batch() const {
    Batch batch;
    const std::vector<std::int32_t> ids(rows.size() / kHidden);
    batch.add_sequence(ids, ids);
    return batch;
  }

 private:
  Head make(JsonRef one, const Kernels& kernels) const {
    const auto layers = Head::find_layers(kind, find_arch(one["config"]).value()->heads, one["config"]);
    EXPECT_TRUE(layers.ok()) << layers.error().message;
    return std::move(Head::with_layers(layers.value(),
                                       {.hidden = kHidden,
                                        .width = words.table.hidden > 0 ? words.table.hidden : kHidden,
                                        .labels = one["labels"].as_int().value(),
                                        .norm_eps = static_cast<float>(one["norm_eps"].as_number().value())},
                                       kernels))
        .value();
  }
};

}  // namespace wattn::test
