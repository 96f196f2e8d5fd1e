// The gradient of a number of a model's output with respect to what its first layer reads: the output of the embeddings, which is
// the tap "embeddings.output".
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/model.h"

namespace wattn {

// The number's gradient with respect to the model's outputs, of which it may read one or both. Empty: it does not read them.
struct OutputGradient {
  std::span<const float> hidden{};  // [tokens, hidden], of last_hidden_state
  std::span<const float> logits{};  // [labels], of one row
  std::int64_t token = 0;           // that row, of a head over tokens; heads over texts have one
};

// Gives [tokens, hidden]. batch: one text. embeddings: [tokens, hidden] in place of those of the batch; empty: its own. An
// UnsupportedError for models that cannot be trained; weights are in f32.
Result<std::vector<float>> input_gradient(Model& model, const Batch& batch, std::span<const float> embeddings,
                                          const OutputGradient& given);

}  // namespace wattn
