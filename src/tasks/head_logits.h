// The logits of a model's head over one batch.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/model.h"

namespace wattn {

// What the model's head reads. only_id: of heads over tokens.
inline HeadReading head_reading(const Model& model, std::optional<std::int32_t> only_id = {}) {
  const bool is_sequence = model.head_kind() == HeadKind::kSequence;
  return {is_sequence ? model.head()->input() : HeadInput::kEach, model.special_ids().pad, only_id};
}

struct HeadLogits {
  std::vector<float>& logits;         // [rows, labels]
  std::vector<std::int32_t>& counts;  // [sequences] rows of each
};

// Appends the logits of one batch. hidden: [tokens, hidden]. A sequence head gives one row per sequence that is not empty, other
// heads one per token, or only for tokens of only_id.
Result<void> add_head_logits(Model& model, const Batch& batch, const float* hidden, std::optional<std::int32_t> only_id,
                             HeadLogits out);

}  // namespace wattn
