// ESM's scale of word embeddings (transformers/models/esm/modeling_esm.py, v5.24.0), by how many masks a sequence has.
#pragma once

#include <algorithm>
#include <cstdint>

#include "ops/op.h"

namespace wattn {

// Calls f(token, scale) for each row. call.factor: the token that is a mask.
template <class F>
void for_each_token_dropout(const OpCall& call, const F& f) {
  constexpr float kTrained = 0.15f * 0.8f;  // the share of masks in training
  const Batch& batch = *call.pass.batch;
  const auto mask = static_cast<std::int32_t>(call.factor);
  for (std::int64_t i = 0; i < batch.batch(); ++i) {
    const std::int64_t begin = batch.seq_start[i], end = batch.seq_start[i + 1];
    const auto masks = std::count(batch.input_ids.begin() + begin, batch.input_ids.begin() + end, mask);
    const float scale = (1 - kTrained) / (1 - static_cast<float>(masks) / static_cast<float>(end - begin));
    for (std::int64_t token = begin; token < end; ++token) f(token, batch.input_ids[token] == mask ? 0.0f : scale);
  }
}

}  // namespace wattn
