// Which hidden states the head of a model reads.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/model.h"

namespace wattn {

// The rows of one batch's hidden states that the head reads.
struct HeadRows {
  std::vector<float> states;         // [rows, hidden]
  std::vector<std::int32_t> counts;  // [batch] rows of each sequence
};

// hidden: [tokens, hidden] of the batch. A sequence head reads one row of each sequence that has a token; others read every token,
// or those of only_id.
HeadRows head_rows(const Model& model, const Batch& batch, const float* hidden, std::optional<std::int32_t> only_id = {});

}  // namespace wattn
